/*
 * recover-streams: finds the streams that a list hides, without expanding what is below it.
 *
 *     index [0, 32, 64, 96] { X }                 =>   stream 4 stride 32 { X }
 *     index [0, 8, 100, 108, 200, 208] { X }      =>   stream 3 stride 100 { stream 2 stride 8 { X } }
 *     seq { @0 X @24 X @48 X }                    =>   stream 3 stride 24 { X }
 *
 * Also repeated patterns that are no progression (stream of index), and long runs among irregular offsets.
 */
#include "passes/internal.h"

static bool members_equal(const pw_node *node)
{
    for (int64_t i = 1; i < node->seq.n; i++)
        if (!pw_node_equal(node->seq.children[0], node->seq.children[i]))
            return false;
    return true;
}

static const pw_node *recover(pw_pass_ctx *ctx, const pw_node *node)
{
    pw_arena *arena = ctx->builder->arena;
    pw_arena_mark before = pw_arena_here(arena);
    const pw_node *found = node;

    if (node->size == 0)
        return node;
    if (node->kind == PW_INDEX)
        found = pw_pattern_uniform(ctx->builder, node->index.n, node->index.offs, node->index.child);
    else if (node->kind == PW_BLOCKS)
        found = pw_pattern_blocks(ctx->builder, node->blocks_list.n, node->blocks_list.offs, node->blocks_list.lens);
    else if (node->kind == PW_SEQ && node->seq.n > 1 && members_equal(node))
        found = pw_pattern_uniform(ctx->builder, node->seq.n, node->seq.offs, node->seq.children[0]);
    if (!found || !pw_node_equal(found, node))
        return found;
    pw_arena_rewind(arena, before);
    return node;
}

const pw_node *pw_pass_recover_streams(pw_pass_ctx *ctx, const pw_node *root)
{
    return pw_rewrite(ctx, root, recover);
}
