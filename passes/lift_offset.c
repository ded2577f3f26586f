/*
 * lift-offset: moves constant displacements to the root.
 *
 *     stream c stride s { seq { @o X } }   =>   seq { @o stream c stride s { X } }
 *     index [a, b, …] { X }                =>   seq { @a index [0, b-a, …] { X } }
 *     index [a, b, …] { seq { @o X } }     =>   index [a+o, b+o, …] { X }
 *
 * and the same for blocks and seq. Establishes: lists begin at offset 0, and a seq with one child stands at
 * the root or nowhere.
 */
#include "passes/internal.h"

static int64_t *rebased(pw_builder *b, int64_t n, const int64_t *offs, int64_t delta)
{
    int64_t *out = pw_arena_take_array(b->arena, (size_t)n, sizeof *out);

    if (!out) {
        b->status = PW_ERR_NOMEM;
        return NULL;
    }
    for (int64_t i = 0; i < n; i++) {
        if (__builtin_add_overflow(offs[i], delta, &out[i])) {
            b->status = PW_ERR_OVERFLOW;
            return NULL;
        }
    }
    return out;
}

static const pw_node *lift_stream(pw_builder *b, const pw_node *node)
{
    const pw_node *child = node->stream.child;

    if (!pw_is_shift(child))
        return node;
    return pw_build_shift(b, child->seq.offs[0],
                          pw_build_stream(b, node->stream.count, node->stream.stride, child->seq.children[0]));
}

static const pw_node *lift_index(pw_builder *b, const pw_node *node)
{
    const pw_node *child = node->index.child;
    int64_t first = node->index.offs[0], inner = 0, *offs;

    if (pw_is_shift(child)) {
        inner = child->seq.offs[0];
        child = child->seq.children[0];
    } else if (first == 0) {
        return node;
    }
    offs = rebased(b, node->index.n, node->index.offs, -first);
    if (!offs)
        return NULL;
    return pw_build_shift(b, first + inner, pw_adopt_index(b, node->index.n, offs, child));
}

static const pw_node *lift_blocks(pw_builder *b, const pw_node *node)
{
    int64_t first = node->blocks_list.offs[0], *offs;

    if (first == 0)
        return node;
    offs = rebased(b, node->blocks_list.n, node->blocks_list.offs, -first);
    if (!offs)
        return NULL;
    return pw_build_shift(b, first, pw_adopt_blocks(b, node->blocks_list.n, offs, node->blocks_list.lens));
}

/* Members that are displaced themselves give their displacement to the seq. */
static const pw_node *absorb_members(pw_builder *b, const pw_node *node)
{
    int64_t n = node->seq.n, shifts = 0, *offs;
    const pw_node **children;

    for (int64_t i = 0; i < n; i++)
        shifts += pw_is_shift(node->seq.children[i]);
    if (shifts == 0)
        return node;
    offs = rebased(b, n, node->seq.offs, 0);
    children = pw_arena_array(b->arena, (size_t)n, sizeof *children);
    if (!offs || !children) {
        b->status = PW_ERR_NOMEM;
        return NULL;
    }
    for (int64_t i = 0; i < n; i++) {
        children[i] = node->seq.children[i];
        if (pw_is_shift(children[i])) {
            offs[i] += children[i]->seq.offs[0];
            children[i] = children[i]->seq.children[0];
        }
    }
    return pw_adopt_seq(b, n, offs, children);
}

static const pw_node *lift_seq(pw_builder *b, const pw_node *node)
{
    int64_t first, *offs;

    node = absorb_members(b, node);
    if (!node || node->seq.n < 2 || node->seq.offs[0] == 0)
        return node;
    first = node->seq.offs[0];
    offs = rebased(b, node->seq.n, node->seq.offs, -first);
    if (!offs)
        return NULL;
    return pw_build_shift(b, first, pw_adopt_seq(b, node->seq.n, offs, node->seq.children));
}

static const pw_node *lift(pw_pass_ctx *ctx, const pw_node *node)
{
    if (node->size == 0)
        return node;
    switch (node->kind) {
    case PW_BYTES: return node;
    case PW_STREAM: return lift_stream(ctx->builder, node);
    case PW_INDEX: return lift_index(ctx->builder, node);
    case PW_BLOCKS: return lift_blocks(ctx->builder, node);
    case PW_SEQ: return lift_seq(ctx->builder, node);
    }
    return node;
}

const pw_node *pw_pass_lift_offset(pw_pass_ctx *ctx, const pw_node *root)
{
    return pw_rewrite(ctx, root, lift);
}
