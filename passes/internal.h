/* What passes share among themselves: rewriting, patterns, and the list of their entry points. */
#ifndef PW_PASSES_INTERNAL_H
#define PW_PASSES_INTERNAL_H

#include "passes/passes.h"

/* Local rewrite: returns the node itself when there is nothing to do. Children are rewritten already. */
typedef const pw_node *pw_rewrite_fn(pw_pass_ctx *ctx, const pw_node *node);

/* Applies fn to every node, children first, rebuilding only what changed; counts changes in ctx->fired. Subtrees
 * without a node of ctx->kinds, which fn leaves alone, are passed by. Neighbouring children of a seq that are the same
 * node are rewritten once. */
const pw_node *pw_rewrite(pw_pass_ctx *ctx, const pw_node *root, pw_rewrite_fn *fn);

/* A node that is another one displaced: seq with one child. */
static inline bool pw_is_shift(const pw_node *node)
{
    return node->kind == PW_SEQ && node->seq.n == 1;
}

/* ---- passes/pattern.c -------------------------------------------------------------------------- */

/*
 * The shortest description of `child` at n offsets, in order: a stream where they progress arithmetically,
 * nested nodes where a pattern repeats (smallest period first, so 2-D and 3-D progressions fall out of the
 * recursion), a seq of streams where few long runs make up the list, else an index.
 */
const pw_node *pw_pattern_uniform(pw_builder *b, int64_t n, const int64_t *offs, const pw_node *child);

/* The same for byte blocks of any lengths >= 1; neighbours that touch must have been merged. */
const pw_node *pw_pattern_blocks(pw_builder *b, int64_t n, const int64_t *offs, const int64_t *lens);

/* ---- passes/segment.c -------------------------------------------------------------------------- */

enum {
    PW_CUT_MAX = 3,   /* units that lowering cuts a block of a list into, on the average */
    PW_MAX_PARTS = 16 /* every part becomes a region: a loop of its own in the kernels */
};

/* Cuts a list of blocks where the unit of its lengths changes: returns the number of parts and the first block of
 * each. 1: it is best left whole, or b->status is not PW_OK. */
int pw_segment_blocks(pw_builder *b, int64_t n, const int64_t *lens, int64_t starts[PW_MAX_PARTS]);

/* ---- tree passes ------------------------------------------------------------------------------- */

pw_tree_pass_fn pw_pass_drop_empty;
pw_tree_pass_fn pw_pass_dense_fold;
pw_tree_pass_fn pw_pass_stream_elide;
pw_tree_pass_fn pw_pass_stream_flatten;
pw_tree_pass_fn pw_pass_lift_offset;
pw_tree_pass_fn pw_pass_seq_flatten;
pw_tree_pass_fn pw_pass_merge_blocks;
pw_tree_pass_fn pw_pass_recover_streams;
pw_tree_pass_fn pw_pass_expand;
pw_tree_pass_fn pw_pass_align_leaves;

#endif
