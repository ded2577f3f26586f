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

static bool walk_stream(const pw_node *node, int64_t origin, pw_block_fn *fn, void *arg)
{
    for (int64_t i = 0; i < node->stream.count; i++) {
        if (!pw_walk(node->stream.child, origin, fn, arg))
            return false;
        origin = displaced(origin, node->stream.stride);
    }
    return true;
}

static bool walk_index(const pw_node *node, int64_t origin, pw_block_fn *fn, void *arg)
{
    for (int64_t i = 0; i < node->index.n; i++)
        if (!pw_walk(node->index.child, displaced(origin, node->index.offs[i]), fn, arg))
            return false;
    return true;
}

static bool walk_blocks(const pw_node *node, int64_t origin, pw_block_fn *fn, void *arg)
{
    const int64_t *offs = node->blocks_list.offs, *lens = node->blocks_list.lens;

    for (int64_t i = 0; i < node->blocks_list.n; i++)
        if (lens[i] > 0 && !fn(arg, displaced(origin, offs[i]), lens[i]))
            return false;
    return true;
}

static bool walk_seq(const pw_node *node, int64_t origin, pw_block_fn *fn, void *arg)
{
    for (int64_t i = 0; i < node->seq.n; i++)
        if (!pw_walk(node->seq.children[i], displaced(origin, node->seq.offs[i]), fn, arg))
            return false;
    return true;
}

bool pw_walk(const pw_node *node, int64_t origin, pw_block_fn *fn, void *arg)
{
    /* A count of 2^60 empty children must not take years. */
    if (node->size == 0)
        return true;
    switch (node->kind) {
    case PW_BYTES: return fn(arg, origin, node->bytes.n);
    case PW_STREAM: return walk_stream(node, origin, fn, arg);
    case PW_INDEX: return walk_index(node, origin, fn, arg);
    case PW_BLOCKS: return walk_blocks(node, origin, fn, arg);
    case PW_SEQ: return walk_seq(node, origin, fn, arg);
    }
    return true;
}
