/*
 * Finds the blocks of a type in its tree. Each node knows its packed bytes and the number of its blocks. Through
 * streams and lists of equal blocks a block is found in O(depth). Through sequences, and by bytes through lists of
 * blocks of varying length, the search passes one by one whatever lies before the block.
 */
#include "runtime/engine/library/internal.h"

/* ---- by bytes ------------------------------------------------------------------------------------------ */

typedef struct part {
    int64_t first, last; /* of the current node */
    pw_block_part_fn *fn;
    void *arg;
} part;

static void visit(const part *p, const pw_node *node, int64_t origin);

/* Visits a child whose packed bytes begin at `at`. Returns true if the part ends in it. */
static bool visit_child(const part *p, const pw_node *child, int64_t origin, int64_t at)
{
    part inner = *p;

    inner.first = p->first > at ? p->first - at : 0;
    inner.last = p->last - at < child->size ? p->last - at : child->size;
    if (inner.first < inner.last)
        visit(&inner, child, origin);
    return p->last - at <= child->size;
}

static void visit_block(const part *p, int64_t origin, int64_t at, int64_t n)
{
    int64_t first = p->first > at ? p->first - at : 0, last = p->last - at < n ? p->last - at : n;

    if (first < last)
        p->fn(p->arg, origin + first, last - first);
}

static void visit_list(const part *p, const pw_node *node, int64_t origin)
{
    int64_t at = 0;

    for (int64_t i = 0; i < node->blocks_list.n && at < p->last; i++) {
        visit_block(p, origin + node->blocks_list.offs[i], at, node->blocks_list.lens[i]);
        at += node->blocks_list.lens[i];
    }
}

static void visit_seq(const part *p, const pw_node *node, int64_t origin)
{
    int64_t at = 0;

    for (int64_t i = 0; i < node->seq.n && at < p->last; i++) {
        visit_child(p, node->seq.children[i], origin + node->seq.offs[i], at);
        at += node->seq.children[i]->size;
    }
}

/* Visits bytes [first, last) of a node, 0 <= first < last <= size of the node, which therefore is not empty. */
static void visit(const part *p, const pw_node *node, int64_t origin)
{
    const pw_node *child;

    switch (node->kind) {
    case PW_BYTES: visit_block(p, origin, 0, node->bytes.n); break;
    case PW_STREAM:
        child = node->stream.child;
        for (int64_t i = p->first / child->size; i < node->stream.count; i++)
            if (visit_child(p, child, origin + i * node->stream.stride, i * child->size))
                break;
        break;
    case PW_INDEX:
        child = node->index.child;
        for (int64_t i = p->first / child->size; i < node->index.n; i++)
            if (visit_child(p, child, origin + node->index.offs[i], i * child->size))
                break;
        break;
    case PW_BLOCKS: visit_list(p, node, origin); break;
    case PW_SEQ: visit_seq(p, node, origin); break;
    }
}

void pw_tree_range(const pw_node *node, int64_t origin, int64_t first, int64_t last, pw_block_part_fn *fn, void *arg)
{
    if (first < last)
        visit(&(part){first, last, fn, arg}, node, origin);
}

/* ---- by blocks ----------------------------------------------------------------------------------------- */

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
