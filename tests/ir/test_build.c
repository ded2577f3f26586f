/* The builder: facts of every node kind, limits, and the sticky error. */
#include "ir/ir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

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

static void check_facts(const pw_node *node, int64_t size, int64_t lo, int64_t hi, int64_t blocks, int depth)
{
    assert_non_null(node);
    assert_int_equal(node->size, size);
    assert_int_equal(node->lo, lo);
    assert_int_equal(node->hi, hi);
    assert_int_equal(node->blocks, blocks);
    assert_int_equal(node->depth, depth);
}

static void bytes_facts(void **state)
{
    pw_builder b = {.arena = *state};

    check_facts(pw_build_bytes(&b, 24, 8), 24, 0, 24, 1, 1);
    check_facts(pw_build_bytes(&b, 0, 1), 0, 0, 0, 0, 1);
    check_facts(pw_build_bytes(&b, INT64_MAX, 16), INT64_MAX, 0, INT64_MAX, 1, 1);
}

static void stream_facts(void **state)
{
    pw_builder b = {.arena = *state};
    const pw_node *leaf = pw_build_bytes(&b, 8, 1);

    check_facts(pw_build_stream(&b, 4, 16, leaf), 32, 0, 56, 4, 2);
    check_facts(pw_build_stream(&b, 4, -16, leaf), 32, -48, 8, 4, 2);
    check_facts(pw_build_stream(&b, 4, 0, leaf), 32, 0, 8, 4, 2);
    check_facts(pw_build_stream(&b, 1, INT64_MAX, leaf), 8, 0, 8, 1, 2);
    check_facts(pw_build_stream(&b, 0, 16, leaf), 0, 0, 0, 0, 2);
    check_facts(pw_build_stream(&b, 3, 100, pw_build_stream(&b, 2, -16, leaf)), 48, -16, 208, 6, 3);
}

static void index_facts(void **state)
{
    pw_builder b = {.arena = *state};
    const int64_t offs[] = {40, -8, 0};
    const pw_node *leaf = pw_build_bytes(&b, 4, 1), *node = pw_build_index(&b, 3, offs, leaf);

    check_facts(node, 12, -8, 44, 3, 2);
    assert_ptr_not_equal(node->index.offs, offs);
    check_facts(pw_build_index(&b, 0, NULL, leaf), 0, 0, 0, 0, 2);
    /* A list away from the origin does not touch the origin. */
    check_facts(pw_build_index(&b, 1, offs, leaf), 4, 40, 44, 1, 2);
}

static void blocks_facts(void **state)
{
    pw_builder b = {.arena = *state};
    const int64_t offs[] = {-100, 16, 1000, 3}, lens[] = {0, 8, 0, 5};

    /* Empty blocks neither bound nor count. */
    check_facts(pw_build_blocks(&b, 4, offs, lens), 13, 3, 24, 2, 1);
    check_facts(pw_build_blocks(&b, 1, offs, lens), 0, 0, 0, 0, 1);
    check_facts(pw_build_blocks(&b, 0, NULL, NULL), 0, 0, 0, 0, 1);
}

static void seq_facts(void **state)
{
    pw_builder b = {.arena = *state};
    const pw_node *leaf = pw_build_bytes(&b, 8, 8), *empty = pw_build_bytes(&b, 0, 1);
    const pw_node *row = pw_build_stream(&b, 2, 32, leaf);
    const int64_t offs[] = {8, -5000, 64};

    check_facts(pw_build_seq(&b, 3, offs, (const pw_node *[]){leaf, empty, row}), 24, 8, 104, 3, 3);
    check_facts(pw_build_seq(&b, 0, NULL, NULL), 0, 0, 0, 0, 1);
    check_facts(pw_build_seq(&b, 1, offs, (const pw_node *[]){empty}), 0, 0, 0, 0, 2);
}

static void shift_is_a_seq_of_one(void **state)
{
    pw_builder b = {.arena = *state};
    const pw_node *leaf = pw_build_bytes(&b, 8, 1), *moved = pw_build_shift(&b, -24, leaf);

    assert_ptr_equal(pw_build_shift(&b, 0, leaf), leaf);
    assert_int_equal(moved->kind, PW_SEQ);
    check_facts(moved, 8, -24, -16, 1, 2);
}

/* ---- limits ------------------------------------------------------------------------------------- */

static void expect_status(pw_builder *b, const pw_node *node, pw_status status)
{
    assert_null(node);
    assert_int_equal(b->status, status);
    b->status = PW_OK;
}

static void negative_and_missing_arguments(void **state)
{
    pw_builder b = {.arena = *state};
    const pw_node *leaf = pw_build_bytes(&b, 8, 1);
    const int64_t offs[] = {0}, negative[] = {-1};

    expect_status(&b, pw_build_bytes(&b, -1, 1), PW_ERR_INVALID);
    expect_status(&b, pw_build_bytes(&b, 8, 0), PW_ERR_INVALID);
    expect_status(&b, pw_build_bytes(&b, 8, 3), PW_ERR_INVALID);
    expect_status(&b, pw_build_bytes(&b, 8, 32), PW_ERR_INVALID);
    expect_status(&b, pw_build_bytes(&b, 8, -8), PW_ERR_INVALID);
    expect_status(&b, pw_build_bytes(&b, 8, INT64_MIN), PW_ERR_INVALID);
    expect_status(&b, pw_build_stream(&b, -1, 8, leaf), PW_ERR_INVALID);
    expect_status(&b, pw_build_stream(&b, 1, 8, NULL), PW_ERR_INVALID);
    expect_status(&b, pw_build_index(&b, -1, offs, leaf), PW_ERR_INVALID);
    expect_status(&b, pw_build_index(&b, 1, offs, NULL), PW_ERR_INVALID);
    expect_status(&b, pw_build_index(&b, 1, NULL, leaf), PW_ERR_INVALID);
    expect_status(&b, pw_build_blocks(&b, -1, offs, offs), PW_ERR_INVALID);
    expect_status(&b, pw_build_blocks(&b, 1, offs, negative), PW_ERR_INVALID);
    expect_status(&b, pw_build_blocks(&b, 1, offs, NULL), PW_ERR_INVALID);
    expect_status(&b, pw_build_seq(&b, -1, offs, &leaf), PW_ERR_INVALID);
    expect_status(&b, pw_build_seq(&b, 1, offs, (const pw_node *[]){NULL}), PW_ERR_INVALID);
    expect_status(&b, pw_build_shift(&b, 8, NULL), PW_ERR_INVALID);
}

static void stream_overflows(void **state)
{
    pw_builder b = {.arena = *state};
    const pw_node *leaf = pw_build_bytes(&b, 8, 1), *half = pw_build_bytes(&b, INT64_MAX / 2, 1);

    /* (count - 1) * stride, in both directions */
    expect_status(&b, pw_build_stream(&b, 3, INT64_MAX, leaf), PW_ERR_OVERFLOW);
    expect_status(&b, pw_build_stream(&b, 3, INT64_MIN, leaf), PW_ERR_OVERFLOW);
    /* ... + hi */
    expect_status(&b, pw_build_stream(&b, 2, INT64_MAX, leaf), PW_ERR_OVERFLOW);
    /* ... + lo */
    expect_status(&b, pw_build_stream(&b, 2, INT64_MIN, pw_build_shift(&b, -8, leaf)), PW_ERR_OVERFLOW);
    /* count * size, the bounds being small */
    expect_status(&b, pw_build_stream(&b, INT64_MAX, 0, leaf), PW_ERR_OVERFLOW);
    expect_status(&b, pw_build_stream(&b, 3, 0, half), PW_ERR_OVERFLOW);
    assert_non_null(pw_build_stream(&b, 2, 0, half));
    assert_non_null(pw_build_stream(&b, 2, INT64_MAX - 8, leaf));
    assert_non_null(pw_build_stream(&b, 2, INT64_MIN, leaf));
}

static void list_overflows(void **state)
{
    pw_builder b = {.arena = *state};
    const int64_t top[] = {INT64_MAX - 7}, bottom[] = {INT64_MIN}, zeros[3] = {0}, eight[] = {8};
    const int64_t thirds[] = {INT64_MAX / 2, INT64_MAX / 2, 2};
    const pw_node *leaf = pw_build_bytes(&b, 8, 1), *below = pw_build_shift(&b, -1, leaf);
    const pw_node *half = pw_build_bytes(&b, INT64_MAX / 2, 1);

    expect_status(&b, pw_build_index(&b, 1, top, leaf), PW_ERR_OVERFLOW);
    expect_status(&b, pw_build_index(&b, 1, bottom, below), PW_ERR_OVERFLOW);
    expect_status(&b, pw_build_index(&b, 3, zeros, half), PW_ERR_OVERFLOW);
    expect_status(&b, pw_build_blocks(&b, 1, top, eight), PW_ERR_OVERFLOW);
    expect_status(&b, pw_build_blocks(&b, 3, zeros, thirds), PW_ERR_OVERFLOW);
    expect_status(&b, pw_build_seq(&b, 1, top, &leaf), PW_ERR_OVERFLOW);
    expect_status(&b, pw_build_seq(&b, 1, bottom, &below), PW_ERR_OVERFLOW);
    expect_status(&b, pw_build_seq(&b, 3, zeros, (const pw_node *[]){half, half, leaf}), PW_ERR_OVERFLOW);
    assert_non_null(pw_build_index(&b, 1, bottom, leaf));
}

/* What moves nothing has no bounds, so no offset is too far for it. */
static void empty_nodes_do_not_overflow(void **state)
{
    pw_builder b = {.arena = *state};
    const int64_t top[] = {INT64_MAX}, zero[] = {0};
    const pw_node *empty = pw_build_bytes(&b, 0, 1);

    check_facts(pw_build_stream(&b, INT64_MAX, INT64_MAX, empty), 0, 0, 0, 0, 2);
    check_facts(pw_build_stream(&b, 0, INT64_MAX, pw_build_bytes(&b, 8, 1)), 0, 0, 0, 0, 2);
    check_facts(pw_build_index(&b, 1, top, empty), 0, 0, 0, 0, 2);
    check_facts(pw_build_blocks(&b, 1, top, zero), 0, 0, 0, 0, 1);
    check_facts(pw_build_shift(&b, INT64_MAX, empty), 0, 0, 0, 0, 2);
}

static void many_blocks(void **state)
{
    pw_builder b = {.arena = *state};
    const int64_t n = INT64_C(1) << 62, zeros[2] = {0};
    const pw_node *many = pw_build_stream(&b, n, 0, pw_build_bytes(&b, 1, 1));

    check_facts(many, n, 0, 1, n, 2);
    expect_status(&b, pw_build_index(&b, 2, zeros, many), PW_ERR_OVERFLOW);
    /* More blocks than bytes is impossible, so the count of blocks cannot saturate before the size overflows. */
    check_facts(pw_build_stream(&b, INT64_MAX, 0, pw_build_bytes(&b, 1, 1)), INT64_MAX, 0, 1, INT64_MAX, 2);
}

static void depth_is_limited(void **state)
{
    pw_builder b = {.arena = *state};
    const pw_node *node = pw_build_bytes(&b, 1, 1);

    for (int i = 1; i < 256; i++)
        node = pw_build_stream(&b, 1, 0, node);
    check_facts(node, 1, 0, 1, 1, 256);
    expect_status(&b, pw_build_stream(&b, 1, 0, node), PW_ERR_UNSUPPORTED);
    expect_status(&b, pw_build_shift(&b, 8, node), PW_ERR_UNSUPPORTED);
    expect_status(&b, pw_build_index(&b, 0, NULL, node), PW_ERR_UNSUPPORTED);
}

static void errors_stick(void **state)
{
    pw_builder b = {.arena = *state};
    const pw_node *leaf = pw_build_bytes(&b, 8, 1), *bad = pw_build_stream(&b, 3, INT64_MAX, leaf);
    const int64_t zero[] = {0};

    assert_null(bad);
    assert_null(pw_build_bytes(&b, -1, 1));
    assert_null(pw_build_stream(&b, 1, 1, bad));
    assert_null(pw_build_stream(&b, 1, 1, leaf));
    assert_null(pw_build_index(&b, 1, zero, bad));
    assert_null(pw_build_blocks(&b, 1, zero, zero));
    assert_null(pw_build_seq(&b, 1, zero, &bad));
    assert_null(pw_build_shift(&b, 0, leaf));
    assert_int_equal(b.status, PW_ERR_OVERFLOW);
}

/* ---- cost ---------------------------------------------------------------------------- */

static void streams_cost_depth_not_blocks(void **state)
{
    pw_builder b = {.arena = *state};
    size_t before = pw_arena_used(*state);
    const pw_node *node = pw_build_bytes(&b, 8, 1);

    for (int i = 0; i < 3; i++)
        node = pw_build_stream(&b, 100000, (int64_t)16 << (17 * i), node);
    assert_non_null(node);
    assert_true(pw_arena_used(*state) - before <= 4 * 128);
}

static const pw_node *doubled(pw_builder *b, int levels)
{
    const pw_node *node = pw_build_stream(b, 2, 8, pw_build_bytes(b, 1, 1));
    const int64_t offs[] = {0, 1, 2};

    /* The middle child keeps equal neighbours apart. */
    for (int i = 0; i < levels; i++)
        node = pw_build_seq(b, 3, offs, (const pw_node *[]){node, pw_build_bytes(b, 1, 1), node});
    return node;
}

/* In a time that grows with the nodes, not with the paths to them. */
static void shared_nodes_are_compared_once(void **state)
{
    pw_builder b = {.arena = *state};
    const pw_node *node = doubled(&b, 55), *other = doubled(&b, 55);

    assert_int_equal(b.status, PW_OK);
    assert_true(pw_node_equal(node, other));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(bytes_facts, setup, teardown),
        cmocka_unit_test_setup_teardown(stream_facts, setup, teardown),
        cmocka_unit_test_setup_teardown(index_facts, setup, teardown),
        cmocka_unit_test_setup_teardown(blocks_facts, setup, teardown),
        cmocka_unit_test_setup_teardown(seq_facts, setup, teardown),
        cmocka_unit_test_setup_teardown(shift_is_a_seq_of_one, setup, teardown),
        cmocka_unit_test_setup_teardown(negative_and_missing_arguments, setup, teardown),
        cmocka_unit_test_setup_teardown(stream_overflows, setup, teardown),
        cmocka_unit_test_setup_teardown(list_overflows, setup, teardown),
        cmocka_unit_test_setup_teardown(empty_nodes_do_not_overflow, setup, teardown),
        cmocka_unit_test_setup_teardown(many_blocks, setup, teardown),
        cmocka_unit_test_setup_teardown(depth_is_limited, setup, teardown),
        cmocka_unit_test_setup_teardown(errors_stick, setup, teardown),
        cmocka_unit_test_setup_teardown(streams_cost_depth_not_blocks, setup, teardown),
        cmocka_unit_test_setup_teardown(shared_nodes_are_compared_once, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
