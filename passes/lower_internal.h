/* Between the files of lowering: the path that the walk carries, and what makes leaves of blocks. */
#ifndef PW_PASSES_LOWER_INTERNAL_H
#define PW_PASSES_LOWER_INTERNAL_H

#include "ir/nest_build.h"

enum {
    PW_LOWER_LOOPS = PW_NEST_MAX_DIMS - 1, /* besides the loop over objects */
    PW_LOWER_REGIONS = 4096,
    PW_LOWER_PIECES = 16
};

/* The loops above a node and its constant displacement on both sides. */
typedef struct pw_path {
    int64_t mem_off, packed_off;
    int ndims;
    pw_dim dims[PW_LOWER_LOOPS];
} pw_path;

/* Blocks in packed order, on the heap; neighbours that touch are one. */
typedef struct pw_block_vec {
    int64_t n, cap;
    int64_t *offs, *lens;
} pw_block_vec;

typedef struct pw_lowering {
    pw_arena *arena; /* of the nest */
    int nregions, cap;
    pw_region *regions; /* on the heap; everything in them is in the arena, or borrowed from the tree */
    int64_t spent;
} pw_lowering;

/* Adds a loop below the path's; PW_ERR_UNSUPPORTED when there is no room for it. */
pw_status pw_lower_push(pw_lowering *l, pw_path *p, pw_dim dim);

/* ---- passes/lower_leaf.c ------------------------------------------------------------------------------ */

/* A pw_block_fn with a pw_block_vec as its argument. */
bool pw_block_vec_add(void *vec, int64_t off, int64_t n);
void pw_block_vec_free(pw_block_vec *vec);

/* A region under the path with n pieces, one after another in packed order. */
pw_status pw_lower_pieces(pw_lowering *l, const pw_path *p, int64_t n, const int64_t *offs, const int64_t *lens);

/* The same for any number of blocks (merged, not empty), in whatever kind of leaf suits them. `borrowed`: the
 * arrays belong to the tree. */
pw_status pw_lower_blocks(pw_lowering *l, const pw_path *p, int64_t n, const int64_t *offs, const int64_t *lens,
                          bool borrowed);

#endif
