/*
 * Lowering and the passes over the nest, for the table and the driver of passes/. Rows in this order:
 *
 *     "drop-unit-loops"  pw_nest_drop_unit_loops
 *     "fuse-loops"       pw_nest_fuse_loops
 *     "widen-leaf"       pw_nest_widen_leaf
 *     "sort-loops"       pw_nest_sort_loops
 *     "tile-transpose"   pw_nest_tile_transpose
 *     "narrow-tables"    pw_nest_narrow_tables
 *     "align-leaf"       pw_nest_align_leaf
 *
 * All allocate from nest->arena, need no pw_pass_ctx.builder, and count rewrites in ctx->fired. Each keeps the
 * invariant of ir/nest.h that partial ranges rely on, and may run on any verified nest, in any order.
 * The one-paragraph contracts for the table are the PW_NEST_*_CONTRACT strings.
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

#define PW_NEST_DROP_UNIT_LOOPS_CONTRACT \
    "Removes loops of count 1, moving a table's only offset into the region. Keeps the loop over objects."
#define PW_NEST_FUSE_LOOPS_CONTRACT                                                                                 \
    "Two loops of a region of which one continues the other in memory and in packed order become one, at whatever " \
    "depths they stand. The loop over objects stays by itself, for its count is not known before the call."
#define PW_NEST_WIDEN_LEAF_CONTRACT                                                                                  \
    "A loop that moves on by the leaf's length in memory and in packed order becomes part of the leaf; pieces that " \
    "continue each other on both sides become one. The loop over objects stays."
#define PW_NEST_SORT_LOOPS_CONTRACT                                                                            \
    "Orders the loops of a region by what one step costs in cache lines and pages touched on both sides, the " \
    "dearest outermost. Loops of equal cost keep the packed order. Legal because each loop has both strides."
#define PW_NEST_TILE_TRANSPOSE_CONTRACT                                                                               \
    "Finds the innermost loop's counterpart with opposite locality (one walks memory closely, the other the packed "  \
    "side), makes it the second innermost, and sets tile sizes such that a tile's cache lines stay in the L1 cache. " \
    "Sets nothing when the innermost loop is so short that the lines stay there anyway."
#define PW_NEST_NARROW_TABLES_CONTRACT                                                                             \
    "Copies tables of 64-bit offsets into the nest as 16- or 32-bit entries with a common scale where that holds " \
    "them; the smallest offset moves into the region. After this pass the nest borrows nothing from the tree."
#define PW_NEST_ALIGN_LEAF_CONTRACT                                                                                \
    "Computes the alignment known for every memory and every packed offset of a region (object strides included) " \
    "and the word that copies should move. Needs nothing; run it last, since other passes do not update these."

pw_nest_pass_fn pw_nest_drop_unit_loops; /* passes/nest_drop.c */
pw_nest_pass_fn pw_nest_fuse_loops;      /* passes/nest_fuse.c */
pw_nest_pass_fn pw_nest_widen_leaf;      /* passes/nest_widen.c */
pw_nest_pass_fn pw_nest_sort_loops;      /* passes/nest_sort.c */
pw_nest_pass_fn pw_nest_tile_transpose;  /* passes/nest_tile.c */
pw_nest_pass_fn pw_nest_narrow_tables;   /* passes/nest_narrow.c */
pw_nest_pass_fn pw_nest_align_leaf;      /* passes/nest_align.c */

#endif
