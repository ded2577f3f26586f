/*
 * How much memory a layout touches, and a simple model of what moving it costs. The model knows the instruction mix and
 * nothing of caches: everything is in the first-level cache, and the machine does one vector load and store a cycle.
 *
 *   a piece of b bytes     b at least a vector: one move a vector, rounded up; else 1 if b is a power of two, else 2
 *   a block of a list      3 for its loop, and its moves
 *   an iteration           1/4 for its loop (loops are unrolled), 1 more when its offset comes from a table
 */
#include "tools/inspect/inspect.h"

#include "base/grow.h"

#include <stdlib.h>

/* ---- touched lines ------------------------------------------------------------------------------ */

enum { MAX_BLOCKS = 1 << 20 };

typedef struct span {
    int64_t first, last; /* lines */
} span;

typedef struct spans {
    span *items;
    int64_t n, room, bytes;
} spans;

static bool add_block(void *arg, int64_t off, int64_t n)
{
    spans *s = arg;
    span line = {off >> 6, (off + n - 1) >> 6};

    span *grown = s->n == MAX_BLOCKS ? NULL : pw_grow(s->items, s->n, &s->room, sizeof *grown);

    if (!grown)
        return false;
    s->items = grown;
    s->items[s->n++] = line;
    s->bytes += n;
    return true;
}

static int compare_spans(const void *a, const void *b)
{
    const span *x = a, *y = b;

    return (x->first > y->first) - (x->first < y->first);
}

static double count_lines(spans *s)
{
    double lines = 0;
    int64_t end = INT64_MIN; /* the last line that was counted */

    qsort(s->items, (size_t)s->n, sizeof *s->items, compare_spans);
    for (int64_t i = 0; i < s->n; i++) {
        int64_t first = s->items[i].first > end ? s->items[i].first : end + 1;

        if (s->items[i].last < first)
            continue;
        lines += (double)(s->items[i].last - first + 1);
        end = s->items[i].last;
    }
    return lines;
}

pw_touch pw_cost_touch(const pw_node *root)
{
    spans s = {0};
    bool all = pw_walk(root, 0, add_block, &s);
    pw_touch touch = {.blocks = s.n, .exact = all};

    if (s.n > 0)
        touch.lines = count_lines(&s);
    if (!all && s.bytes > 0)
        touch.lines *= (double)root->size / (double)s.bytes;
    free(s.items);
    return touch;
}

/* ---- the model ---------------------------------------------------------------------------------- */

static double moves(int64_t bytes, int vector)
{
    if (bytes >= vector)
        return (double)((bytes - 1) / vector + 1);
    return bytes & (bytes - 1) ? 2 : 1;
}

static double leaf_cycles(const pw_region *r, int vector)
{
    double cycles = 0;

    for (int i = 0; i < r->npieces; i++)
        cycles += moves(r->pieces[i].bytes, vector);
    for (int64_t i = 0; r->blocks && i < r->blocks->n; i++)
        cycles += 3 + moves(pw_table_get(&r->blocks->starts, i + 1) - pw_table_get(&r->blocks->starts, i), vector);
    return cycles;
}

static double region_cycles(const pw_region *r, int vector)
{
    double cycles = leaf_cycles(r, vector);

    for (int i = r->ndims - 1; i >= 0; i--) {
        const pw_dim *d = &r->dims[i];

        if (!d->is_object)
            cycles = (double)d->count * (cycles + 0.25 + (d->table != NULL));
    }
    return cycles;
}

double pw_cost_model(const pw_nest *nest, const pw_target *target)
{
    int vector = pw_target_isa_of(target).vector_bytes;
    double cycles = 0;

    for (int i = 0; i < nest->nregions; i++)
        cycles += region_cycles(&nest->regions[i], vector);
    return cycles;
}
