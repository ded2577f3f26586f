#include "tests/codegen/interp/check.h"

#include "codegen/interp/interp.h"
#include "passes/nest_passes.h"
#include "tests/support/random_ir.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

enum { GUARD = 64, PATTERN = 0xa5 };

/* One type and count under test, with the right answer. */
typedef struct subject {
    const pw_type *type;
    int64_t count, total; /* packed bytes */
    int64_t lo, span;     /* touched memory, relative to the first object */
    int64_t *where;       /* memory offset of every packed byte */
    unsigned char *memory, *packed;
    bool overlaps;
    pw_rng rng;
    const char *label, *stage;
    const pw_nest *nest;
} subject;

static void complain(const subject *s, const char *what, int64_t first, int64_t last)
{
    char *type = pw_print(s->type, 0), *nest = pw_nest_print(s->nest, 0);

    print_error("%s: %s differs (%s, count %" PRId64 ", bytes [%" PRId64 ", %" PRId64 "))\n%s\n%s\n", s->label, what,
                s->stage, s->count, first, last, type, nest);
    free(type);
    free(nest);
    fail();
}

/* ---- the right answer ---------------------------------------------------------------------------- */

typedef struct where_arg {
    int64_t *out;
    int64_t n, origin;
} where_arg;

static bool note_block(void *arg, int64_t off, int64_t n)
{
    where_arg *w = arg;

    for (int64_t i = 0; i < n; i++)
        w->out[w->n++] = w->origin + off + i;
    return true;
}

static void *allocate(int64_t bytes)
{
    void *p = malloc(bytes > 0 ? (size_t)bytes : 1);

    assert_non_null(p);
    return p;
}

static void prepare(subject *s)
{
    where_arg w = {0};
    int64_t hi;

    s->total = s->count * s->type->root->size;
    pw_random_bounds(s->type, s->count, &s->lo, &hi);
    s->span = hi - s->lo;
    s->overlaps = pw_random_overlaps(s->type, s->count);
    w.out = s->where = allocate(s->total * (int64_t)sizeof *w.out);
    for (int64_t i = 0; i < s->count; i++) {
        w.origin = i * s->type->extent;
        assert_true(pw_walk(s->type->root, 0, note_block, &w));
    }
    assert_int_equal(w.n, s->total);
    s->memory = allocate(s->span);
    pw_rng_fill(&s->rng, s->memory, (size_t)s->span);
    s->packed = allocate(s->total);
    for (int64_t i = 0; i < s->total; i++)
        s->packed[i] = s->memory[s->where[i] - s->lo];
}

/* ---- buffers ------------------------------------------------------------------------------------- */

/* A copy of `n` bytes that ends where the allocation ends, at a random alignment. */
typedef struct source {
    unsigned char *block, *data;
} source;

static source make_source(subject *s, const unsigned char *data, int64_t n)
{
    int64_t skew = pw_rng_range(&s->rng, 0, 15);
    source out = {.block = allocate(n + skew)};

    out.data = out.block + skew;
    memcpy(out.data, data, (size_t)n);
    return out;
}

/* `n` bytes between guards. */
typedef struct sink {
    unsigned char *block, *data;
    int64_t n;
} sink;

static sink make_sink(subject *s, int64_t n)
{
    int64_t skew = pw_rng_range(&s->rng, 0, 15);
    sink out = {.block = allocate(n + 2 * GUARD + 16), .n = n};

    out.data = out.block + GUARD + skew;
    memset(out.block, PATTERN, (size_t)n + 2 * GUARD + 16);
    return out;
}

static bool guards_hold(const sink *k)
{
    const unsigned char *end = k->block + k->n + 2 * GUARD + 16;

    for (const unsigned char *p = k->block; p < end; p++)
        if ((p < k->data || p >= k->data + k->n) && *p != PATTERN)
            return false;
    return true;
}

/* The address of the first object, for memory whose first touched byte is at `data`. */
static void *origin(const subject *s, unsigned char *data)
{
    return (void *)((uintptr_t)data - (uintptr_t)s->lo);
}

/* ---- the checks ---------------------------------------------------------------------------------- */

static void check_pack(subject *s, int64_t first, int64_t last)
{
    source from = make_source(s, s->memory, s->span);
    sink to = make_sink(s, last - first);

    if (first == 0 && last == s->total)
        pw_interp_pack(s->nest, origin(s, from.data), s->count, to.data);
    else
        pw_interp_pack_range(s->nest, origin(s, from.data), s->count, first, last, to.data);
    if (memcmp(to.data, s->packed + first, (size_t)(last - first)) != 0 || !guards_hold(&to))
        complain(s, "pack", first, last);
    free(from.block);
    free(to.block);
}

static void check_unpack(subject *s, int64_t first, int64_t last)
{
    source from = make_source(s, s->packed + first, last - first);
    sink to = make_sink(s, s->span);
    unsigned char *expected = allocate(s->span);

    memset(expected, PATTERN, (size_t)s->span);
    for (int64_t i = first; i < last; i++)
        expected[s->where[i] - s->lo] = s->packed[i];
    if (first == 0 && last == s->total)
        pw_interp_unpack(s->nest, origin(s, to.data), s->count, from.data);
    else
        pw_interp_unpack_range(s->nest, origin(s, to.data), s->count, first, last, from.data);
    if (memcmp(to.data, expected, (size_t)s->span) != 0 || !guards_hold(&to))
        complain(s, "unpack", first, last);
    free(expected);
    free(from.block);
    free(to.block);
}

static void check_nest(subject *s, const pw_nest *nest, const char *stage, int ranges)
{
    pw_diag diag;

    s->nest = nest;
    s->stage = stage;
    if (pw_nest_verify(nest, &diag) != PW_OK) {
        print_error("%s\n", diag.text);
        complain(s, "verification", 0, 0);
    }
    for (int i = 0; i <= ranges; i++) {
        int64_t first = i ? pw_rng_range(&s->rng, 0, s->total) : 0;
        int64_t last = i ? pw_rng_range(&s->rng, first, s->total) : s->total;

        if (i > 1 && pw_rng_one_in(&s->rng, 2)) /* short ones, too */
            last = last - first > 40 ? first + last % 40 : last;
        check_pack(s, first, last);
        if (!s->overlaps)
            check_unpack(s, first, last);
    }
    if (pw_nest_is_contiguous(nest))
        assert_true(s->total == 0 || (s->span == s->total && s->lo == 0));
}

static void check_stage(subject *s, const pw_type *tree, bool passes, const char *stage, int ranges)
{
    pw_nest *nest = NULL;
    pw_pass_options options = {.verify = true};
    pw_diag diag = {0};
    pw_status status = passes ? pw_lower(tree, &nest, &options, &diag) : pw_lower_tree(tree, &nest, &diag);

    if (status != PW_OK) {
        char *text = pw_print(tree, 0);

        print_error("%s: %s: %s\n%s\n", s->label, stage, diag.text, text);
        free(text);
        fail();
    }
    check_nest(s, nest, stage, ranges);
    pw_nest_destroy(nest);
}

void check_type(const pw_type *type, int64_t count, int ranges, uint64_t seed, const char *label)
{
    subject s = {.type = type, .count = count, .rng = {.state = seed}, .label = label};
    pw_arena *arena = pw_arena_create();
    pw_type canonical;
    pw_diag diag = {0};

    assert_non_null(arena);
    prepare(&s);
    check_stage(&s, type, false, "as lowered", ranges);
    check_stage(&s, type, true, "after the nest passes", ranges);
    if (pw_canonicalise(type, arena, &canonical, NULL, &diag) != PW_OK) {
        print_error("%s: %s\n", label, diag.text);
        fail();
    }
    check_stage(&s, &canonical, true, "canonical", ranges);
    pw_arena_destroy(arena);
    free(s.where);
    free(s.memory);
    free(s.packed);
}
