/* Rewriting from the leaves up, which the tree passes share. */
#include "passes/internal.h"

#include "ir/memo.h"

/* One rewrite of a tree; the memo keeps it linear where nodes are shared. */
typedef struct rewrite {
    pw_pass_ctx *ctx;
    pw_rewrite_fn *fn;
    pw_memo done;
} rewrite;

static const pw_node *rewrite_node(rewrite *r, const pw_node *node);

static const pw_node *rewrite_seq(rewrite *r, const pw_node *node)
{
    pw_pass_ctx *ctx = r->ctx;
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
            children[i] = rewrite_node(r, node->seq.children[i]);
        if (!children[i])
            return NULL;
        changed |= children[i] != node->seq.children[i];
    }
    return changed ? pw_adopt_seq(ctx->builder, n, node->seq.offs, children) : node;
}

static const pw_node *rewrite_children(rewrite *r, const pw_node *node)
{
    const pw_node *child;

    switch (node->kind) {
    case PW_BYTES:
    case PW_BLOCKS: return node;
    case PW_STREAM:
        child = rewrite_node(r, node->stream.child);
        if (child == node->stream.child)
            return node;
        return pw_build_stream(r->ctx->builder, node->stream.count, node->stream.stride, child);
    case PW_INDEX:
        child = rewrite_node(r, node->index.child);
        if (child == node->index.child)
            return node;
        return pw_adopt_index(r->ctx->builder, node->index.n, node->index.offs, child);
    case PW_SEQ: return rewrite_seq(r, node);
    }
    return node;
}

static const pw_node *rewrite_node(rewrite *r, const pw_node *node)
{
    const pw_memo_entry *known;
    const pw_node *rebuilt, *result;

    if (!(node->kinds & r->ctx->kinds))
        return node;
    known = pw_memo_find(&r->done, node);
    if (known)
        return known->pointer;
    rebuilt = rewrite_children(r, node);
    if (!rebuilt)
        return NULL;
    result = r->fn(r->ctx, rebuilt);
    if (result != rebuilt)
        r->ctx->fired++;
    if (result)
        pw_memo_add(&r->done, (pw_memo_entry){.node = node, .pointer = result});
    return result;
}

const pw_node *pw_rewrite(pw_pass_ctx *ctx, const pw_node *root, pw_rewrite_fn *fn)
{
    rewrite r = {.ctx = ctx, .fn = fn};
    const pw_node *result;

    if (!root)
        return NULL;
    result = rewrite_node(&r, root);
    pw_memo_free(&r.done);
    return result;
}
