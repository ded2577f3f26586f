/*
 * The tiles in which CPU kernels transpose. The rule is here for the generator (llvm/transpose.c), which leaves it to
 * the call where strides are arguments, and for those who explain kernels.
 *
 * Elements of 4, 8 or 16 bytes are transposed in registers, in squares, if each of the two loops is contiguous on one
 * side. A tile then has PW_TRANSPOSE_ROWS rows of the source, so that the destination is written in runs of several
 * lines. Rows a multiple of PW_TRANSPOSE_PAGE bytes apart all share the few lines of one set of the first-level cache,
 * and then the region's own tile has enough of them. All other elements take the region's own tile.
 */
#ifndef PW_CODEGEN_TRANSPOSE_H
#define PW_CODEGEN_TRANSPOSE_H

#include "codegen/target.h"
#include "ir/nest.h"

enum { PW_TRANSPOSE_ROWS = 32, PW_TRANSPOSE_PAGE = 4096 };

/* Iterations of a region's last two loops. */
typedef struct pw_transpose_tile {
    int64_t outer, inner;
} pw_transpose_tile;

/* Returns the side, in elements of `bytes`, of the squares in registers. Below 2: there are none. */
int pw_transpose_side(const pw_target_isa *isa, int64_t bytes);

/* Returns one side of a region's tile, in elements, in whole squares. */
int64_t pw_transpose_whole(int64_t tile, int side);

/* Returns the tile that the kernel takes for a region with a tile when it packs or unpacks. */
pw_transpose_tile pw_transpose_tile_of(const pw_region *region, const pw_target_isa *isa, bool unpack);

#endif
