/*
 * Lowering and the passes over the nest, for the table and the driver. passes/table.c has their order and contracts.
 *
 * All allocate from nest->arena, need no pw_pass_ctx.builder, and count rewrites in ctx->fired. Each keeps the
 * invariant of ir/nest.h that partial ranges rely on, and may run on any verified nest, in any order.
 */
#ifndef PW_PASSES_NEST_PASSES_H
#define PW_PASSES_NEST_PASSES_H

#include "passes/passes.h"

/*
 * Lowers any verified tree, canonical or not, to an unoptimised nest in an arena of its own. Loops over
 * tables borrow the offset arrays of the tree until pw_nest_narrow_tables has run: do not free the
 * tree's arena before that. PW_ERR_UNSUPPORTED, with the cause in `diag`, when the layout needs more loops or
 * regions than a nest may have and the part that would have to be written out is too long for that.
 */
pw_status pw_lower_tree(const pw_type *canonical, pw_nest **out, pw_diag *diag);

pw_nest_pass_fn pw_nest_drop_unit_loops; /* passes/nest_drop.c */
pw_nest_pass_fn pw_nest_fuse_loops;      /* passes/nest_fuse.c */
pw_nest_pass_fn pw_nest_widen_leaf;      /* passes/nest_widen.c */
pw_nest_pass_fn pw_nest_sort_loops;      /* passes/nest_sort.c */
pw_nest_pass_fn pw_nest_tile_transpose;  /* passes/nest_tile.c */
pw_nest_pass_fn pw_nest_narrow_tables;   /* passes/nest_narrow.c */
pw_nest_pass_fn pw_nest_align_leaf;      /* passes/nest_align.c */

#endif
