/* Lower bound, upper bound and extent: MPI 4.0 sections 5.1.6 to 5.1.8. */
#include "typemap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static pw_dt integer(fixture *f)
{
    return pw_dt_basic(&f->b, 4, 4);
}

static void negative_strides(void **state)
{
    fixture *f = *state;
    pw_dt v = pw_dt_vector(&f->b, 3, 2, -5, integer(f));
    EXPECT_BOUNDS(v, -40, 48);
    pw_dt vv = pw_dt_contiguous(&f->b, 2, v);
    EXPECT_BOUNDS(vv, -40, 96);
    EXPECT_TYPEMAP(vv, {0, 8}, {-20, 8}, {-40, 8}, {48, 8}, {28, 8}, {8, 8});
    const int64_t lens[] = {2, 0, 3}, displs[] = {-4, -90, 7};
    pw_dt idx = pw_dt_indexed(&f->b, 3, lens, displs, integer(f));
    EXPECT_BOUNDS(idx, -16, 56); /* the empty block at -90 counts for nothing */
}

static void hvector_is_not_padded(void **state)
{
    fixture *f = *state;
    pw_dt t = pw_dt_hvector(&f->b, 2, 1, 5, integer(f));
    EXPECT_BOUNDS(t, 0, 9);
}

static void structs_are_padded_to_their_strictest_member(void **state)
{
    fixture *f = *state;
    const int64_t lens[] = {1, 3}, displs[] = {0, 8};
    const pw_dt olds[] = {pw_dt_basic(&f->b, 8, 8), pw_dt_basic(&f->b, 1, 1)};
    pw_dt t = pw_dt_struct(&f->b, 2, lens, displs, olds);
    EXPECT_BOUNDS(t, 0, 16);
    const int64_t only_chars[] = {0, 3};
    t = pw_dt_struct(&f->b, 2, only_chars, displs, olds);
    EXPECT_BOUNDS(t, 8, 3);
    const int64_t one[] = {1}, below[] = {-6};
    t = pw_dt_struct(&f->b, 1, one, below, olds);
    EXPECT_BOUNDS(t, -6, 8);
    const pw_dt nested[] = {t, olds[1]};
    const int64_t both[] = {1, 1}, at[] = {0, 5};
    t = pw_dt_struct(&f->b, 2, both, at, nested); /* alignment is inherited */
    EXPECT_BOUNDS(t, -6, 16);
}

static void resized_decides(void **state)
{
    fixture *f = *state;
    pw_dt r = pw_dt_resized(&f->b, -3, 16, integer(f));
    EXPECT_BOUNDS(r, -3, 16);
    EXPECT_TYPEMAP(r, {0, 4});
    pw_dt two = pw_dt_contiguous(&f->b, 2, r);
    EXPECT_BOUNDS(two, -3, 32);
    EXPECT_TYPEMAP(two, {0, 4}, {16, 4});
    pw_dt again = pw_dt_resized(&f->b, 0, 4, two);
    EXPECT_BOUNDS(again, 0, 4);
}

static void resized_negative_and_zero_extent(void **state)
{
    fixture *f = *state;
    pw_dt down = pw_dt_resized(&f->b, 4, -8, integer(f));
    EXPECT_BOUNDS(down, 4, -8);
    pw_dt three = pw_dt_contiguous(&f->b, 3, down);
    EXPECT_TYPEMAP(three, {0, 4}, {-8, 4}, {-16, 4});
    EXPECT_BOUNDS(three, -12, 8); /* lb 4 - 16, ub -4 */
    pw_dt same = pw_dt_contiguous(&f->b, 3, pw_dt_resized(&f->b, 0, 0, integer(f)));
    EXPECT_TYPEMAP(same, {0, 4}, {0, 4}, {0, 4});
    EXPECT_BOUNDS(same, 0, 0);
}

/* Where there are markers, they alone count (section 5.1.6). */
static void markers_hide_bytes_in_structs(void **state)
{
    fixture *f = *state;
    const int64_t lens[] = {1, 1}, displs[] = {0, 100};
    const pw_dt olds[] = {pw_dt_resized(&f->b, 0, 16, integer(f)), integer(f)};
    pw_dt t = pw_dt_struct(&f->b, 2, lens, displs, olds);
    EXPECT_TYPEMAP(t, {0, 4}, {100, 4});
    EXPECT_BOUNDS(t, 0, 16);
    const pw_dt swapped[] = {olds[1], olds[0]};
    t = pw_dt_struct(&f->b, 2, lens, displs, swapped);
    EXPECT_BOUNDS(t, 100, 16);
    /* The example after the definition: {(int, 0)} with markers at -3 and 6. */
    pw_dt u = pw_dt_contiguous(&f->b, 2, pw_dt_resized(&f->b, -3, 9, integer(f)));
    EXPECT_BOUNDS(u, -3, 18);
    EXPECT_TYPEMAP(u, {0, 4}, {9, 4});
}

static void empty_members_count_only_with_markers(void **state)
{
    fixture *f = *state;
    pw_dt none = pw_dt_contiguous(&f->b, 0, integer(f));
    const int64_t lens[] = {1, 1}, displs[] = {-40, 100};
    const pw_dt olds[] = {none, integer(f)};
    pw_dt t = pw_dt_struct(&f->b, 2, lens, displs, olds);
    EXPECT_BOUNDS(t, 100, 4);
    const pw_dt marked[] = {pw_dt_resized(&f->b, 0, 24, none), integer(f)};
    t = pw_dt_struct(&f->b, 2, lens, displs, marked);
    EXPECT_BOUNDS(t, -40, 24);
    EXPECT_TYPEMAP(t, {100, 4});
}

static void arrays_have_the_bounds_of_the_whole(void **state)
{
    fixture *f = *state;
    const int64_t sizes[] = {4, 5}, sub[] = {2, 3}, starts[] = {1, 1};
    pw_dt old = pw_dt_resized(&f->b, -3, 8, integer(f));
    pw_dt t = pw_dt_subarray(&f->b, 2, sizes, sub, starts, PW_ORDER_C, old);
    EXPECT_BOUNDS(t, 0, 160);
    EXPECT_TYPEMAP(t, {48, 4}, {56, 4}, {64, 4}, {88, 4}, {96, 4}, {104, 4});
    t = pw_dt_subarray(&f->b, 2, sizes, sub, starts, PW_ORDER_FORTRAN, old);
    EXPECT_TYPEMAP(t, {40, 4}, {48, 4}, {72, 4}, {80, 4}, {104, 4}, {112, 4});
    pw_dt down = pw_dt_subarray(&f->b, 2, sizes, sub, starts, PW_ORDER_C, pw_dt_resized(&f->b, 0, -8, integer(f)));
    EXPECT_BOUNDS(down, 0, -160);
    EXPECT_TYPEMAP(down, {-48, 4}, {-56, 4}, {-64, 4}, {-88, 4}, {-96, 4}, {-104, 4});
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        TEST(negative_strides),
        TEST(hvector_is_not_padded),
        TEST(structs_are_padded_to_their_strictest_member),
        TEST(resized_decides),
        TEST(resized_negative_and_zero_extent),
        TEST(markers_hide_bytes_in_structs),
        TEST(empty_members_count_only_with_markers),
        TEST(arrays_have_the_bounds_of_the_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
