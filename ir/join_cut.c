/* Cuts placed trees in parts, so that two sides of a join end at the same packed byte. */
#include "ir/join_internal.h"

pw_placed pw_placed_peel(pw_builder *b, pw_placed p)
{
    while (p.node) {
        const pw_node *n = p.node;

        if (n->kind == PW_STREAM && n->stream.count == 1) {
            p.node = n->stream.child;
        } else if (n->kind == PW_INDEX && n->index.n == 1) {
            p = (pw_placed){n->index.child, pw_wrap_add(p.off, n->index.offs[0])};
        } else if (n->kind == PW_SEQ && n->seq.n == 1) {
            p = (pw_placed){n->seq.children[0], pw_wrap_add(p.off, n->seq.offs[0])};
        } else if (n->kind == PW_BLOCKS && n->blocks_list.n == 1) {
            p.off = pw_wrap_add(p.off, n->blocks_list.offs[0]);
            p.node = pw_build_bytes(b, n->blocks_list.lens[0], 1);
        } else {
            break;
        }
    }
    return p;
}

/* ---- parts --------------------------------------------------------------------------------------- */

/* Up to three members in packed order, of which some move nothing. */
typedef struct members {
    int n;
    int64_t offs[3];
    const pw_node *nodes[3];
} members;

static void add_member(members *m, pw_placed p)
{
    if (p.node && p.node->size == 0)
        return;
    m->offs[m->n] = p.off;
    m->nodes[m->n++] = p.node;
}

static pw_placed put_together(pw_builder *b, const members *m)
{
    if (m->n == 1)
        return (pw_placed){m->nodes[0], m->offs[0]};
    return (pw_placed){pw_build_seq(b, m->n, m->offs, m->nodes), 0};
}

/* Iterations [i, k) of a loop, whole. */
static pw_placed iterations(pw_builder *b, const pw_node *n, int64_t i, int64_t k)
{
    if (n->kind == PW_STREAM)
        return (pw_placed){pw_build_stream(b, k - i, n->stream.stride, n->stream.child),
                           pw_wrap_mul(i, n->stream.stride)};
    return (pw_placed){pw_adopt_index(b, k - i, n->index.offs + i, n->index.child), 0};
}

/* A part of one iteration. */
static pw_placed iteration_part(pw_builder *b, const pw_node *n, int64_t i, int64_t first, int64_t last)
{
    bool stream = n->kind == PW_STREAM;
    pw_placed child = {stream ? n->stream.child : n->index.child,
                       stream ? pw_wrap_mul(i, n->stream.stride) : n->index.offs[i]};

    return pw_placed_part(b, child, first, last);
}

/* The end of an iteration, whole iterations, and the beginning of another. */
static pw_placed loop_part(pw_builder *b, const pw_node *n, int64_t first, int64_t last)
{
    int64_t step = n->kind == PW_STREAM ? n->stream.child->size : n->index.child->size;
    int64_t i = first / step, k = last / step, head = first % step, tail = last % step;
    members m = {0};

    if (i == k)
        return iteration_part(b, n, i, head, tail);
    if (head)
        add_member(&m, iteration_part(b, n, i++, head, step));
    if (i < k)
        add_member(&m, iterations(b, n, i, k));
    if (tail)
        add_member(&m, iteration_part(b, n, k, 0, tail));
    return put_together(b, &m);
}

static pw_placed seq_part(pw_builder *b, const pw_node *n, int64_t first, int64_t last)
{
    int64_t *offs = pw_arena_take_array(b->arena, (size_t)n->seq.n, sizeof *offs), kept = 0, at = 0;
    const pw_node **children = pw_arena_take_array(b->arena, (size_t)n->seq.n, sizeof *children);

    if (!offs || !children) {
        b->status = PW_ERR_NOMEM;
        return (pw_placed){0};
    }
    for (int64_t i = 0; i < n->seq.n && at < last; i++) {
        pw_placed c = {n->seq.children[i], n->seq.offs[i]};
        int64_t size = c.node->size, from = first > at ? first - at : 0, to = last - at < size ? last - at : size;

        at += size;
        if (from >= to)
            continue;
        c = pw_placed_part(b, c, from, to);
        offs[kept] = c.off;
        children[kept++] = c.node;
    }
    if (kept == 1)
        return (pw_placed){children[0], offs[0]};
    return (pw_placed){pw_adopt_seq(b, kept, offs, children), 0};
}

static pw_placed blocks_part(pw_builder *b, const pw_node *n, int64_t first, int64_t last)
{
    size_t most = (size_t)n->blocks_list.n;
    int64_t *offs = pw_arena_take_array(b->arena, most, sizeof *offs), kept = 0, at = 0;
    int64_t *lens = pw_arena_take_array(b->arena, most, sizeof *lens);

    if (!offs || !lens) {
        b->status = PW_ERR_NOMEM;
        return (pw_placed){0};
    }
    for (int64_t i = 0; i < n->blocks_list.n && at < last; i++) {
        int64_t size = n->blocks_list.lens[i], from = first > at ? first - at : 0;
        int64_t to = last - at < size ? last - at : size;

        at += size;
        if (from >= to)
            continue;
        offs[kept] = pw_wrap_add(n->blocks_list.offs[i], from);
        lens[kept++] = to - from;
    }
    return (pw_placed){pw_adopt_blocks(b, kept, offs, lens), 0};
}

pw_placed pw_placed_part(pw_builder *b, pw_placed p, int64_t first, int64_t last)
{
    const pw_node *n = p.node;
    pw_placed part = {0};

    if (b->status != PW_OK || !n || (first == 0 && last == n->size))
        return p;
    switch (n->kind) {
    case PW_BYTES: part = (pw_placed){pw_build_bytes(b, last - first, 1), first}; break;
    case PW_STREAM:
    case PW_INDEX: part = loop_part(b, n, first, last); break;
    case PW_SEQ: part = seq_part(b, n, first, last); break;
    case PW_BLOCKS: part = blocks_part(b, n, first, last); break;
    }
    part.off = pw_wrap_add(part.off, p.off);
    return part;
}
