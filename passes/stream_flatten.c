/*
 * stream-flatten: a stream that its child continues is one stream (TEMPI section 3.2, "stream flattening").
 *
 *     stream c1 stride c2*s { stream c2 stride s { X } }   =>   stream c1*c2 stride s { X }
 *
 * The order of the children is the same, so the packed order is too.
 */
#include "passes/internal.h"

static const pw_node *flatten(pw_pass_ctx *ctx, const pw_node *node)
{
    const pw_node *inner;
    int64_t span;

    if (node->kind != PW_STREAM || node->stream.child->kind != PW_STREAM)
        return node;
    inner = node->stream.child;
    if (__builtin_mul_overflow(inner->stream.count, inner->stream.stride, &span) || span != node->stream.stride)
        return node;
    return pw_build_stream(ctx->builder, node->stream.count * inner->stream.count, inner->stream.stride,
                           inner->stream.child);
}

const pw_node *pw_pass_stream_flatten(pw_pass_ctx *ctx, const pw_node *root)
{
    return pw_rewrite(ctx, root, flatten);
}
