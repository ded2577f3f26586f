/*
 * merge-blocks: blocks that touch, in memory and in packed order, are one block.
 *
 *     blocks [0:8, 8:4, 20:4]              =>   blocks [0:12, 20:4]
 *     index [0, 8, 32] { bytes 8 }         =>   blocks [0:16, 32:8]
 *     seq { @0 bytes 8 @8 bytes 4 @20 X }  =>   seq { @0 bytes 12 @20 X }
 *
 * A seq of nothing but leaves becomes a list of blocks; a list of equal blocks becomes an index.
 */
#include "passes/internal.h"

/* Merges blocks that touch in memory and in packed order, in place; returns how many remain. */
static int64_t merge_touching(int64_t n, int64_t *offs, int64_t *lens)
{
    int64_t k = 0;

    for (int64_t i = 1; i < n; i++) {
        if (offs[k] + lens[k] == offs[i]) {
            lens[k] += lens[i];
        } else {
            k++;
            offs[k] = offs[i];
            lens[k] = lens[i];
        }
    }
    return n > 0 ? k + 1 : 0;
}

/* Takes over the two arrays, which live in the arena; NULL stands for a failed allocation. */
static const pw_node *list_of(pw_builder *b, int64_t n, int64_t *offs, int64_t *lens)
{
    if (!offs || !lens) {
        b->status = PW_ERR_NOMEM;
        return NULL;
    }
    n = merge_touching(n, offs, lens);
    if (pw_all_equal(n, lens))
        return pw_adopt_index(b, n, offs, pw_build_bytes(b, lens[0], 1));
    return pw_adopt_blocks(b, n, offs, lens);
}

static const pw_node *merge_blocks(pw_builder *b, const pw_node *node)
{
    int64_t n = node->blocks_list.n;
    const int64_t *offs = node->blocks_list.offs, *lens = node->blocks_list.lens;
    bool touching = false;

    for (int64_t i = 1; i < n && !touching; i++)
        touching = offs[i - 1] + lens[i - 1] == offs[i];
    if (!touching && !pw_all_equal(n, lens))
        return node;
    return list_of(b, n, pw_arena_copy(b->arena, offs, (size_t)n * sizeof *offs),
                   pw_arena_copy(b->arena, lens, (size_t)n * sizeof *lens));
}

static const pw_node *merge_index(pw_builder *b, const pw_node *node)
{
    int64_t n = node->index.n, *lens;
    const int64_t *offs = node->index.offs;
    bool touching = false;

    if (node->index.child->kind != PW_BYTES)
        return node;
    for (int64_t i = 1; i < n && !touching; i++)
        touching = offs[i - 1] + node->index.child->bytes.n == offs[i];
    if (!touching)
        return node;
    lens = pw_arena_array(b->arena, (size_t)n, sizeof *lens);
    for (int64_t i = 0; lens && i < n; i++)
        lens[i] = node->index.child->bytes.n;
    return list_of(b, n, pw_arena_copy(b->arena, offs, (size_t)n * sizeof *offs), lens);
}

static bool leaves_touch(const pw_node *node, int64_t i)
{
    const pw_node *prev = node->seq.children[i - 1], *next = node->seq.children[i];

    return prev->kind == PW_BYTES && next->kind == PW_BYTES &&
           node->seq.offs[i - 1] + prev->bytes.n == node->seq.offs[i];
}

static const pw_node *leaves_to_blocks(pw_builder *b, const pw_node *node)
{
    int64_t n = node->seq.n;
    int64_t *lens = pw_arena_array(b->arena, (size_t)n, sizeof *lens);
    int64_t *offs = pw_arena_copy(b->arena, node->seq.offs, (size_t)n * sizeof *offs);

    for (int64_t i = 0; lens && i < n; i++)
        lens[i] = node->seq.children[i]->bytes.n;
    return list_of(b, n, offs, lens);
}

static const pw_node *merge_members(pw_builder *b, const pw_node *node)
{
    int64_t n = node->seq.n, k = 0, *offs;
    const pw_node **children;

    offs = pw_arena_copy(b->arena, node->seq.offs, (size_t)n * sizeof *offs);
    children = pw_arena_copy(b->arena, node->seq.children, (size_t)n * sizeof *children);
    if (!offs || !children) {
        b->status = PW_ERR_NOMEM;
        return NULL;
    }
    for (int64_t i = 1; i < n; i++) {
        if (leaves_touch(node, i)) {
            children[k] = pw_build_bytes(b, children[k]->bytes.n + node->seq.children[i]->bytes.n, 1);
            if (!children[k])
                return NULL;
        } else {
            k++;
            offs[k] = node->seq.offs[i];
            children[k] = node->seq.children[i];
        }
    }
    return pw_adopt_seq(b, k + 1, offs, children);
}

static const pw_node *merge_seq(pw_builder *b, const pw_node *node)
{
    bool touching = false, leaves = true;

    if (node->seq.n < 2)
        return node;
    for (int64_t i = 0; i < node->seq.n; i++) {
        leaves &= node->seq.children[i]->kind == PW_BYTES;
        touching |= i > 0 && leaves_touch(node, i);
    }
    if (leaves)
        return leaves_to_blocks(b, node);
    return touching ? merge_members(b, node) : node;
}

static const pw_node *merge(pw_pass_ctx *ctx, const pw_node *node)
{
    if (node->size == 0)
        return node;
    switch (node->kind) {
    case PW_BLOCKS: return merge_blocks(ctx->builder, node);
    case PW_INDEX: return merge_index(ctx->builder, node);
    case PW_SEQ: return merge_seq(ctx->builder, node);
    case PW_BYTES:
    case PW_STREAM: break;
    }
    return node;
}

const pw_node *pw_pass_merge_blocks(pw_pass_ctx *ctx, const pw_node *root)
{
    return pw_rewrite(ctx, root, merge);
}
