/* The reference semantics: packed order of every node kind, and agreement with the facts the builder computed. */
#include "ir/ir.h"
#include "tests/support/random_ir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { MOST = 64 };

typedef struct record {
    int n, stop_after;
    int64_t offs[MOST], lens[MOST];
} record;

static bool note(void *arg, int64_t off, int64_t n)
{
    record *r = arg;

    assert_true(r->n < MOST);
    r->offs[r->n] = off;
    r->lens[r->n++] = n;
    return r->n != r->stop_after;
}

static int setup(void **state)
{
    *state = pw_arena_create();
    return *state ? 0 : -1;
}

static int teardown(void **state)
{
    pw_arena_destroy(*state);
    return 0;
}

/* `expected` is offset, length, offset, length, … */
static void expect_walk(const pw_node *node, int64_t origin, int n, const int64_t *expected)
{
    record r = {0};

    assert_non_null(node);
    assert_true(pw_walk(node, origin, note, &r));
    assert_int_equal(r.n, n);
    for (int i = 0; i < n; i++) {
        assert_int_equal(r.offs[i], expected[2 * i]);
        assert_int_equal(r.lens[i], expected[2 * i + 1]);
    }
}

static void order_of_every_kind(void **state)
{
    pw_builder b = {.arena = *state};
    const int64_t offs[] = {24, -8}, lens[] = {0, 3}, seq_offs[] = {100, 0};
    const pw_node *leaf = pw_build_bytes(&b, 4, 1);
    const pw_node *stream = pw_build_stream(&b, 3, -8, leaf), *blocks = pw_build_blocks(&b, 2, offs, lens);

    expect_walk(leaf, 5, 1, (int64_t[]){5, 4});
    expect_walk(stream, 100, 3, (int64_t[]){100, 4, 92, 4, 84, 4});
    expect_walk(pw_build_index(&b, 2, offs, leaf), 0, 2, (int64_t[]){24, 4, -8, 4});
    expect_walk(blocks, 1, 1, (int64_t[]){-7, 3});
    expect_walk(pw_build_seq(&b, 2, seq_offs, (const pw_node *[]){stream, blocks}), 1000, 4,
                (int64_t[]){1100, 4, 1092, 4, 1084, 4, 992, 3});
}

/* ctg(2)[resized(0, 4)[vec(3, 1, 2)[int]]]: the columns of a 3 x 2 matrix, one after the other. */
static void transpose_order(void **state)
{
    pw_builder b = {.arena = *state};
    const pw_node *column = pw_build_stream(&b, 3, 8, pw_build_bytes(&b, 4, 1));

    expect_walk(pw_build_stream(&b, 2, 4, column), 0, 6, (int64_t[]){0, 4, 8, 4, 16, 4, 4, 4, 12, 4, 20, 4});
}

static void stops_early(void **state)
{
    pw_builder b = {.arena = *state};
    const int64_t offs[] = {0, 100}, lens[] = {1, 1};
    const pw_node *leaf = pw_build_bytes(&b, 1, 1);
    const pw_node *nodes[] = {
        pw_build_stream(&b, 2, 8, leaf),
        pw_build_index(&b, 2, offs, leaf),
        pw_build_blocks(&b, 2, offs, lens),
        pw_build_seq(&b, 2, offs, (const pw_node *[]){leaf, leaf}),
    };

    for (int i = 0; i < 4; i++) {
        record r = {.stop_after = 1};

        assert_false(pw_walk(nodes[i], 0, note, &r));
        assert_int_equal(r.n, 1);
    }
}

static void empty_repetition_ends(void **state)
{
    pw_builder b = {.arena = *state};

    expect_walk(pw_build_stream(&b, INT64_MAX, 8, pw_build_bytes(&b, 0, 1)), 0, 0, NULL);
}

/* Origins between the root and a block may lie outside 64 bits, the block itself does not. */
static void origins_wrap(void **state)
{
    pw_builder b = {.arena = *state};
    const pw_node *node = pw_build_shift(&b, -100, pw_build_bytes(&b, 1, 1));

    node = pw_build_shift(&b, INT64_MAX, pw_build_shift(&b, 50, node));
    expect_walk(node, 0, 1, (int64_t[]){INT64_MAX - 50, 1});
}

typedef struct totals {
    int64_t size, lo, hi, blocks;
} totals;

static bool add(void *arg, int64_t off, int64_t n)
{
    totals *t = arg;

    t->lo = t->size == 0 || off < t->lo ? off : t->lo;
    t->hi = t->size == 0 || off + n > t->hi ? off + n : t->hi;
    t->size += n;
    t->blocks++;
    return true;
}

static void facts_agree_with_the_walk(void **state)
{
    for (uint64_t seed = 0; seed < 5000; seed++) {
        pw_arena *arena = pw_arena_create();
        pw_builder b = {.arena = arena};
        pw_type type = pw_random_type(&b, seed, NULL);
        totals t = {0};

        (void)state;
        assert_int_equal(b.status, PW_OK);
        assert_true(pw_walk(type.root, 0, add, &t));
        if (t.size != type.root->size || t.lo != type.root->lo || t.hi != type.root->hi ||
            t.blocks != type.root->blocks)
            fail_msg("seed %llu: the builder's facts are not those of the walk", (unsigned long long)seed);
        pw_arena_destroy(arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(order_of_every_kind, setup, teardown),
        cmocka_unit_test_setup_teardown(transpose_order, setup, teardown),
        cmocka_unit_test_setup_teardown(stops_early, setup, teardown),
        cmocka_unit_test_setup_teardown(empty_repetition_ends, setup, teardown),
        cmocka_unit_test_setup_teardown(origins_wrap, setup, teardown),
        cmocka_unit_test_setup_teardown(facts_agree_with_the_walk, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
