/*
 * align-leaves: writes on each leaf the largest power of two, up to 16, that divides the offset of every
 * instance of it: the offsets and strides on its path, and the extent, since objects lie that far apart.
 *
 * Runs once, after the fixed point. Leaves that stand on paths of different alignment are copied.
 */
#include "passes/internal.h"

#include "ir/memo.h"

enum { MAX_ALIGN = 16, ALIGN_CLASSES = 5 };

/* What has been aligned already: shared nodes are visited once for each alignment they are reached with. */
typedef struct alignment_run {
    pw_pass_ctx *ctx;
    pw_memo done[ALIGN_CLASSES];
} alignment_run;

/* The alignment of a place `offset` away from one that is `align`-aligned. */
static int64_t aligned_at(int64_t align, int64_t offset)
{
    int64_t low = offset & -offset;

    return offset == 0 || low > align ? align : low;
}

static const pw_node *align_node(alignment_run *run, const pw_node *node, int64_t align);

static const pw_node *align_seq(alignment_run *run, const pw_node *node, int64_t align)
{
    pw_builder *b = run->ctx->builder;
    const pw_node **children = pw_arena_array(b->arena, (size_t)node->seq.n, sizeof *children);

    if (!children) {
        b->status = PW_ERR_NOMEM;
        return NULL;
    }
    for (int64_t i = 0; i < node->seq.n; i++)
        children[i] = align_node(run, node->seq.children[i], aligned_at(align, node->seq.offs[i]));
    return pw_adopt_seq(b, node->seq.n, node->seq.offs, children);
}

static const pw_node *align_index(alignment_run *run, const pw_node *node, int64_t align)
{
    for (int64_t i = 0; i < node->index.n; i++)
        align = aligned_at(align, node->index.offs[i]);
    return pw_adopt_index(run->ctx->builder, node->index.n, node->index.offs,
                          align_node(run, node->index.child, align));
}

static const pw_node *align_kind(alignment_run *run, const pw_node *node, int64_t align)
{
    switch (node->kind) {
    case PW_BYTES:
        if (node->bytes.align == align)
            return node;
        run->ctx->fired++;
        return pw_build_bytes(run->ctx->builder, node->bytes.n, align);
    case PW_STREAM:
        return pw_build_stream(run->ctx->builder, node->stream.count, node->stream.stride,
                               align_node(run, node->stream.child, aligned_at(align, node->stream.stride)));
    case PW_INDEX: return align_index(run, node, align);
    case PW_BLOCKS: return node;
    case PW_SEQ: return align_seq(run, node, align);
    }
    return node;
}

static const pw_node *align_node(alignment_run *run, const pw_node *node, int64_t align)
{
    pw_memo *done = &run->done[__builtin_ctzll((uint64_t)align)];
    const pw_memo_entry *known = pw_memo_find(done, node);
    const pw_node *result;

    if (known)
        return known->pointer;
    result = align_kind(run, node, align);
    if (result)
        pw_memo_add(done, (pw_memo_entry){.node = node, .pointer = result});
    return result;
}

const pw_node *pw_pass_align_leaves(pw_pass_ctx *ctx, const pw_node *root)
{
    alignment_run run = {.ctx = ctx};
    const pw_node *result;

    if (root->size == 0)
        return root;
    result = align_node(&run, root, aligned_at(MAX_ALIGN, ctx->extent));
    for (int i = 0; i < ALIGN_CLASSES; i++)
        pw_memo_free(&run.done[i]);
    return result;
}
