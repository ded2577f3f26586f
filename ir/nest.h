/*
 * The nest: what a datatype is lowered to, and what kernels are made from.
 *
 * A nest is a list of regions. A region is a perfect loop nest over a leaf. Every loop has both a memory
 * stride and a packed stride, so loops may be sorted, interchanged, tiled and collapsed without changing
 * which memory byte a packed byte comes from. A region with loops d0..dk (outermost first) means:
 *
 *     for i0 in [0, d0.count): ... for ik in [0, dk.count):
 *         mem    = mem_off    + sum(dj.table ? table_j[ij] : ij * dj.mem_stride)
 *         packed = packed_off + sum(ij * dj.packed_stride)
 *         for every piece p: packed[packed + p.packed_off, p.bytes) <-> memory[mem + p.mem_off, p.bytes)
 *
 * `mem` is relative to the address of the first object, `packed` to the first packed byte of the call.
 * A leaf is either one or more pieces of fixed length, or a list of blocks of varying length.
 *
 * The objects of a call (`count` in MPI_Pack) are a loop too. Its count is not known before the call:
 * it is the loop with is_object set, its strides are the type's extent and size. When object_outer is
 * set (always with several regions) no region has such a loop; the caller runs all regions once per
 * object. Otherwise the one region has exactly one, at any depth.
 *
 * Invariant that partial ranges rely on: taken in descending order of packed_stride, each loop's
 * packed_stride is at least the packed span of the loops below it plus the leaf's.
 *
 * A *joined* nest (ir/join.h) has another layout's memory on its packed side: "packed" offsets are offsets from that
 * layout's first object. Its packed strides may be negative or zero, its loops may have tables on that side, too, the
 * packed offsets of its pieces and blocks are arbitrary, and objects lie packed_extent apart. The invariant about
 * packed strides does not hold, so a joined nest has no partial ranges.
 *
 * All numbers are bytes. Immutable after lowering; shared by threads without locks.
 */
#ifndef PW_IR_NEST_H
#define PW_IR_NEST_H

#include "ir/ir.h"

#include <stddef.h>

enum { PW_NEST_MAX_DIMS = 16 };

/* Offsets narrowed to the smallest type that holds them: value(i) = base + scale * entry(i). Entries are
 * unsigned 16 or 32 bit, or signed 64 bit (then base 0, scale 1). */
typedef struct pw_table {
    int width; /* bytes per entry: 2, 4 or 8 */
    int64_t n;
    int64_t base, scale;
    const void *data;
} pw_table;

int64_t pw_table_get(const pw_table *t, int64_t i);

typedef struct pw_dim {
    int64_t count;                /* iterations; meaningless when is_object */
    int64_t mem_stride;           /* 0 when table is set */
    int64_t packed_stride;        /* 0 when packed_table is set */
    const pw_table *table;        /* memory offset per iteration, or NULL */
    const pw_table *packed_table; /* the same on the packed side; NULL unless the nest is joined */
    bool is_object;
} pw_dim;

typedef struct pw_piece {
    int64_t mem_off, packed_off, bytes; /* bytes >= 1 */
} pw_piece;

/* Blocks of varying length: block i is starts[i + 1] - starts[i] bytes, at offs[i] in memory and at starts[i] in the
 * packed leaf, or at packed_offs[i] in a joined nest. `starts` has n + 1 entries; the last is the packed size of the
 * leaf. */
typedef struct pw_block_list {
    int64_t n;
    pw_table offs;
    pw_table starts;
    pw_table packed_offs; /* without data unless the nest is joined */
} pw_block_list;

typedef struct pw_region {
    int64_t mem_off, packed_off;
    int ndims;
    pw_dim *dims; /* outermost first */
    int npieces;  /* 0 when `blocks` is set */
    pw_piece *pieces;
    const pw_block_list *blocks;
    int64_t leaf_size;    /* packed bytes of one leaf */
    int64_t align;        /* power of two <= 16 that divides every memory offset of every piece */
    int64_t packed_align; /* the same for every packed offset */
    int word;             /* bytes a copy moves at once: power of two <= 16 dividing each piece's bytes; a hint */
    /* Tile of a transpose: dims[ndims - 2] and dims[ndims - 1] are run in tile_outer x tile_inner pieces.
     * Both 0 when not tiled. */
    int64_t tile_outer, tile_inner;
} pw_region;

typedef struct pw_nest {
    int64_t size, extent; /* of one object: packed bytes; distance of objects in memory */
    int64_t lo, hi;       /* true bounds of one object */
    bool object_outer;
    bool joined;
    int64_t packed_extent;        /* distance of objects on the packed side: `size` unless joined */
    int64_t packed_lo, packed_hi; /* true bounds there, of a joined nest; else both 0 */
    int nregions;
    pw_region *regions;
    pw_arena *arena; /* owns everything here, the struct included */
} pw_nest;

/* Frees the nest with its arena. NULL is allowed. */
void pw_nest_destroy(pw_nest *nest);

/* The nest alone, in an arena that already has an owner, and the bytes that it takes there. NULL: out of memory. */
pw_nest *pw_nest_copy(const pw_nest *nest, pw_arena *arena);
size_t pw_nest_bytes(const pw_nest *nest);

/* Calls fn for the blocks of `count` joined objects: `bytes` bytes at offset `mem` from the first object on the memory
 * side are those at offset `packed` on the other side. The order is the nest's.
 * Stops early, returning false, when fn returns false. */
typedef bool pw_joined_block_fn(void *arg, int64_t mem, int64_t packed, int64_t bytes);
bool pw_nest_walk_joined(const pw_nest *nest, int64_t count, pw_joined_block_fn *fn, void *arg);

/* The number of blocks of one object. */
int64_t pw_nest_blocks(const pw_nest *nest);

/* Checks the invariants above. */
pw_status pw_nest_verify(const pw_nest *nest, pw_diag *diag);

/* Text for people and tests (not parsed back). malloc'ed; the caller frees. */
char *pw_nest_print(const pw_nest *nest, int64_t elide);
void pw_nest_print_to(FILE *out, const pw_nest *nest, int64_t elide);

/* Are any number of objects one run of bytes, on both sides from the first one's address on? Then one memcpy moves
 * them. */
bool pw_nest_is_contiguous(const pw_nest *nest);

#endif
