/*
 * dense-fold: a stream of leaves that touch is one leaf (TEMPI section 3.2, "dense folding").
 *
 *     stream c stride n { bytes n }   =>   bytes c*n
 */
#include "passes/internal.h"

static const pw_node *fold(pw_pass_ctx *ctx, const pw_node *node)
{
    const pw_node *leaf;

    if (node->kind != PW_STREAM || node->stream.child->kind != PW_BYTES)
        return node;
    leaf = node->stream.child;
    if (node->stream.stride != leaf->bytes.n)
        return node;
    return pw_build_bytes(ctx->builder, node->size, 1);
}

const pw_node *pw_pass_dense_fold(pw_pass_ctx *ctx, const pw_node *root)
{
    return pw_rewrite(ctx, root, fold);
}
