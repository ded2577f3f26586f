#include "tests/codegen/joined/pairs.h"

#include "passes/passes.h"
#include "tests/support/random_ir.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- layouts of a given size ------------------------------------------------------------------------- */

/* A random divisor, mostly a small one. */
static int64_t divisor(pw_rng *rng, int64_t n)
{
    int64_t found[64], k = 0;

    for (int64_t d = 2; d <= n && k < 64; d++)
        if (n % d == 0)
            found[k++] = d;
    return k ? found[pw_rng_range(rng, 0, pw_rng_one_in(rng, 3) ? k - 1 : k / 2)] : 1;
}

static const pw_node *node_of(pw_builder *b, pw_rng *rng, int64_t size, int depth);

/* n places for blocks of `span` bytes that do not overlap, in random order or reversed. */
static void places(pw_rng *rng, int64_t n, int64_t span, int64_t *offs)
{
    int64_t at = pw_rng_range(rng, -64, 64);
    bool reversed = pw_rng_one_in(rng, 3);

    for (int64_t i = 0; i < n; i++) {
        offs[reversed ? n - 1 - i : i] = at;
        at += span + (pw_rng_one_in(rng, 3) ? pw_rng_range(rng, 0, 24) : 0);
    }
    for (int64_t i = n - 1; i > 0 && !reversed; i--) {
        int64_t k = pw_rng_range(rng, 0, i), o = offs[i];

        offs[i] = offs[k];
        offs[k] = o;
    }
}

static const pw_node *random_stream(pw_builder *b, pw_rng *rng, int64_t size, int depth)
{
    int64_t n = divisor(rng, size), stride;
    const pw_node *child = node_of(b, rng, size / n, depth - 1);

    if (!child)
        return NULL;
    stride = child->hi - child->lo + (pw_rng_one_in(rng, 2) ? pw_rng_range(rng, 0, 40) : 0);
    return pw_build_stream(b, n, pw_rng_one_in(rng, 5) ? -stride : stride, child);
}

/* Rows whose elements interleave: a transpose when the other side is in order. */
static const pw_node *random_columns(pw_builder *b, pw_rng *rng, int64_t size)
{
    int64_t rows = divisor(rng, size), columns = divisor(rng, size / rows), bytes = size / rows / columns;
    int64_t row = rows * bytes + pw_rng_range(rng, 0, 3) * bytes;

    return pw_build_stream(b, rows, bytes, pw_build_stream(b, columns, row, pw_build_bytes(b, bytes, 1)));
}

static const pw_node *random_index(pw_builder *b, pw_rng *rng, int64_t size, int depth)
{
    int64_t n = divisor(rng, size), *offs = pw_arena_array(b->arena, (size_t)n, sizeof *offs);
    const pw_node *child = node_of(b, rng, size / n, depth - 1);

    if (!child)
        return NULL;
    places(rng, n, child->hi - child->lo, offs);
    return pw_build_index(b, n, offs, child);
}

static const pw_node *random_blocks(pw_builder *b, pw_rng *rng, int64_t size)
{
    int64_t offs[4096], lens[4096], n = 0, at = pw_rng_range(rng, -64, 64),
                                    longest = pw_rng_range(rng, 1, 1 + size / 3);

    while (size > 0 && n < 4096) {
        lens[n] = n == 4095 ? size : pw_rng_range(rng, 1, longest < size ? longest : size);
        offs[n] = at;
        at += lens[n] + pw_rng_range(rng, 0, 12);
        size -= lens[n++];
    }
    return pw_build_blocks(b, n, offs, lens);
}

static const pw_node *random_seq(pw_builder *b, pw_rng *rng, int64_t size, int depth)
{
    int64_t first = pw_rng_one_in(rng, 2) ? size / 2 : pw_rng_range(rng, 0, size), offs[2] = {0, 0};
    const pw_node *children[2] = {node_of(b, rng, first, depth - 1), node_of(b, rng, size - first, depth - 1)};

    if (!children[0] || !children[1])
        return NULL;
    offs[1] = children[0]->hi - children[1]->lo + pw_rng_range(rng, 0, 50);
    if (pw_rng_one_in(rng, 3))
        offs[1] = children[0]->lo - children[1]->hi - pw_rng_range(rng, 0, 50);
    return pw_build_seq(b, 2, offs, children);
}

static const pw_node *node_of(pw_builder *b, pw_rng *rng, int64_t size, int depth)
{
    if (size <= 1 || depth == 0)
        return pw_build_bytes(b, size, 1);
    switch (pw_rng_range(rng, 0, 9)) {
    case 0:
    case 1:
    case 2:
    case 3: return random_stream(b, rng, size, depth);
    case 4:
    case 5: return random_index(b, rng, size, depth);
    case 6: return random_columns(b, rng, size);
    case 7: return random_blocks(b, rng, size);
    case 8: return random_seq(b, rng, size, depth);
    default: return pw_build_bytes(b, size, 1);
    }
}

static pw_type type_of(pw_builder *b, pw_rng *rng, int64_t size)
{
    pw_type t = {.root = node_of(b, rng, size, 5)};

    if (!t.root)
        return t;
    t.extent = t.root->hi - t.root->lo + (pw_rng_one_in(rng, 2) ? pw_rng_range(rng, 0, 64) : 0);
    if (pw_rng_one_in(rng, 8))
        t.extent = -t.extent;
    return t;
}

/* ---- pairs ------------------------------------------------------------------------------------------- */

static void die(const char *what, uint64_t seed)
{
    fprintf(stderr, "seed %" PRIu64 ": %s\n", seed, what);
    exit(99);
}

static int64_t gcd(int64_t a, int64_t b)
{
    return b ? gcd(b, a % b) : a;
}

void pair_init(pair *p, uint64_t seed, int64_t most)
{
    pw_rng rng = {seed};
    pw_diag diag = {0};
    int64_t elements = pw_rng_range(&rng, 0, 5), unit, ratio[2] = {1, 1}, sizes[2], common;
    pw_builder b;
    pw_type raw[2];

    *p = (pair){.arena = pw_arena_create()};
    b = (pw_builder){.arena = p->arena};
    if (pw_rng_one_in(&rng, 2))
        for (int s = 0; s < 2; s++)
            ratio[s] = pw_rng_range(&rng, 1, 7);
    unit = most / 50 >> pw_rng_range(&rng, 0, 6);
    unit = elements * pw_rng_range(&rng, 1, 1 + unit / (elements + 1)) + !elements * pw_rng_range(&rng, 1, unit + 1);
    for (int s = 0; s < 2; s++) {
        const pw_random_options options = {.max_size = 200};

        raw[s] = type_of(&b, &rng, ratio[s] * unit);
        if (pw_rng_one_in(&rng, 10))
            raw[s] = pw_random_type(&b, pw_rng_next(&rng), &options);
        if (b.status != PW_OK || pw_canonicalise(&raw[s], p->arena, &p->type[s], NULL, &diag) != PW_OK)
            die(diag.text, seed);
        sizes[s] = p->type[s].root->size;
    }
    if (sizes[0] == 0 || sizes[1] == 0)
        return;
    common = gcd(sizes[0], sizes[1]);
    p->bytes = sizes[0] / common * sizes[1] * pw_rng_range(&rng, 1, 3);
    for (int s = 0; s < 2; s++)
        p->count[s] = p->bytes / sizes[s];
}

void pair_parse(pair *p, const char *one, const char *other)
{
    const char *text[2] = {one, other};
    pw_diag diag = {0};

    *p = (pair){.arena = pw_arena_create(), .count = {1, 1}};
    for (int s = 0; s < 2; s++)
        if (pw_parse(text[s], p->arena, &p->type[s], NULL, &diag) != PW_OK)
            die(diag.text, 0);
    p->bytes = p->type[0].root->size;
}

void pair_free(pair *p)
{
    pw_arena_destroy(p->arena);
}

/* ---- the judge --------------------------------------------------------------------------------------- */

/* The memory of one side: where each packed byte is, relative to the lowest. */
typedef struct map {
    int64_t lo, span, n, *at, origin;
} map;

static bool note(void *arg, int64_t off, int64_t n)
{
    map *m = arg;

    for (int64_t i = 0; i < n; i++)
        m->at[m->n++] = m->origin + off + i;
    return true;
}

static void write_out(const pair *p, int s, map *m)
{
    int64_t hi;

    pw_random_bounds(&p->type[s], p->count[s], &m->lo, &hi);
    m->span = hi - m->lo;
    m->n = 0;
    m->at = malloc((size_t)p->bytes * sizeof *m->at);
    for (int64_t i = 0; i < p->count[s]; i++) {
        m->origin = i * p->type[s].extent - m->lo;
        pw_walk(p->type[s].root, 0, note, m);
    }
}

static void complain(const pair *p, const pw_nest *joined, uint64_t seed, bool back, int64_t at)
{
    fprintf(stderr, "seed %" PRIu64 ": byte %" PRId64 " is wrong, %s\n", seed, at, back ? "backwards" : "forwards");
    for (int s = 0; s < 2; s++) {
        fprintf(stderr, "%" PRId64 " of ", p->count[s]);
        pw_print_to(stderr, &p->type[s], 64);
    }
    pw_nest_print_to(stderr, joined, 64);
}

static bool check_way(const pair *p, const pw_nest *joined, uint64_t seed, bool back, const map *maps, pair_copy *copy,
                      void *how)
{
    static const int64_t leads[] = {0, PW_AT_END};
    const map *src = &maps[back], *dst = &maps[!back];
    unsigned char *expected = malloc((size_t)dst->span);
    pw_rng rng = {seed};
    pw_guarded from, to;
    int64_t wrong = PW_JUDGED_RIGHT;

    pw_guarded_init(&from, src->span);
    pw_guarded_init(&to, dst->span);
    for (int i = 0; i < 2 && wrong == PW_JUDGED_RIGHT; i++) {
        pw_guarded_place(&from, src->span, leads[i]);
        pw_guarded_place(&to, dst->span, leads[i]);
        pw_rng_fill(&rng, from.data, (size_t)src->span);
        memcpy(expected, to.data, (size_t)dst->span);
        for (int64_t k = 0; k < p->bytes; k++)
            expected[dst->at[k]] = from.data[src->at[k]];
        copy(how, back, to.data - dst->lo, from.data - src->lo, p->bytes / joined->size);
        wrong = pw_guarded_difference(&to, expected);
    }
    pw_guarded_free(&from);
    pw_guarded_free(&to);
    free(expected);
    if (wrong != PW_JUDGED_RIGHT)
        complain(p, joined, seed, back, wrong);
    return wrong == PW_JUDGED_RIGHT;
}

bool pair_check(const pair *p, const pw_nest *joined, uint64_t seed, pair_copy *copy, void *how)
{
    map maps[2];
    bool right = p->bytes % joined->size == 0;

    for (int s = 0; s < 2; s++)
        write_out(p, s, &maps[s]);
    for (int back = 0; back < 2 && right; back++)
        if (!pw_random_overlaps(&p->type[!back], p->count[!back]))
            right = check_way(p, joined, seed, back, maps, copy, how);
    free(maps[0].at);
    free(maps[1].at);
    return right;
}
