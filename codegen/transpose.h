/*
 * The tiles in which CPU kernels transpose. The rule is here for the generator (llvm/transpose.c), which leaves it to
 * the call where strides are arguments, and for those who explain kernels.
 *
 * Elements of 4, 8 or 16 bytes are transposed in registers, in squares, if each of the two loops is contiguous on one
 * side. A tile has PW_TRANSPOSE_ROWS rows of the source: one line of each stays in the smallest first-level caches (32
 * KiB) until its neighbours have been used, and the destination is written in long runs. That holds for rows that
 * spread over all sets of the cache. Rows a multiple of two lines apart share sets, and PW_TRANSPOSE_SHARING of them
 * make a tile. Rows a multiple of PW_TRANSPOSE_PAGE bytes apart all share one set, and then the region's own tile has
 * enough of them.
 *
 * Rows as written may share sets, too. A tile is at least so high that what it writes of rows a page apart goes to
 * PW_TRANSPOSE_SETS sets, and of others to as large a part of theirs. Below that, transposes were seen to take several
 * times as long. The likely reason: stores that wait to be done ask for their lines beforehand, there are about as many
 * such stores as that many sets have lines, and where they all go to fewer sets, lines are lost before their stores.
 *
 * All other elements take the region's own tile.
 */
#ifndef PW_CODEGEN_TRANSPOSE_H
#define PW_CODEGEN_TRANSPOSE_H

#include "codegen/target.h"
#include "ir/nest.h"

enum {
    PW_TRANSPOSE_ROWS = 512,
    PW_TRANSPOSE_SHARING = 32,
    PW_TRANSPOSE_LINES = 128,
    PW_TRANSPOSE_PAGE = 4096,
    PW_TRANSPOSE_SETS = 8,
    PW_TRANSPOSE_DISTANCES = 3
};

/*
 * How many rows of the source a tile has. The first entry of `read` whose `apart` divides the distance of the rows as
 * read says how many, and the last entry has 1. The rows as written may ask for more: for the largest power of two, at
 * most PW_TRANSPOSE_PAGE, that divides their distance, over `written`.
 */
typedef struct pw_transpose_rule {
    struct {
        int64_t apart, rows;
    } read[PW_TRANSPOSE_DISTANCES];
    int64_t written;
} pw_transpose_rule;

/* Iterations of a region's last two loops. */
typedef struct pw_transpose_tile {
    int64_t outer, inner;
} pw_transpose_tile;

/* Returns the side, in elements of `bytes`, of the squares in registers. Below 2: there are none. */
int pw_transpose_side(const pw_target_isa *isa, int64_t bytes);

/* Returns one side of a region's tile, in elements, in whole squares. */
int64_t pw_transpose_whole(int64_t tile, int side);

/* Returns the rule for elements of `bytes`. `tile`: the side of the region's tile along the rows of the source. */
pw_transpose_rule pw_transpose_rule_of(int64_t bytes, int64_t tile, int side);

/* Returns the tile that the kernel takes for a region with a tile when it packs or unpacks. */
pw_transpose_tile pw_transpose_tile_of(const pw_region *region, const pw_target_isa *isa, bool unpack);

#endif
