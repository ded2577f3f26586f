/* The generator other tests rely on: deterministic, within its bounds, and it reaches everything. */
#include "tests/support/random_ir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { SEEDS = 4000 };

static void same_seed_same_type(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 200; seed++) {
        pw_arena *arena = pw_arena_create();
        pw_builder b = {.arena = arena};
        pw_type one = pw_random_type(&b, seed, NULL), two = pw_random_type(&b, seed, NULL);

        if (!pw_type_equal(&one, &two) || one.lb != two.lb)
            fail_msg("seed %llu gives two types", (unsigned long long)seed);
        pw_arena_destroy(arena);
    }
}

static void check_bounds(uint64_t seed, const pw_random_options *o)
{
    pw_arena *arena = pw_arena_create();
    pw_builder b = {.arena = arena};
    pw_type type = pw_random_type(&b, seed, o);
    pw_diag diag;

    if (b.status != PW_OK)
        fail_msg("seed %llu, style %d: %s", (unsigned long long)seed, (int)o->style, pw_status_text(b.status));
    if (pw_verify(&type, &diag) != PW_OK)
        fail_msg("seed %llu, style %d, size %lld: %s\n%s", (unsigned long long)seed, (int)o->style,
                 (long long)o->max_size, diag.text, pw_print(&type, 0));
    if (type.root->size > o->max_size || type.root->lo < -o->max_span || type.root->hi > o->max_span ||
        type.root->depth > o->max_depth + 1)
        fail_msg("seed %llu, style %d, size %lld: out of bounds\n%s", (unsigned long long)seed, (int)o->style,
                 (long long)o->max_size, pw_print(&type, 0));
    pw_arena_destroy(arena);
}

static void types_stay_in_bounds(void **state)
{
    static const int64_t sizes[] = {16, 24, 500, 100000};

    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        int64_t size = sizes[seed % 4];

        check_bounds(seed, &(pw_random_options){PW_RANDOM_TREE, size, 8 * size + 64, 6});
        check_bounds(seed, &(pw_random_options){PW_RANDOM_STRUCTURED, size, 8 * size + 64, 6});
    }
}

typedef struct census {
    int kinds[5], empty, negative_stride, negative_offset, zero_count, zero_length, aligned, deep, shared;
    int overlapping, apart, extent_zero, extent_negative, extent_short;
} census;

static void count_node(census *c, const pw_node *node)
{
    c->kinds[node->kind]++;
    c->empty += node->size == 0;
    c->deep += node->depth >= 6;
    switch (node->kind) {
    case PW_BYTES: c->aligned += node->bytes.align > 1; break;
    case PW_STREAM:
        c->negative_stride += node->stream.stride < 0;
        c->zero_count += node->stream.count == 0;
        count_node(c, node->stream.child);
        break;
    case PW_INDEX:
        for (int64_t i = 0; i < node->index.n; i++)
            c->negative_offset += node->index.offs[i] < 0;
        c->zero_count += node->index.n == 0;
        count_node(c, node->index.child);
        break;
    case PW_BLOCKS:
        for (int64_t i = 0; i < node->blocks_list.n; i++)
            c->zero_length += node->blocks_list.lens[i] == 0;
        break;
    case PW_SEQ:
        for (int64_t i = 0; i < node->seq.n; i++) {
            c->shared += i > 0 && node->seq.children[i] == node->seq.children[i - 1];
            count_node(c, node->seq.children[i]);
        }
        break;
    }
}

static void everything_occurs(void **state)
{
    census c = {0};

    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        pw_arena *arena = pw_arena_create();
        pw_builder b = {.arena = arena};
        pw_type type = pw_random_type(&b, seed, NULL);
        bool overlaps = pw_random_overlaps(&type, 2);

        count_node(&c, type.root);
        c.overlapping += overlaps;
        c.apart += !overlaps && type.root->size > 0;
        c.extent_zero += type.extent == 0;
        c.extent_negative += type.extent < 0;
        c.extent_short += type.extent > 0 && type.extent < type.root->hi - type.root->lo;
        pw_arena_destroy(arena);
    }
    /* Enough of each that a test over some thousand seeds sees it in many combinations. */
    for (int kind = 0; kind < 5; kind++)
        assert_true(c.kinds[kind] > 500);
    assert_true(c.empty > 100 && c.zero_count > 100 && c.zero_length > 100);
    assert_true(c.negative_stride > 100 && c.negative_offset > 100);
    assert_true(c.aligned > 100 && c.deep > 100 && c.shared > 100);
    assert_true(c.overlapping > 500 && c.apart > 500);
    assert_true(c.extent_zero > 50 && c.extent_negative > 50 && c.extent_short > 100);
}

static void overlaps_are_found(void **state)
{
    pw_arena *arena = pw_arena_create();
    pw_builder b = {.arena = arena};
    const pw_node *leaf = pw_build_bytes(&b, 8, 1);
    pw_type apart = {.root = pw_build_stream(&b, 4, 16, leaf), .extent = 64};
    pw_type interleaved = {.root = apart.root, .extent = 8}, touching = {.root = leaf, .extent = 7};
    int64_t lo, hi;

    (void)state;
    assert_false(pw_random_overlaps(&apart, 3));
    assert_false(pw_random_overlaps(&interleaved, 2));
    assert_true(pw_random_overlaps(&interleaved, 3));
    assert_false(pw_random_overlaps(&touching, 1));
    assert_true(pw_random_overlaps(&touching, 2));
    touching.extent = -7;
    assert_true(pw_random_overlaps(&touching, 2));
    pw_random_bounds(&touching, 3, &lo, &hi);
    assert_int_equal(lo, -14);
    assert_int_equal(hi, 8);
    pw_arena_destroy(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_seed_same_type),
        cmocka_unit_test(types_stay_in_bounds),
        cmocka_unit_test(everything_occurs),
        cmocka_unit_test(overlaps_are_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
