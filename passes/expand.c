/*
 * expand: writes a small type out as its list of merged blocks and finds its structure anew.
 *
 * This is what makes equal layouts equal however they were built: the result depends on the block list
 * alone. Bounded by what the type's own lists take already (MAX_GROWTH times their length), with a floor so that
 * small types are always covered; beyond the bound the tree keeps the structure that the local passes gave it.
 */
#include "passes/internal.h"

#include "ir/memo.h"

enum { MAX_GROWTH = 4, MIN_BLOCKS = 1024 };

static int64_t list_entries(pw_memo *seen, const pw_node *node);

static int64_t own_entries(pw_memo *seen, const pw_node *node)
{
    int64_t n = 0;

    switch (node->kind) {
    case PW_BYTES: return 0;
    case PW_STREAM: return list_entries(seen, node->stream.child);
    case PW_INDEX: return node->index.n + list_entries(seen, node->index.child);
    case PW_BLOCKS: return node->blocks_list.n;
    case PW_SEQ:
        for (int64_t i = 0; i < node->seq.n; i++)
            if (i == 0 || node->seq.children[i] != node->seq.children[i - 1])
                n += list_entries(seen, node->seq.children[i]);
        return n + node->seq.n;
    }
    return n;
}

/* Entries of all lists in the tree, shared nodes once: what the metadata costs already. */
static int64_t list_entries(pw_memo *seen, const pw_node *node)
{
    int64_t n;

    if (pw_memo_find(seen, node))
        return 0;
    n = own_entries(seen, node);
    pw_memo_add(seen, (pw_memo_entry){.node = node, .number = n});
    return n;
}

/* The most blocks that are written out. */
static int64_t bound_of(const pw_node *root)
{
    pw_memo seen = {0};
    int64_t entries = list_entries(&seen, root);

    pw_memo_free(&seen);
    return entries > MIN_BLOCKS / MAX_GROWTH ? entries * MAX_GROWTH : MIN_BLOCKS;
}

typedef struct block_sink {
    int64_t n, cap;
    int64_t *offs, *lens;
} block_sink;

static bool sink_block(void *arg, int64_t off, int64_t n)
{
    block_sink *s = arg;

    if (s->n > 0 && s->offs[s->n - 1] + s->lens[s->n - 1] == off) {
        s->lens[s->n - 1] += n;
        return true;
    }
    if (s->n == s->cap)
        return false;
    s->offs[s->n] = off;
    s->lens[s->n++] = n;
    return true;
}

/*
 * Streams alone, none of whose iterations begins where the block before it ends: their block list is uniform and
 * would give the same streams again, so it need not be written out. A list of blocks is itself what would be written
 * out, and recover-streams, which has just run, has found no structure in it.
 */
static bool is_settled(const pw_node *node)
{
    const pw_node *leaf = node;
    int64_t inner = 0; /* offset of the last block of one iteration */

    if (node->kind == PW_BLOCKS || (node->kind == PW_INDEX && node->index.child->kind == PW_BYTES))
        return true;
    while (leaf->kind == PW_STREAM)
        leaf = leaf->stream.child;
    if (leaf->kind != PW_BYTES)
        return false;
    for (const pw_node *outer = node; outer->kind == PW_STREAM; outer = outer->stream.child)
        inner += (outer->stream.count - 1) * outer->stream.stride;
    for (; node->kind == PW_STREAM; node = node->stream.child) {
        inner -= (node->stream.count - 1) * node->stream.stride;
        if (node->stream.stride == inner + leaf->bytes.n)
            return false;
    }
    return true;
}

const pw_node *pw_pass_expand(pw_pass_ctx *ctx, const pw_node *root)
{
    pw_builder *b = ctx->builder;
    block_sink sink = {.cap = root->blocks};
    pw_arena_mark before = pw_arena_here(b->arena);
    const pw_node *found;

    if (root->size == 0 || is_settled(pw_is_shift(root) ? root->seq.children[0] : root) ||
        root->blocks > bound_of(root))
        return root;
    sink.offs = pw_arena_take_array(b->arena, (size_t)sink.cap, sizeof *sink.offs);
    sink.lens = pw_arena_take_array(b->arena, (size_t)sink.cap, sizeof *sink.lens);
    if (!sink.offs || !sink.lens) {
        b->status = PW_ERR_NOMEM;
        return NULL;
    }
    if (!pw_walk(root, 0, sink_block, &sink))
        return root;
    found = pw_pattern_blocks(b, sink.n, sink.offs, sink.lens);
    if (found && pw_node_equal(found, root)) {
        pw_arena_rewind(b->arena, before);
        return root;
    }
    ctx->fired += found != NULL;
    return found;
}
