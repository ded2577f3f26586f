#include "random_types.h"

#include <stdio.h>
#include <stdlib.h>

enum { DEPTH = 4, MOST_ENTRIES = 3000, MOST_SPAN = 1 << 19, LIST = 6, DIMS = 4 };

static void need(packwright_status status)
{
    if (status == PACKWRIGHT_OK)
        return;
    fprintf(stderr, "a legal constructor failed: %s\n", packwright_last_error());
    abort();
}

int64_t random_type_extent(const random_type *t)
{
    int64_t lb, extent;

    packwright_extent(t->type, &lb, &extent);
    return extent;
}

void random_type_span(const random_type *t, int64_t count, int64_t *lo, int64_t *hi)
{
    pw_naive_span(&t->map, random_type_extent(t), count, lo, hi);
}

void random_type_free(random_type *t)
{
    packwright_type_free(t->type);
    pw_naive_free(&t->map);
}

/* `n` elements of `old`, from byte displacement `at` on. */
static void put(random_type *t, const random_type *old, int64_t n, int64_t at)
{
    for (int64_t i = 0; i < n; i++)
        pw_naive_append(&t->map, &old->map, at + i * random_type_extent(old));
}

static random_type make_bytes(pw_rng *rng)
{
    static const int64_t sizes[] = {1, 2, 4, 8, 16, 3, 12, 0};
    static const int64_t aligns[] = {1, 2, 4, 8, 16, 1, 4, 1};
    random_type t = {.used = 1U << RANDOM_BYTES};
    int64_t i = pw_rng_range(rng, 0, pw_rng_one_in(rng, 8) ? 7 : 6);

    need(packwright_bytes(sizes[i], aligns[i], &t.type));
    pw_naive_add(&t.map, 0, sizes[i], 0);
    return t;
}

static random_type make_contiguous(pw_rng *rng, const random_type *old)
{
    random_type t = {.used = old->used};
    int64_t n = pw_rng_range(rng, 0, 5);

    need(packwright_contiguous(n, old->type, &t.type));
    put(&t, old, n, 0);
    return t;
}

static random_type make_vector(pw_rng *rng, const random_type *old, bool in_bytes)
{
    random_type t = {.used = old->used};
    int64_t n = pw_rng_range(rng, 0, 5), length = pw_rng_range(rng, 0, 3);
    int64_t stride = pw_rng_range(rng, -4, 8) * (in_bytes ? pw_rng_range(rng, 1, 9) : 1);
    int64_t unit = in_bytes ? 1 : random_type_extent(old);

    need(in_bytes ? packwright_hvector(n, length, stride, old->type, &t.type)
                  : packwright_vector(n, length, stride, old->type, &t.type));
    for (int64_t i = 0; i < n; i++)
        put(&t, old, length, i * stride * unit);
    return t;
}

typedef struct lists {
    int64_t n, lengths[LIST], displacements[LIST];
} lists;

static lists make_lists(pw_rng *rng, bool in_bytes)
{
    lists l = {.n = pw_rng_range(rng, 0, LIST)};
    bool regular = pw_rng_one_in(rng, 3);

    for (int64_t i = 0; i < l.n; i++) {
        l.lengths[i] = regular ? 2 : pw_rng_range(rng, 0, 3);
        l.displacements[i] = regular ? 5 * i : pw_rng_range(rng, -10, 20) * (in_bytes ? 4 : 1);
    }
    return l;
}

static random_type make_indexed(pw_rng *rng, const random_type *old, bool in_bytes)
{
    random_type t = {.used = old->used};
    lists l = make_lists(rng, in_bytes);

    need(in_bytes ? packwright_hindexed(l.n, l.lengths, l.displacements, old->type, &t.type)
                  : packwright_indexed(l.n, l.lengths, l.displacements, old->type, &t.type));
    for (int64_t i = 0; i < l.n; i++)
        put(&t, old, l.lengths[i], l.displacements[i] * (in_bytes ? 1 : random_type_extent(old)));
    return t;
}

static random_type make_block(pw_rng *rng, const random_type *old, bool in_bytes)
{
    random_type t = {.used = old->used};
    lists l = make_lists(rng, in_bytes);
    int64_t length = pw_rng_range(rng, 0, 3);

    need(in_bytes ? packwright_hindexed_block(l.n, length, l.displacements, old->type, &t.type)
                  : packwright_indexed_block(l.n, length, l.displacements, old->type, &t.type));
    for (int64_t i = 0; i < l.n; i++)
        put(&t, old, length, l.displacements[i] * (in_bytes ? 1 : random_type_extent(old)));
    return t;
}

static random_type make_any(pw_rng *rng, int depth);

static random_type make_struct(pw_rng *rng, int depth)
{
    random_type t = {.used = 0}, olds[LIST];
    packwright_type *types[LIST];
    lists l = make_lists(rng, true);

    for (int64_t i = 0; i < l.n; i++) {
        olds[i] = make_any(rng, depth - 1);
        types[i] = olds[i].type;
        t.used |= olds[i].used;
    }
    need(packwright_struct(l.n, l.lengths, l.displacements, types, &t.type));
    for (int64_t i = 0; i < l.n; i++) {
        put(&t, &olds[i], l.lengths[i], l.displacements[i]);
        random_type_free(&olds[i]);
    }
    return t;
}

/* Counts through the indices of an array, the fastest dimension first; false at the end. */
static bool next(int64_t *index, int64_t ndims, const int64_t *sizes, packwright_order order)
{
    for (int64_t k = 0; k < ndims; k++) {
        int64_t d = order == PACKWRIGHT_ORDER_FORTRAN ? k : ndims - 1 - k;

        if (++index[d] < sizes[d])
            return true;
        index[d] = 0;
    }
    return false;
}

static int64_t linear(const int64_t *index, int64_t ndims, const int64_t *sizes, packwright_order order)
{
    int64_t at = 0;

    for (int64_t k = 0; k < ndims; k++) {
        int64_t d = order == PACKWRIGHT_ORDER_FORTRAN ? ndims - 1 - k : k;

        at = at * sizes[d] + index[d];
    }
    return at;
}

static random_type make_subarray(pw_rng *rng, const random_type *old)
{
    random_type t = {.used = old->used};
    int64_t ndims = pw_rng_range(rng, 1, DIMS), sizes[DIMS], subsizes[DIMS], starts[DIMS], index[DIMS] = {0};
    packwright_order order = pw_rng_one_in(rng, 2) ? PACKWRIGHT_ORDER_C : PACKWRIGHT_ORDER_FORTRAN;
    bool inside;

    for (int64_t d = 0; d < ndims; d++) {
        sizes[d] = pw_rng_range(rng, 1, 5);
        subsizes[d] = pw_rng_range(rng, pw_rng_one_in(rng, 9) ? 0 : 1, sizes[d]);
        starts[d] = pw_rng_range(rng, 0, sizes[d] - subsizes[d]);
    }
    need(packwright_subarray(ndims, sizes, subsizes, starts, order, old->type, &t.type));
    do {
        inside = true;
        for (int64_t d = 0; d < ndims; d++)
            inside = inside && index[d] >= starts[d] && index[d] < starts[d] + subsizes[d];
        if (inside)
            put(&t, old, 1, linear(index, ndims, sizes, order) * random_type_extent(old));
    } while (next(index, ndims, sizes, order));
    return t;
}

typedef struct grid {
    int64_t ndims, gsizes[DIMS], arguments[DIMS], psizes[DIMS], coords[DIMS], size, rank;
    packwright_distribution distributions[DIMS];
} grid;

static void make_dimension(pw_rng *rng, grid *g, int64_t d)
{
    bool automatic = pw_rng_one_in(rng, 2);

    g->gsizes[d] = pw_rng_range(rng, 1, 7);
    g->psizes[d] = pw_rng_range(rng, 1, 3);
    g->distributions[d] = (packwright_distribution)pw_rng_range(rng, 0, 2);
    if (g->distributions[d] == PACKWRIGHT_DISTRIBUTE_NONE)
        g->psizes[d] = 1;
    g->arguments[d] = automatic                                            ? PACKWRIGHT_DISTRIBUTE_DEFAULT_ARG
                      : g->distributions[d] == PACKWRIGHT_DISTRIBUTE_BLOCK ? g->gsizes[d]
                                                                           : pw_rng_range(rng, 1, 3);
}

static bool is_mine(const grid *g, const int64_t *index)
{
    for (int64_t d = 0; d < g->ndims; d++) {
        int64_t block = g->arguments[d];

        if (g->distributions[d] == PACKWRIGHT_DISTRIBUTE_NONE)
            continue;
        if (block == PACKWRIGHT_DISTRIBUTE_DEFAULT_ARG)
            block = g->distributions[d] == PACKWRIGHT_DISTRIBUTE_CYCLIC
                        ? 1
                        : (g->gsizes[d] + g->psizes[d] - 1) / g->psizes[d];
        if (index[d] / block % g->psizes[d] != g->coords[d])
            return false;
    }
    return true;
}

static random_type make_darray(pw_rng *rng, const random_type *old)
{
    random_type t = {.used = old->used};
    packwright_order order = pw_rng_one_in(rng, 2) ? PACKWRIGHT_ORDER_C : PACKWRIGHT_ORDER_FORTRAN;
    grid g = {.ndims = pw_rng_range(rng, 1, 3), .size = 1};
    int64_t index[DIMS] = {0}, rest;

    for (int64_t d = 0; d < g.ndims; d++) {
        make_dimension(rng, &g, d);
        g.size *= g.psizes[d];
    }
    g.rank = rest = pw_rng_range(rng, 0, g.size - 1);
    for (int64_t d = g.ndims - 1; d >= 0; d--) {
        g.coords[d] = rest % g.psizes[d];
        rest /= g.psizes[d];
    }
    need(packwright_darray(g.size, g.rank, g.ndims, g.gsizes, g.distributions, g.arguments, g.psizes, order, old->type,
                           &t.type));
    do {
        if (is_mine(&g, index))
            put(&t, old, 1, linear(index, g.ndims, g.gsizes, order) * random_type_extent(old));
    } while (next(index, g.ndims, g.gsizes, order));
    return t;
}

static random_type make_resized(pw_rng *rng, const random_type *old)
{
    random_type t = {.used = old->used};
    int64_t lb = pw_rng_range(rng, -16, 16), extent = random_type_extent(old) + pw_rng_range(rng, -8, 24);

    need(packwright_resized(lb, extent, old->type, &t.type));
    put(&t, old, 1, 0);
    return t;
}

static random_type make_dup(const random_type *old)
{
    random_type t = {.used = old->used, .type = packwright_dup(old->type)};

    put(&t, old, 1, 0);
    return t;
}

static random_type make_over(pw_rng *rng, random_constructor c, const random_type *old)
{
    switch (c) {
    case RANDOM_CONTIGUOUS: return make_contiguous(rng, old);
    case RANDOM_VECTOR: return make_vector(rng, old, false);
    case RANDOM_HVECTOR: return make_vector(rng, old, true);
    case RANDOM_INDEXED: return make_indexed(rng, old, false);
    case RANDOM_HINDEXED: return make_indexed(rng, old, true);
    case RANDOM_INDEXED_BLOCK: return make_block(rng, old, false);
    case RANDOM_HINDEXED_BLOCK: return make_block(rng, old, true);
    case RANDOM_SUBARRAY: return make_subarray(rng, old);
    case RANDOM_DARRAY: return make_darray(rng, old);
    case RANDOM_RESIZED: return make_resized(rng, old);
    default: return make_dup(old);
    }
}

/* Old types are freed at once: the library promises that a type holds what it needs of them. */
static random_type make_any(pw_rng *rng, int depth)
{
    random_constructor c = (random_constructor)pw_rng_range(rng, 1, RANDOM_CONSTRUCTOR_COUNT - 1);
    random_type old, t;

    if (depth <= 0 || pw_rng_one_in(rng, 8))
        return make_bytes(rng);
    if (c == RANDOM_STRUCT) {
        t = make_struct(rng, depth);
    } else {
        old = make_any(rng, depth - 1);
        t = make_over(rng, c, &old);
        random_type_free(&old);
    }
    t.used |= 1U << c;
    return t;
}

random_type random_type_make(pw_rng *rng)
{
    for (;;) {
        random_type t = make_any(rng, (int)pw_rng_range(rng, 1, DEPTH));
        int64_t lo, hi;

        random_type_span(&t, 4, &lo, &hi);
        if (t.map.n <= MOST_ENTRIES && hi - lo <= MOST_SPAN)
            return t;
        random_type_free(&t);
    }
}
