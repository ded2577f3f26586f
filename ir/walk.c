/* The reference semantics of trees: the blocks of a type in packed order, slow and simple. */
#include "ir/ir.h"

/*
 * Origins wrap: a sum of offsets on the way to a block may leave 64 bits although the block itself is inside
 * (the builder checks the bounds of every node, not the origins between).
 */
static int64_t displaced(int64_t origin, int64_t off)
{
    return (int64_t)((uint64_t)origin + (uint64_t)off);
}

/* Returns how many whole children are skipped, and leaves in *skip the blocks to skip in the one behind them. */
static int64_t pass(const pw_node *child, int64_t *skip)
{
    int64_t passed = *skip / child->blocks;

    *skip %= child->blocks;
    return passed;
}

static bool walk_stream(const pw_node *node, int64_t origin, int64_t skip, pw_block_fn *fn, void *arg)
{
    int64_t i = pass(node->stream.child, &skip);

    origin = displaced(origin, (int64_t)((uint64_t)i * (uint64_t)node->stream.stride));
    for (; i < node->stream.count; i++, skip = 0) {
        if (!pw_walk_from(node->stream.child, origin, skip, fn, arg))
            return false;
        origin = displaced(origin, node->stream.stride);
    }
    return true;
}

static bool walk_index(const pw_node *node, int64_t origin, int64_t skip, pw_block_fn *fn, void *arg)
{
    for (int64_t i = pass(node->index.child, &skip); i < node->index.n; i++, skip = 0)
        if (!pw_walk_from(node->index.child, displaced(origin, node->index.offs[i]), skip, fn, arg))
            return false;
    return true;
}

static bool walk_blocks(const pw_node *node, int64_t origin, int64_t skip, pw_block_fn *fn, void *arg)
{
    const int64_t *offs = node->blocks_list.offs, *lens = node->blocks_list.lens;
    bool counted = node->blocks == node->blocks_list.n; /* none is empty */

    for (int64_t i = counted ? skip : 0; i < node->blocks_list.n; i++) {
        if (lens[i] == 0 || (!counted && skip-- > 0))
            continue;
        if (!fn(arg, displaced(origin, offs[i]), lens[i]))
            return false;
    }
    return true;
}

static bool walk_seq(const pw_node *node, int64_t origin, int64_t skip, pw_block_fn *fn, void *arg)
{
    for (int64_t i = 0; i < node->seq.n; i++) {
        const pw_node *child = node->seq.children[i];
        int64_t passed = skip < child->blocks ? skip : child->blocks;

        if (!pw_walk_from(child, displaced(origin, node->seq.offs[i]), passed, fn, arg))
            return false;
        skip -= passed;
    }
    return true;
}

bool pw_walk_from(const pw_node *node, int64_t origin, int64_t skip, pw_block_fn *fn, void *arg)
{
    /* A count of 2^60 empty children must not take years. */
    if (node->size == 0 || skip >= node->blocks)
        return true;
    switch (node->kind) {
    case PW_BYTES: return fn(arg, origin, node->bytes.n);
    case PW_STREAM: return walk_stream(node, origin, skip, fn, arg);
    case PW_INDEX: return walk_index(node, origin, skip, fn, arg);
    case PW_BLOCKS: return walk_blocks(node, origin, skip, fn, arg);
    case PW_SEQ: return walk_seq(node, origin, skip, fn, arg);
    }
    return true;
}

bool pw_walk(const pw_node *node, int64_t origin, pw_block_fn *fn, void *arg)
{
    return pw_walk_from(node, origin, 0, fn, arg);
}
