#include "passes/internal.h"

static const pw_node *rewrite_seq(pw_pass_ctx *ctx, const pw_node *node, pw_rewrite_fn *fn)
{
    int64_t n = node->seq.n;
    const pw_node **children = pw_arena_array(ctx->builder->arena, (size_t)n, sizeof *children);
    bool changed = false;

    if (!children) {
        ctx->builder->status = PW_ERR_NOMEM;
        return NULL;
    }
    for (int64_t i = 0; i < n; i++) {
        if (i > 0 && node->seq.children[i] == node->seq.children[i - 1])
            children[i] = children[i - 1];
        else
            children[i] = pw_rewrite(ctx, node->seq.children[i], fn);
        if (!children[i])
            return NULL;
        changed |= children[i] != node->seq.children[i];
    }
    return changed ? pw_build_seq(ctx->builder, n, node->seq.offs, children) : node;
}

static const pw_node *rewrite_children(pw_pass_ctx *ctx, const pw_node *node, pw_rewrite_fn *fn)
{
    const pw_node *child;

    switch (node->kind) {
    case PW_BYTES:
    case PW_BLOCKS: return node;
    case PW_STREAM:
        child = pw_rewrite(ctx, node->stream.child, fn);
        if (child == node->stream.child)
            return node;
        return pw_build_stream(ctx->builder, node->stream.count, node->stream.stride, child);
    case PW_INDEX:
        child = pw_rewrite(ctx, node->index.child, fn);
        if (child == node->index.child)
            return node;
        return pw_build_index(ctx->builder, node->index.n, node->index.offs, child);
    case PW_SEQ: return rewrite_seq(ctx, node, fn);
    }
    return node;
}

const pw_node *pw_rewrite(pw_pass_ctx *ctx, const pw_node *root, pw_rewrite_fn *fn)
{
    const pw_node *node, *result;

    if (!root)
        return NULL;
    node = rewrite_children(ctx, root, fn);
    if (!node)
        return NULL;
    result = fn(ctx, node);
    if (result != node)
        ctx->fired++;
    return result;
}
