/*
 * seq-flatten: members that are sequences themselves are members of the outer one.
 *
 *     seq { @a seq { @b X @c Y } @d Z }   =>   seq { @a+b X @a+c Y @d Z }
 *
 * A displacement (a seq with one child) stays, for lift-offset to bring to the root. Bounded, so that a member shared
 * many times is not multiplied beyond reason.
 */
#include "passes/internal.h"

enum { MAX_INLINED = 1 << 16 };

static int64_t members(const pw_node *node)
{
    return node->kind == PW_SEQ ? node->seq.n : 1;
}

static const pw_node *flatten(pw_pass_ctx *ctx, const pw_node *node)
{
    int64_t total = 0, k = 0, *offs;
    const pw_node **children;

    if (node->kind != PW_SEQ || pw_is_shift(node))
        return node;
    for (int64_t i = 0; i < node->seq.n; i++)
        total += members(node->seq.children[i]);
    if (total == node->seq.n || total > node->seq.n + MAX_INLINED)
        return node;
    offs = pw_arena_array(ctx->builder->arena, (size_t)total, sizeof *offs);
    children = pw_arena_array(ctx->builder->arena, (size_t)total, sizeof *children);
    if (!offs || !children) {
        ctx->builder->status = PW_ERR_NOMEM;
        return NULL;
    }
    for (int64_t i = 0; i < node->seq.n; i++) {
        const pw_node *child = node->seq.children[i];

        for (int64_t j = 0; j < members(child); j++, k++) {
            offs[k] = node->seq.offs[i] + (child->kind == PW_SEQ ? child->seq.offs[j] : 0);
            children[k] = child->kind == PW_SEQ ? child->seq.children[j] : child;
        }
    }
    return pw_adopt_seq(ctx->builder, total, offs, children);
}

const pw_node *pw_pass_seq_flatten(pw_pass_ctx *ctx, const pw_node *root)
{
    return pw_rewrite(ctx, root, flatten);
}
