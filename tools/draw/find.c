/*
 * The inverse of a layout: where in the packed stream a memory byte is. The picture asks for each cell that it shows,
 * so it is right even where repetitions were left out.
 */
#include "tools/draw/draw.h"

typedef struct finder {
    int64_t mem;
    int64_t *budget;
} finder;

static int64_t find(const finder *f, const pw_node *node, int64_t origin);

static bool may_touch(const finder *f, const pw_node *node, int64_t origin)
{
    return node->size > 0 && f->mem >= origin + node->lo && f->mem < origin + node->hi;
}

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

/* Finds the iterations i, [*first, *last], of a repetition at i * stride whose bounds can hold the byte. */
static void candidates(int64_t rel, int64_t lo, int64_t hi, int64_t stride, int64_t count, int64_t *first,
                       int64_t *last)
{
    int64_t a, b;

    *first = 0;
    *last = count - 1;
    if (stride == 0)
        return;
    a = floor_div(rel - hi, stride);
    b = floor_div(rel - lo, stride);
    if (stride < 0) {
        int64_t t = a;

        a = b;
        b = t;
    }
    if (a - 1 > *first)
        *first = a - 1;
    if (b + 1 < *last)
        *last = b + 1;
}

static int64_t find_repeated(const finder *f, const pw_node *child, int64_t origin, int64_t stride, int64_t count)
{
    int64_t first, last;

    if (child->size == 0)
        return -1;
    candidates(f->mem - origin, child->lo, child->hi, stride, count, &first, &last);
    for (int64_t i = first; i <= last && *f->budget > 0; i++) {
        int64_t at = find(f, child, origin + i * stride);

        if (at >= 0)
            return i * child->size + at;
    }
    return -1;
}

static int64_t find_list(const finder *f, const pw_node *node, int64_t origin)
{
    int64_t packed = 0, n = node->kind == PW_INDEX ? node->index.n : node->seq.n;

    for (int64_t i = 0; i < n && *f->budget > 0; i++) {
        const pw_node *child = node->kind == PW_INDEX ? node->index.child : node->seq.children[i];
        int64_t off = node->kind == PW_INDEX ? node->index.offs[i] : node->seq.offs[i];
        int64_t at = may_touch(f, child, origin + off) ? find(f, child, origin + off) : -1;

        --*f->budget;
        if (at >= 0)
            return packed + at;
        packed += child->size;
    }
    return -1;
}

static int64_t find_blocks(const finder *f, const pw_node *node, int64_t origin)
{
    int64_t packed = 0;

    for (int64_t i = 0; i < node->blocks_list.n; i++) {
        int64_t rel = f->mem - origin - node->blocks_list.offs[i];

        --*f->budget;
        if (rel >= 0 && rel < node->blocks_list.lens[i])
            return packed + rel;
        packed += node->blocks_list.lens[i];
    }
    return -1;
}

static int64_t find(const finder *f, const pw_node *node, int64_t origin)
{
    --*f->budget;
    if (!may_touch(f, node, origin))
        return -1;
    switch (node->kind) {
    case PW_BYTES: return f->mem - origin;
    case PW_STREAM: return find_repeated(f, node->stream.child, origin, node->stream.stride, node->stream.count);
    case PW_INDEX:
    case PW_SEQ: return find_list(f, node, origin);
    case PW_BLOCKS: return find_blocks(f, node, origin);
    }
    return -1;
}

int64_t pw_draw_find(const pw_type *type, int64_t count, int64_t mem, int64_t *budget)
{
    finder f = {.mem = mem, .budget = budget};

    return find_repeated(&f, type->root, 0, type->extent, count);
}
