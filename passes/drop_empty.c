/*
 * drop-empty: removes what moves no byte.
 *
 * Zero counts, zero-length blocks and empty members vanish; a type without bytes becomes `bytes 0`. Forgets
 * alignments, which the last tree pass computes anew for the final tree. Establishes: below a nonempty root
 * every node is nonempty.
 */
#include "passes/internal.h"

static const pw_node *drop_blocks(pw_pass_ctx *ctx, const pw_node *node)
{
    int64_t n = node->blocks_list.n, kept = 0;
    int64_t *offs, *lens;

    for (int64_t i = 0; i < n; i++)
        kept += node->blocks_list.lens[i] > 0;
    if (kept == n)
        return node;
    offs = pw_arena_array(ctx->builder->arena, (size_t)kept, sizeof *offs);
    lens = pw_arena_array(ctx->builder->arena, (size_t)kept, sizeof *lens);
    if (!offs || !lens) {
        ctx->builder->status = PW_ERR_NOMEM;
        return NULL;
    }
    kept = 0;
    for (int64_t i = 0; i < n; i++) {
        if (node->blocks_list.lens[i] > 0) {
            offs[kept] = node->blocks_list.offs[i];
            lens[kept++] = node->blocks_list.lens[i];
        }
    }
    return pw_adopt_blocks(ctx->builder, kept, offs, lens);
}

static const pw_node *drop_members(pw_pass_ctx *ctx, const pw_node *node)
{
    int64_t n = node->seq.n, kept = 0;
    const pw_node **children;
    int64_t *offs;

    for (int64_t i = 0; i < n; i++)
        kept += node->seq.children[i]->size > 0;
    if (kept == n)
        return node;
    offs = pw_arena_array(ctx->builder->arena, (size_t)kept, sizeof *offs);
    children = pw_arena_array(ctx->builder->arena, (size_t)kept, sizeof *children);
    if (!offs || !children) {
        ctx->builder->status = PW_ERR_NOMEM;
        return NULL;
    }
    kept = 0;
    for (int64_t i = 0; i < n; i++) {
        if (node->seq.children[i]->size > 0) {
            offs[kept] = node->seq.offs[i];
            children[kept++] = node->seq.children[i];
        }
    }
    return pw_adopt_seq(ctx->builder, kept, offs, children);
}

static const pw_node *drop(pw_pass_ctx *ctx, const pw_node *node)
{
    if (node->kind == PW_BYTES)
        return node->bytes.align == 1 ? node : pw_build_bytes(ctx->builder, node->bytes.n, 1);
    if (node->size == 0)
        return pw_build_bytes(ctx->builder, 0, 1);
    if (node->kind == PW_BLOCKS)
        return drop_blocks(ctx, node);
    if (node->kind == PW_SEQ)
        return drop_members(ctx, node);
    return node;
}

const pw_node *pw_pass_drop_empty(pw_pass_ctx *ctx, const pw_node *root)
{
    return pw_rewrite(ctx, root, drop);
}
