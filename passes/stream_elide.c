/*
 * stream-elide: repetition that happens once is no repetition (TEMPI section 3.2, "stream elision").
 *
 *     stream 1 stride s { X }   =>   X
 *     index [o] { X }           =>   seq { @o X }
 *     blocks [o:n]              =>   seq { @o bytes n }
 *     seq { @0 X }              =>   X
 */
#include "passes/internal.h"

static const pw_node *elide(pw_pass_ctx *ctx, const pw_node *node)
{
    switch (node->kind) {
    case PW_STREAM: return node->stream.count == 1 ? node->stream.child : node;
    case PW_INDEX:
        return node->index.n == 1 ? pw_build_shift(ctx->builder, node->index.offs[0], node->index.child) : node;
    case PW_BLOCKS:
        if (node->blocks_list.n != 1)
            return node;
        return pw_build_shift(ctx->builder, node->blocks_list.offs[0],
                              pw_build_bytes(ctx->builder, node->blocks_list.lens[0], 1));
    case PW_SEQ: return node->seq.n == 1 && node->seq.offs[0] == 0 ? node->seq.children[0] : node;
    case PW_BYTES: break;
    }
    return node;
}

const pw_node *pw_pass_stream_elide(pw_pass_ctx *ctx, const pw_node *root)
{
    return pw_rewrite(ctx, root, elide);
}
