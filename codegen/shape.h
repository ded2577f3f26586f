/*
 * A shape: a nest in which every number is either baked into the code or an argument of the call.
 *
 * Kernels are compiled from shapes and cached by the shape's hash, so types that differ only in large
 * counts and strides share one kernel. What is baked is the policy of codegen/shape.c, by what measurably
 * pays: leaf widths and alignment, small trip counts, small strides, pieces, packed strides that follow
 * from the counts, loop order and tiles. Everything else comes in through pw_kernel_args.
 *
 * Shapes are immutable and reference counted; the functions are thread safe.
 */
#ifndef PW_CODEGEN_SHAPE_H
#define PW_CODEGEN_SHAPE_H

#include "ir/nest.h"

/* slot < 0: `value` is baked. Otherwise the value is args->params[slot], and `value` is not meaningful. */
typedef struct pw_num {
    int64_t value;
    int slot;
} pw_num;

/* args->tables[slot] points to the entries, of `width` bytes each (see pw_table). slot < 0, and width 0: no table. */
typedef struct pw_shape_table {
    int slot, width;
    pw_num base, scale;
} pw_shape_table;

typedef struct pw_shape_dim {
    pw_num count; /* the count is the call's if is_object is set */
    pw_num mem_stride, packed_stride;
    pw_shape_table table, packed_table; /* the second in joined nests only */
    bool is_object;
} pw_shape_dim;

typedef struct pw_shape_piece {
    pw_num mem_off, packed_off, bytes;
} pw_shape_piece;

typedef struct pw_shape_region {
    pw_num mem_off, packed_off;
    int ndims;
    pw_shape_dim *dims;
    int npieces; /* 0: a list of `nblocks` blocks, in the two tables */
    pw_shape_piece *pieces;
    pw_num nblocks;
    pw_shape_table block_offs, block_starts, block_packed; /* the last in joined nests only */
    pw_num leaf_size;
    int64_t align, packed_align;
    int word;
    int64_t tile_outer, tile_inner;
} pw_shape_region;

typedef struct pw_shape {
    pw_num size, extent;
    pw_num packed_extent; /* `size` unless the shape is of a joined nest */
    pw_num stream_bytes;  /* a call that moves at least so many packed bytes should bypass the caches */
    bool object_outer, joined;
    int nregions;
    pw_shape_region *regions;
    int nparams, ntables;
    pw_hash hash; /* of all fields above */
    pw_arena *arena;
    _Atomic int refs;
} pw_shape;

/* What kernels take besides the buffers. Both arrays are as long as the shape says. Slots are numbered in
 * the order of the shape's fields, so equal shapes mean the same by each. */
typedef struct pw_kernel_args {
    const int64_t *params;
    const void *const *tables;
} pw_kernel_args;

pw_status pw_shape_create(const pw_nest *nest, pw_shape **out);
/* Makes a shape in which all numbers are baked, for ahead-of-time code of one type. Tables stay arguments. */
pw_status pw_shape_create_baked(const pw_nest *nest, pw_shape **out);
/* Returns the canonical text, for people: equal shapes have equal text. malloc'ed; NULL: out of memory. */
char *pw_shape_print(const pw_shape *shape);
pw_shape *pw_shape_ref(pw_shape *shape);
void pw_shape_unref(pw_shape *shape); /* NULL is allowed */

/* Makes the arguments with which `shape` (created from this nest) means this nest, allocated in `arena`. Tables point
 * into the nest. */
pw_status pw_shape_bind(const pw_shape *shape, const pw_nest *nest, pw_arena *arena, pw_kernel_args *out);

/*
 * Makes a shape and its arguments at once, for layouts, most of which have a known shape. The draft's shape is in the
 * arena and not counted, so a caller that keeps it must copy it. pw_shape_draft_bind takes the draft's nest or a copy
 * of it.
 */
typedef struct pw_shape_draft {
    pw_shape shape;
    const int64_t *params;
} pw_shape_draft;

pw_status pw_shape_draft_make(const pw_nest *nest, pw_arena *arena, pw_shape_draft *out);
pw_status pw_shape_draft_bind(const pw_shape_draft *d, const pw_nest *nest, pw_arena *arena, pw_kernel_args *out);
pw_shape *pw_shape_copy(const pw_shape *from); /* NULL: out of memory */

#endif
