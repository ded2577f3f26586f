/*
 * Canonicalisation over random types: the meaning stays, equal layouts become equal trees, and the result
 * is a fixed point. Every failure prints the seed and the type.
 */
#include "passes/internal.h"
#include "tests/passes/forms.h"
#include "tests/support/random_ir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

/* The bound below which docs/ir.md promises one form for one layout, whatever it was built from. */
enum { TYPES = 8000, ALWAYS_EXPANDED = 1024 };

/* The same layout as somebody would write it who knows only lists. */
static pw_type as_flat_list(pw_builder *b, const pw_type *in, const forms_blocks *l)
{
    return (pw_type){.root = pw_build_blocks(b, l->n, l->offs, l->lens), .lb = in->lb, .extent = in->extent};
}

static void check_type(uint64_t seed, const pw_random_options *how)
{
    pw_arena *arena = pw_arena_create();
    pw_builder b = {.arena = arena};
    pw_type in = pw_random_type(&b, seed, how), out, again, flat;
    forms_blocks before, after;

    assert_int_equal(b.status, PW_OK);
    out = forms_canonical(seed, &in, arena);
    before = forms_blocks_of(in.root);
    after = forms_blocks_of(out.root);
    if (!forms_blocks_equal(&before, &after))
        forms_fail(seed, "canonicalisation changed the meaning", &in, &out);
    again = forms_canonical(seed, &out, arena);
    if (!pw_type_equal(&out, &again))
        forms_fail(seed, "the canonical form is no fixed point", &out, &again);
    if (in.root->blocks <= ALWAYS_EXPANDED) {
        flat = as_flat_list(&b, &in, &before);
        flat = forms_canonical(seed, &flat, arena);
        if (!pw_type_equal(&out, &flat) || !pw_hash_equal(pw_type_hash(&out), pw_type_hash(&flat)))
            forms_fail(seed, "a flat list of the same layout has another form", &out, &flat);
    }
    forms_blocks_free(&before);
    forms_blocks_free(&after);
    pw_arena_destroy(arena);
}

static void test_random_trees(void **state)
{
    pw_random_options how = {.style = PW_RANDOM_TREE};

    (void)state;
    for (uint64_t seed = 1; seed <= TYPES; seed++)
        check_type(seed, &how);
}

static void test_random_structured(void **state)
{
    pw_random_options how = {.style = PW_RANDOM_STRUCTURED, .max_size = 32768};

    (void)state;
    for (uint64_t seed = 1; seed <= TYPES; seed++)
        check_type(seed, &how);
}

/* A vector costs O(depth), however many blocks it has. */
static void test_streams_stay_small(void **state)
{
    pw_arena *arena = pw_arena_create(), *result = pw_arena_create();
    pw_builder b = {.arena = arena};
    const pw_node *rows = pw_build_stream(&b, 1000000, 16, pw_build_bytes(&b, 8, 1));
    pw_type in = {.root = pw_build_stream(&b, 1000000, 32000000, rows), .extent = 8}, out;
    pw_diag diag;

    (void)state;
    assert_int_equal(pw_canonicalise(&in, result, &out, NULL, &diag), PW_OK);
    assert_true(pw_arena_used(result) < 8192);
    assert_int_equal(out.root->size, 8000000000000);
    pw_arena_destroy(arena);
    pw_arena_destroy(result);
}

/* Passes make one list after another, and only the last is left: here displaced blocks of which two touch. */
static void test_replaced_lists_go(void **state)
{
    enum { N = 1 << 20 };
    pw_arena *arena = pw_arena_create(), *result = pw_arena_create();
    pw_builder b = {.arena = arena};
    int64_t *offs = pw_arena_array(arena, N, sizeof *offs);
    pw_type in = {.extent = 8}, out;
    pw_diag diag;

    (void)state;
    for (int64_t i = 0; i < N; i++)
        offs[i] = 64 + (i == N / 2 ? offs[i - 1] + 4 - 64 : 32 * i + 8 * (i * i % 3));
    in.root = pw_adopt_index(&b, N, offs, pw_build_bytes(&b, 4, 1));
    assert_int_equal(pw_canonicalise(&in, result, &out, NULL, &diag), PW_OK);
    assert_int_equal(out.root->size, 4 * N);
    assert_int_equal(pw_verify(&out, &diag), PW_OK);
    if (pw_arena_used(result) > 2 * N * sizeof *offs + (1 << 20))
        fail_msg("%zu bytes for a list of %d", pw_arena_used(result), N);
    pw_arena_destroy(result);
    pw_arena_destroy(arena);
}

/* A hidden 2-D progression of 65536 entries becomes two streams. */
static void test_long_list_becomes_streams(void **state)
{
    enum { N = 256 };
    pw_arena *arena = pw_arena_create();
    pw_builder b = {.arena = arena};
    int64_t *offs = malloc(N * N * sizeof *offs);
    pw_type in = {.extent = 16 * 512 * 512}, out;

    (void)state;
    assert_non_null(offs);
    for (int64_t i = 0; i < N; i++)
        for (int64_t j = 0; j < N; j++)
            offs[i * N + j] = 2 * i * 512 * 8 + 16 * j;
    in.root = pw_build_index(&b, N * N, offs, pw_build_bytes(&b, 8, 1));
    out = forms_canonical(0, &in, arena);
    assert_int_equal(out.root->kind, PW_STREAM);
    assert_int_equal(out.root->stream.count, N);
    assert_int_equal(out.root->stream.child->kind, PW_STREAM);
    assert_int_equal(out.root->stream.child->stream.count, N);
    free(offs);
    pw_arena_destroy(arena);
}

/* Members shared across levels: 2^60 paths over 60 distinct nodes. */
static void test_shared_nodes_stay_linear(void **state)
{
    pw_arena *arena = pw_arena_create();
    pw_builder b = {.arena = arena};
    const pw_node *shared = pw_build_stream(&b, 3, 8, pw_build_bytes(&b, 1, 1)), *one = pw_build_bytes(&b, 1, 1);
    const pw_node *leaf = pw_build_bytes(&b, 5, 1);
    pw_type in = {.extent = 64};

    (void)state;
    for (int i = 0; i < 40; i++) {
        const pw_node *members[] = {shared, i % 2 ? one : leaf, shared};
        const int64_t offs[] = {0, (int64_t)1 << (i + 8), (int64_t)3 << (i + 9)};

        shared = pw_build_seq(&b, 3, offs, members);
    }
    assert_int_equal(b.status, PW_OK);
    in.root = shared;
    assert_int_equal(forms_canonical(0, &in, arena).root->size, shared->size);
    pw_arena_destroy(arena);
}

/* Offsets and extents that are no addresses are refused, before a pass could overflow on their differences. */
static void test_absurd_offsets_are_refused(void **state)
{
    pw_arena *arena = pw_arena_create();
    pw_builder b = {.arena = arena};
    const int64_t offs[] = {INT64_MIN / 2 - 8, INT64_MAX / 2 + 8, 0};
    pw_type in = {.root = pw_build_index(&b, 3, offs, pw_build_bytes(&b, 8, 1)), .extent = 8}, out;
    pw_diag diag;

    (void)state;
    assert_int_equal(b.status, PW_OK);
    assert_int_equal(pw_canonicalise(&in, arena, &out, NULL, &diag), PW_ERR_UNSUPPORTED);
    assert_string_equal(diag.text, "offsets beyond 2^61 bytes");
    in = (pw_type){.root = pw_build_bytes(&b, 8, 1), .extent = INT64_MIN};
    assert_int_equal(pw_canonicalise(&in, arena, &out, NULL, &diag), PW_ERR_UNSUPPORTED);
    assert_string_equal(diag.text, "an extent beyond 2^61 bytes");
    pw_arena_destroy(arena);
}

/* A type that spans more than its canonical form may is refused, though both ends are within the bounds. */
static void test_spans_are_bounded_like_offsets(void **state)
{
    pw_arena *arena = pw_arena_create();
    pw_builder b = {.arena = arena};
    const int64_t half = (int64_t)1 << 60, fits[] = {-half, half - 8}, beyond[] = {-half, half};
    const pw_node *leaf = pw_build_bytes(&b, 8, 1);
    pw_type in = {.root = pw_build_index(&b, 2, fits, leaf), .extent = 8}, out, again;
    pw_diag diag;

    (void)state;
    assert_int_equal(pw_canonicalise(&in, arena, &out, NULL, &diag), PW_OK);
    assert_int_equal(pw_canonicalise(&out, arena, &again, NULL, &diag), PW_OK);
    assert_true(pw_type_equal(&out, &again));
    in.root = pw_build_index(&b, 2, beyond, leaf);
    assert_int_equal(pw_canonicalise(&in, arena, &out, NULL, &diag), PW_ERR_UNSUPPORTED);
    assert_string_equal(diag.text, "offsets beyond 2^61 bytes");
    pw_arena_destroy(arena);
}

/* An irregular list in which some neighbours happen to touch stays one list: regions cost more than entries. */
static void test_irregular_list_stays_one_list(void **state)
{
    enum { N = 3000 };
    pw_arena *arena = pw_arena_create();
    pw_builder b = {.arena = arena};
    pw_rng rng = {.state = 42};
    int64_t offs[N], at = 0;
    pw_type in = {0}, out;

    (void)state;
    for (int i = 0; i < N; i++) {
        at += pw_rng_one_in(&rng, 30) ? 4 : 4 * pw_rng_range(&rng, 2, 50);
        offs[i] = at;
    }
    in.root = pw_build_index(&b, N, offs, pw_build_bytes(&b, 4, 1));
    in.extent = at + 4;
    out = forms_canonical(0, &in, arena);
    assert_int_equal(out.root->kind, PW_SEQ);
    assert_int_equal(out.root->seq.n, 1);
    assert_int_equal(out.root->seq.children[0]->kind, PW_BLOCKS);
    pw_arena_destroy(arena);
}

/* The extent is part of a type: it places the objects of a count. */
static void test_extent_distinguishes(void **state)
{
    pw_arena *arena = pw_arena_create();
    pw_builder b = {.arena = arena};
    pw_type one = {.root = pw_build_bytes(&b, 8, 1), .extent = 8}, two = {.root = one.root, .extent = 16};
    pw_type moved = {.root = one.root, .lb = -4, .extent = 8};

    (void)state;
    one = forms_canonical(0, &one, arena);
    two = forms_canonical(0, &two, arena);
    moved = forms_canonical(0, &moved, arena);
    assert_false(pw_type_equal(&one, &two));
    assert_true(pw_type_equal(&one, &moved));
    pw_arena_destroy(arena);
}

static void test_table_is_complete(void **state)
{
    int n;
    const pw_pass *table = pw_pass_table(&n);

    (void)state;
    for (int i = 0; i < n; i++) {
        assert_true(table[i].name && table[i].contract);
        assert_true(!table[i].on_tree != !table[i].on_nest);
        assert_ptr_equal(pw_pass_find(table[i].name), &table[i]);
    }
    assert_null(pw_pass_find("no-such-pass"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_trees),
        cmocka_unit_test(test_random_structured),
        cmocka_unit_test(test_streams_stay_small),
        cmocka_unit_test(test_replaced_lists_go),
        cmocka_unit_test(test_long_list_becomes_streams),
        cmocka_unit_test(test_shared_nodes_stay_linear),
        cmocka_unit_test(test_absurd_offsets_are_refused),
        cmocka_unit_test(test_spans_are_bounded_like_offsets),
        cmocka_unit_test(test_irregular_list_stays_one_list),
        cmocka_unit_test(test_extent_distinguishes),
        cmocka_unit_test(test_table_is_complete),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
