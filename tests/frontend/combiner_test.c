/* Every combiner against the typemap that section 5.1 of MPI 4.0 gives it, written by hand. */
#include "typemap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static void basic_and_pairs(void **state)
{
    fixture *f = *state;
    pw_dt d = pw_dt_basic(&f->b, 8, 8);
    EXPECT_TYPEMAP(d, {0, 8});
    EXPECT_BOUNDS(d, 0, 8);
    pw_dt double_int = pw_dt_pair(&f->b, 8, 8, 4, 4);
    EXPECT_TYPEMAP(double_int, {0, 8}, {8, 4});
    EXPECT_BOUNDS(double_int, 0, 16);
    pw_dt short_int = pw_dt_pair(&f->b, 2, 2, 4, 4);
    EXPECT_TYPEMAP(short_int, {0, 2}, {4, 4});
    EXPECT_BOUNDS(short_int, 0, 8);
    pw_dt long_double_int = pw_dt_pair(&f->b, 16, 16, 4, 4);
    EXPECT_TYPEMAP(long_double_int, {0, 16}, {16, 4});
    EXPECT_BOUNDS(long_double_int, 0, 32);
    pw_dt two = pw_dt_contiguous(&f->b, 2, short_int);
    EXPECT_TYPEMAP(two, {0, 2}, {4, 4}, {8, 2}, {12, 4});
}

/* The example of the standard's section 5.1.2: {(double, 0), (char, 8)} with extent 16. */
static pw_dt double_char(fixture *f)
{
    const int64_t lens[] = {1, 1}, displs[] = {0, 8};
    const pw_dt olds[] = {pw_dt_basic(&f->b, 8, 8), pw_dt_basic(&f->b, 1, 1)};
    return pw_dt_struct(&f->b, 2, lens, displs, olds);
}

static void standard_examples(void **state)
{
    fixture *f = *state;
    pw_dt old = double_char(f);
    EXPECT_BOUNDS(old, 0, 16);
    pw_dt ctg = pw_dt_contiguous(&f->b, 3, old);
    EXPECT_TYPEMAP(ctg, {0, 9}, {16, 9}, {32, 9});
    EXPECT_BOUNDS(ctg, 0, 48);
    pw_dt vec = pw_dt_vector(&f->b, 2, 3, 4, old);
    EXPECT_TYPEMAP(vec, {0, 9}, {16, 9}, {32, 9}, {64, 9}, {80, 9}, {96, 9});
    pw_dt back = pw_dt_vector(&f->b, 3, 1, -2, old);
    EXPECT_TYPEMAP(back, {0, 9}, {-32, 9}, {-64, 9});
    EXPECT_BOUNDS(back, -64, 80);
    const int64_t lens[] = {3, 1}, displs[] = {4, 0};
    pw_dt idx = pw_dt_indexed(&f->b, 2, lens, displs, old);
    EXPECT_TYPEMAP(idx, {64, 9}, {80, 9}, {96, 9}, {0, 9});
    const int64_t slens[] = {2, 1, 3}, sdispls[] = {0, 16, 26};
    const pw_dt olds[] = {pw_dt_basic(&f->b, 4, 4), old, pw_dt_basic(&f->b, 1, 1)};
    pw_dt st = pw_dt_struct(&f->b, 3, slens, sdispls, olds);
    EXPECT_TYPEMAP(st, {0, 8}, {16, 9}, {26, 3});
    EXPECT_BOUNDS(st, 0, 32);
}

static void byte_strides(void **state)
{
    fixture *f = *state;
    pw_dt i = pw_dt_basic(&f->b, 4, 4);
    pw_dt h = pw_dt_hvector(&f->b, 3, 2, 9, i);
    EXPECT_TYPEMAP(h, {0, 8}, {9, 8}, {18, 8});
    pw_dt down = pw_dt_hvector(&f->b, 3, 2, -9, i);
    EXPECT_TYPEMAP(down, {0, 8}, {-9, 8}, {-18, 8});
    const int64_t lens[] = {1, 2, 1}, offs[] = {-5, 7, 0};
    pw_dt hi = pw_dt_hindexed(&f->b, 3, lens, offs, i);
    EXPECT_TYPEMAP(hi, {-5, 4}, {7, 8}, {0, 4});
    pw_dt ib = pw_dt_indexed_block(&f->b, 3, 2, offs, i);
    EXPECT_TYPEMAP(ib, {-20, 8}, {28, 8}, {0, 8});
    pw_dt hb = pw_dt_hindexed_block(&f->b, 3, 2, offs, i);
    EXPECT_TYPEMAP(hb, {-5, 8}, {7, 8}, {0, 8});
    pw_dt overlap = pw_dt_hvector(&f->b, 2, 1, 2, i);
    EXPECT_TYPEMAP(overlap, {0, 4}, {2, 4});
}

/* Lists of elements that are not one run of bytes take another way through the code than dense ones. */
static void lists_of_gapped_elements(void **state)
{
    fixture *f = *state;
    pw_dt i = pw_dt_resized(&f->b, -2, 6, pw_dt_basic(&f->b, 4, 4));
    const int64_t lens[] = {2, 0, 1}, displs[] = {1, 50, -3};
    pw_dt idx = pw_dt_indexed(&f->b, 3, lens, displs, i);
    EXPECT_TYPEMAP(idx, {6, 4}, {12, 4}, {-18, 4});
    pw_dt hidx = pw_dt_hindexed(&f->b, 3, lens, displs, i);
    EXPECT_TYPEMAP(hidx, {1, 4}, {7, 4}, {-3, 4});
    pw_dt ctg = pw_dt_contiguous(&f->b, 2, pw_dt_basic(&f->b, 2, 2));
    pw_dt runs = pw_dt_indexed(&f->b, 3, lens, displs, ctg);
    EXPECT_TYPEMAP(runs, {4, 8}, {-12, 4});
    assert_int_equal(runs.node->kind, PW_SEQ);
    assert_int_equal(runs.node->seq.children[0]->kind, PW_BLOCKS);
}

/* Lists are made as the canonical form has them: they begin at offset 0, below a displacement. A list whose
 * differences overflow, which only blocks without bytes can cause, stays as it is. */
static void lists_begin_at_zero(void **state)
{
    fixture *f = *state;
    const int64_t ones[] = {1, 2, 1}, displs[] = {5, 50, -3}, zero[] = {0, 1, 2}, far[] = {INT64_MIN, 4, 16};
    pw_dt i = pw_dt_basic(&f->b, 4, 4);
    const pw_dt lists[] = {pw_dt_indexed(&f->b, 3, ones, displs, i), pw_dt_indexed_block(&f->b, 3, 2, displs, i)};
    for (int k = 0; k < 2; k++) {
        const pw_node *node = lists[k].node, *list = node->seq.children[0];
        assert_int_equal(node->kind, PW_SEQ);
        assert_int_equal(node->seq.n, 1);
        assert_int_equal(node->seq.offs[0], 20);
        assert_int_equal(k == 0 ? list->blocks_list.offs[0] : list->index.offs[0], 0);
    }
    EXPECT_TYPEMAP(lists[0], {20, 4}, {200, 8}, {-12, 4});
    EXPECT_TYPEMAP(lists[1], {20, 8}, {200, 8}, {-12, 8});
    pw_dt wide = pw_dt_hindexed(&f->b, 3, zero, far, i);
    EXPECT_TYPEMAP(wide, {4, 4}, {16, 8});
    assert_int_equal(wide.node->kind, PW_BLOCKS);
}

/* More entries than scratch has room for on the stack. */
static void long_lists(void **state)
{
    enum { N = 300 };
    fixture *f = *state;
    int64_t lens[N], displs[N];
    run runs[N];
    pw_dt olds[N];
    for (int64_t i = 0; i < N; i++) {
        lens[i] = 1 + i % 3;
        displs[i] = (i * 77) % N * 5;
        runs[i] = (run){displs[i] * 2, lens[i] * 2};
        olds[i] = pw_dt_basic(&f->b, 2, 1);
    }
    pw_dt t = pw_dt_indexed(&f->b, N, lens, displs, olds[0]);
    check_typemap(&t, runs, N, __FILE__, __LINE__);
    for (int64_t i = 0; i < N; i++)
        runs[i].off = displs[i];
    t = pw_dt_struct(&f->b, N, lens, displs, olds);
    check_typemap(&t, runs, N, __FILE__, __LINE__);
}

static void zero_counts(void **state)
{
    fixture *f = *state;
    pw_dt i = pw_dt_basic(&f->b, 4, 4);
    const int64_t zeros[] = {0, 0}, offs[] = {-100, 100};
    const pw_dt olds[] = {i, i};
    pw_dt empty[] = {pw_dt_contiguous(&f->b, 0, i),
                     pw_dt_vector(&f->b, 0, 3, -4, i),
                     pw_dt_vector(&f->b, 3, 0, -4, i),
                     pw_dt_hvector(&f->b, 0, 0, 7, i),
                     pw_dt_indexed(&f->b, 0, NULL, NULL, i),
                     pw_dt_indexed(&f->b, 2, zeros, offs, i),
                     pw_dt_hindexed(&f->b, 2, zeros, offs, i),
                     pw_dt_indexed_block(&f->b, 2, 0, offs, i),
                     pw_dt_hindexed_block(&f->b, 0, 4, NULL, i),
                     pw_dt_struct(&f->b, 0, NULL, NULL, NULL),
                     pw_dt_struct(&f->b, 2, zeros, offs, olds)};
    for (size_t k = 0; k < sizeof empty / sizeof empty[0]; k++) {
        EXPECT_EMPTY(empty[k]);
        EXPECT_BOUNDS(empty[k], 0, 0);
    }
    pw_dt of_empty = pw_dt_hvector(&f->b, 3, 2, 50, empty[0]);
    EXPECT_EMPTY(of_empty);
    EXPECT_BOUNDS(of_empty, 0, 0);
}

static void illegal_arguments_and_overflow(void **state)
{
    fixture *f = *state;
    pw_dt i = pw_dt_basic(&f->b, 4, 4);
    pw_dt t = pw_dt_contiguous(&f->b, -1, i);
    assert_null(t.node);
    assert_int_equal(f->b.status, PW_ERR_INVALID);
    t = pw_dt_contiguous(&f->b, 2, t); /* the error sticks */
    assert_null(t.node);

    f->b.status = PW_OK;
    t = pw_dt_vector(&f->b, 4, 1, INT64_MAX / 2, i);
    assert_null(t.node);
    assert_int_equal(f->b.status, PW_ERR_OVERFLOW);

    f->b.status = PW_OK;
    const int64_t lens[] = {1, -1}, offs[] = {0, 4};
    t = pw_dt_hindexed(&f->b, 2, lens, offs, i);
    assert_null(t.node);
    assert_int_equal(f->b.status, PW_ERR_INVALID);

    f->b.status = PW_OK;
    const int64_t ones[] = {1, 1}, far[] = {INT64_MIN, INT64_MAX - 4};
    t = pw_dt_hindexed(&f->b, 2, ones, far, i);
    assert_null(t.node);
    assert_int_equal(f->b.status, PW_ERR_OVERFLOW);
}

static void finish_keeps_lb_and_extent(void **state)
{
    fixture *f = *state;
    pw_type t = pw_dt_finish(pw_dt_resized(&f->b, -4, 24, pw_dt_basic(&f->b, 8, 8)));
    assert_int_equal(t.lb, -4);
    assert_int_equal(t.extent, 24);
    assert_int_equal(t.root->size, 8);
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        TEST(basic_and_pairs),
        TEST(standard_examples),
        TEST(byte_strides),
        TEST(lists_of_gapped_elements),
        TEST(lists_begin_at_zero),
        TEST(long_lists),
        TEST(zero_counts),
        TEST(illegal_arguments_and_overflow),
        TEST(finish_keeps_lb_and_extent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
