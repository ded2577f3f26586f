/*
 * align-leaves: writes on each leaf the largest power of two, up to 16, that divides the offset of every
 * instance of it: the offsets and strides on its path, and the extent, since objects lie that far apart.
 *
 * Runs once, after the fixed point. Leaves that stand on several paths (shared nodes) are copied.
 */
#include "passes/internal.h"

/* Lowest set bit over all offsets seen; 0 stands for "no constraint yet". */
static int64_t constrain(int64_t bits, int64_t offset)
{
    return bits | offset;
}

static int64_t alignment(int64_t bits)
{
    int64_t low = bits & -bits;

    return bits == 0 || low > 16 ? 16 : low;
}

static const pw_node *align(pw_pass_ctx *ctx, const pw_node *node, int64_t bits);

static const pw_node *align_seq(pw_pass_ctx *ctx, const pw_node *node, int64_t bits)
{
    const pw_node **children = pw_arena_array(ctx->builder->arena, (size_t)node->seq.n, sizeof *children);

    if (!children) {
        ctx->builder->status = PW_ERR_NOMEM;
        return NULL;
    }
    for (int64_t i = 0; i < node->seq.n; i++)
        children[i] = align(ctx, node->seq.children[i], constrain(bits, node->seq.offs[i]));
    return pw_build_seq(ctx->builder, node->seq.n, node->seq.offs, children);
}

static const pw_node *align(pw_pass_ctx *ctx, const pw_node *node, int64_t bits)
{
    switch (node->kind) {
    case PW_BYTES:
        if (node->bytes.align == alignment(bits))
            return node;
        ctx->fired++;
        return pw_build_bytes(ctx->builder, node->bytes.n, alignment(bits));
    case PW_STREAM:
        return pw_build_stream(ctx->builder, node->stream.count, node->stream.stride,
                               align(ctx, node->stream.child, constrain(bits, node->stream.stride)));
    case PW_INDEX:
        for (int64_t i = 0; i < node->index.n; i++)
            bits = constrain(bits, node->index.offs[i]);
        return pw_build_index(ctx->builder, node->index.n, node->index.offs, align(ctx, node->index.child, bits));
    case PW_BLOCKS: return node;
    case PW_SEQ: return align_seq(ctx, node, bits);
    }
    return node;
}

const pw_node *pw_pass_align_leaves(pw_pass_ctx *ctx, const pw_node *root)
{
    return root->size == 0 ? root : align(ctx, root, ctx->extent);
}
