/*
 * Finds the blocks of a type in its tree by their numbers. Each node knows the number of its blocks. Through streams
 * and lists of equal blocks a block is found in O(depth). Through sequences the search passes the members one by one.
 */
#include "runtime/engine/library/internal.h"

static packwright_iov block_at(uintptr_t address, int64_t n)
{
    return (packwright_iov){.base = (void *)address, .length = (size_t)n};
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Writes the blocks of a child that is repeated at offsets 0 to n - 1, from a table or as multiples of `stride`. */
static int64_t blocks_of_many(const pw_node *child, int64_t n, const int64_t *offs, int64_t stride, uintptr_t base,
                              int64_t skip, int64_t max, packwright_iov *iov)
{
    int64_t i, filled = 0;

    if (child->blocks == 0)
        return 0;
    i = skip / child->blocks;
    skip %= child->blocks;
    for (; i < n && filled < max; i++, skip = 0) {
        uintptr_t at = base + (offs ? (uintptr_t)offs[i] : (uintptr_t)i * (uintptr_t)stride);

        if (child->kind == PW_BYTES)
            iov[filled++] = block_at(at, child->bytes.n);
        else
            filled += pw_tree_blocks(child, at, skip, max - filled, iov + filled);
    }
    return filled;
}

/* Writes the blocks of a list; blocks without bytes do not count. */
static int64_t blocks_of_list(const pw_node *node, uintptr_t base, int64_t skip, int64_t max, packwright_iov *iov)
{
    bool counted = node->blocks == node->blocks_list.n;
    int64_t filled = 0;

    for (int64_t i = counted ? skip : 0; i < node->blocks_list.n && filled < max; i++) {
        if (node->blocks_list.lens[i] == 0 || (!counted && skip-- > 0))
            continue;
        iov[filled++] = block_at(base + (uintptr_t)node->blocks_list.offs[i], node->blocks_list.lens[i]);
    }
    return filled;
}

static int64_t blocks_of_seq(const pw_node *node, uintptr_t base, int64_t skip, int64_t max, packwright_iov *iov)
{
    int64_t filled = 0;

    for (int64_t i = 0; i < node->seq.n && filled < max; i++) {
        const pw_node *child = node->seq.children[i];
        int64_t passed = least(skip, child->blocks);

        if (passed < child->blocks)
            filled += pw_tree_blocks(child, base + (uintptr_t)node->seq.offs[i], passed, max - filled, iov + filled);
        skip -= passed;
    }
    return filled;
}

int64_t pw_tree_blocks(const pw_node *node, uintptr_t base, int64_t skip, int64_t max, packwright_iov *iov)
{
    if (skip >= node->blocks || max <= 0)
        return 0;
    switch (node->kind) {
    case PW_BYTES: iov[0] = block_at(base, node->bytes.n); return 1;
    case PW_STREAM:
        return blocks_of_many(node->stream.child, node->stream.count, NULL, node->stream.stride, base, skip, max, iov);
    case PW_INDEX: return blocks_of_many(node->index.child, node->index.n, node->index.offs, 0, base, skip, max, iov);
    case PW_BLOCKS: return blocks_of_list(node, base, skip, max, iov);
    case PW_SEQ: return blocks_of_seq(node, base, skip, max, iov);
    }
    return 0;
}
