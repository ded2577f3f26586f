/*
 * Lists of several units: structs of index lists with neighbours that happen to touch. However such a layout was
 * written down, it has one canonical form, which keeps the lists apart where that pays.
 */
#include "passes/internal.h"
#include "tests/passes/forms.h"
#include "tests/support/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { SEEDS = 300, MAX_ARRAYS = 6, MAX_ENTRIES = 1200, MAX_BLOCKS = MAX_ARRAYS * MAX_ENTRIES };

/* Arrays of structs-of-arrays, all indexed by one ascending random list. */
typedef struct soa {
    int arrays, n, length;
    int64_t unit[MAX_ARRAYS], start[MAX_ARRAYS], extent;
    int64_t list[MAX_ENTRIES];
} soa;

static void choose_list(pw_rng *rng, soa *s)
{
    int chosen = 0;

    for (int i = 0; chosen < s->n; i++)
        if (pw_rng_range(rng, 1, s->length - i) <= s->n - chosen)
            s->list[chosen++] = i;
}

static void random_soa(pw_rng *rng, soa *s)
{
    static const int64_t units[] = {1, 2, 4, 8, 12, 16, 24, 32, 40, 56};
    bool touching = pw_rng_one_in(rng, 3); /* the last element of an array and the first of the next */
    int64_t at = 0;

    s->arrays = (int)pw_rng_range(rng, 1, MAX_ARRAYS);
    s->n = (int)pw_rng_range(rng, 4, MAX_ENTRIES);
    s->length = s->n + (int)pw_rng_range(rng, 0, pw_rng_one_in(rng, 2) ? s->n / 2 : 8 * s->n);
    choose_list(rng, s);
    for (int k = 0; k < s->arrays; k++) {
        s->unit[k] = units[pw_rng_range(rng, 0, 9)];
        s->start[k] = at;
        at += s->unit[k] * s->length + (touching ? 0 : 64);
    }
    s->extent = at;
}

/* As a program builds it: a struct of index lists. */
static const pw_node *as_struct(pw_builder *b, const soa *s)
{
    const pw_node *part[MAX_ARRAYS];
    int64_t offs[MAX_ENTRIES];

    for (int k = 0; k < s->arrays; k++) {
        for (int i = 0; i < s->n; i++)
            offs[i] = s->list[i] * s->unit[k];
        part[k] = pw_build_index(b, s->n, offs, pw_build_bytes(b, s->unit[k], 1));
    }
    return pw_build_seq(b, s->arrays, s->start, part);
}

/* Merged blocks, cut again at random places, grouped into lists of random lengths. */
static const pw_node *as_pieces(pw_builder *b, pw_rng *rng, const forms_blocks *l)
{
    static int64_t offs[2 * MAX_BLOCKS], lens[2 * MAX_BLOCKS], zeros[2 * MAX_BLOCKS];
    static const pw_node *lists[2 * MAX_BLOCKS];
    int64_t n = 0, nlists = 0;

    for (int64_t i = 0; i < l->n; i++) {
        int64_t cut = pw_rng_one_in(rng, 3) ? pw_rng_range(rng, 0, l->lens[i] - 1) : 0;

        for (int half = 0; half < 2; half++) {
            int64_t len = half ? l->lens[i] - cut : cut;

            offs[n] = l->offs[i] + (half ? cut : 0);
            lens[n] = len;
            n += len > 0;
        }
    }
    for (int64_t i = 0, k; i < n; i += k) {
        k = pw_rng_range(rng, 1, n - i < 500 ? n - i : 500);
        lists[nlists++] = pw_build_blocks(b, k, offs + i, lens + i);
    }
    return pw_build_seq(b, nlists, zeros, lists);
}

static void check_same(uint64_t seed, const char *what, const pw_type *expected, const pw_node *root, pw_arena *arena)
{
    pw_type other = {.root = root, .extent = expected->extent}, got = forms_canonical(seed, &other, arena);

    if (!pw_type_equal(expected, &got) || !pw_hash_equal(pw_type_hash(expected), pw_type_hash(&got)))
        forms_fail(seed, what, expected, &got);
}

static void check_forms(uint64_t seed, pw_rng *rng, pw_builder *b, const pw_type *in)
{
    pw_type out = forms_canonical(seed, in, b->arena);
    forms_blocks before = forms_blocks_of(in->root), after = forms_blocks_of(out.root);

    if (!forms_blocks_equal(&before, &after))
        forms_fail(seed, "canonicalisation changed the meaning", in, &out);
    check_same(seed, "the canonical form is no fixed point", &out, out.root, b->arena);
    check_same(seed, "a flat list of the same layout has another form", &out,
               pw_build_blocks(b, before.n, before.offs, before.lens), b->arena);
    check_same(seed, "the same layout cut and grouped has another form", &out, as_pieces(b, rng, &before), b->arena);
    assert_int_equal(b->status, PW_OK);
    forms_blocks_free(&before);
    forms_blocks_free(&after);
}

static void test_random_structs_of_lists(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        pw_arena *arena = pw_arena_create();
        pw_builder b = {.arena = arena};
        pw_rng rng = {.state = seed};
        pw_type in;
        soa s;

        random_soa(&rng, &s);
        in = (pw_type){.root = as_struct(&b, &s), .extent = s.extent};
        assert_int_equal(b.status, PW_OK);
        check_forms(seed, &rng, &b, &in);
        pw_arena_destroy(arena);
    }
}

/* Lengths that change their unit at random, rarely or often. */
static int64_t random_lengths(pw_rng *rng, int64_t *lens)
{
    int64_t n = pw_rng_range(rng, 1, MAX_BLOCKS), unit = 8, parts = pw_rng_range(rng, 1, 12);

    for (int64_t i = 0; i < n; i++) {
        if (pw_rng_one_in(rng, 1 + n / parts))
            unit = pw_rng_one_in(rng, 3) ? pw_rng_range(rng, 1, 60) : 4 * pw_rng_range(rng, 1, 8);
        lens[i] = unit * pw_rng_range(rng, 1, pw_rng_one_in(rng, 8) ? 8 : 2);
    }
    return n;
}

static void test_parts_are_not_cut_again(void **state)
{
    static int64_t lens[MAX_BLOCKS];
    int cut = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= 2000; seed++) {
        pw_arena *arena = pw_arena_create();
        pw_builder b = {.arena = arena};
        pw_rng rng = {.state = seed};
        int64_t n = random_lengths(&rng, lens), starts[PW_MAX_PARTS], again[PW_MAX_PARTS];
        int parts = pw_segment_blocks(&b, n, lens, starts);

        assert_int_equal(starts[0], 0);
        cut += parts > 1;
        for (int i = 0; i < parts && parts > 1; i++) {
            int64_t end = i + 1 < parts ? starts[i + 1] : n;

            if (end <= starts[i])
                fail_msg("seed %llu: part %d of %d is empty", (unsigned long long)seed, i, parts);
            if (pw_segment_blocks(&b, end - starts[i], lens + starts[i], again) != 1)
                fail_msg("seed %llu: part %d of %d is cut again", (unsigned long long)seed, i, parts);
        }
        assert_int_equal(b.status, PW_OK);
        pw_arena_destroy(arena);
    }
    assert_true(cut > 500);
}

/* Four arrays of particles, an eighth of which is chosen; the canonical form, in `arena`. */
static pw_type particles(pw_arena *arena, int n, int length)
{
    pw_builder b = {.arena = arena};
    pw_rng rng = {.state = 7};
    soa s = {.arrays = 4, .n = n, .length = length, .unit = {24, 8, 12, 4}};
    pw_type in;

    choose_list(&rng, &s);
    for (int k = 0; k < s.arrays; k++) {
        s.start[k] = s.extent;
        s.extent += s.unit[k] * s.length + 64;
    }
    in = (pw_type){.root = as_struct(&b, &s), .extent = s.extent};
    return forms_canonical(0, &in, arena);
}

/* A few neighbours touch: one list an array all the same, of equal blocks once it is lowered. */
static void test_sparse_lists_stay_apart(void **state)
{
    static const int64_t units[] = {24, 8, 12, 4};
    pw_arena *arena = pw_arena_create();
    pw_type type = particles(arena, 1000, 8000);
    const pw_node *root = pw_is_shift(type.root) ? type.root->seq.children[0] : type.root;
    pw_nest *nest;
    pw_diag diag;

    (void)state;
    assert_int_equal(root->kind, PW_SEQ);
    assert_int_equal(root->seq.n, 4);
    assert_int_equal(pw_lower(&type, &nest, NULL, &diag), PW_OK);
    assert_int_equal(nest->nregions, 4);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(nest->regions[i].npieces, 1);
        assert_int_equal(nest->regions[i].pieces[0].bytes, units[i]);
        assert_non_null(nest->regions[i].dims[0].table);
    }
    pw_nest_destroy(nest);
    pw_arena_destroy(arena);
}

/* Where nearly all neighbours touch, blocks are long and worth copying whole, and one list serves them all. */
static void test_dense_lists_stay_whole(void **state)
{
    pw_arena *arena = pw_arena_create();
    pw_type type = particles(arena, 1000, 1100);
    const pw_node *root = pw_is_shift(type.root) ? type.root->seq.children[0] : type.root;

    (void)state;
    assert_int_equal(root->kind, PW_BLOCKS);
    pw_arena_destroy(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_structs_of_lists),
        cmocka_unit_test(test_parts_are_not_cut_again),
        cmocka_unit_test(test_sparse_lists_stay_apart),
        cmocka_unit_test(test_dense_lists_stay_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
