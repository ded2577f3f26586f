/* subarray and darray: swept over small parameters against the definition, and compact for large ones. */
#include "typemap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { ELEMENT = 2, PITCH = 3, MAX_RUNS = 512 };

static pw_dt element(fixture *f)
{
    return pw_dt_resized(&f->b, 0, PITCH, pw_dt_basic(&f->b, ELEMENT, 1));
}

/* A distribution written down as the standard explains it: element g belongs to process (g / k) mod p. */
typedef struct dim {
    int64_t gsize, psize, darg;
    pw_distribution dist;
} dim;

static int64_t owner(const dim *d, int64_t g)
{
    int64_t k = d->dist == PW_DISTRIBUTE_CYCLIC ? d->darg : (d->gsize + d->psize - 1) / d->psize;
    if (d->dist == PW_DISTRIBUTE_CYCLIC && d->darg == PW_DISTRIBUTE_DEFAULT_ARG)
        k = 1;
    if (d->dist == PW_DISTRIBUTE_BLOCK && d->darg != PW_DISTRIBUTE_DEFAULT_ARG)
        k = d->darg;
    return d->dist == PW_DISTRIBUTE_NONE ? 0 : g / k % d->psize;
}

/* All elements of a 2-D array that `rank` owns, in memory order, which is the packed order too. */
static size_t owned(const dim *d, int64_t rank, pw_order order, run *runs)
{
    const int64_t coord[] = {rank / d[1].psize, rank % d[1].psize};
    int slow = order == PW_ORDER_C ? 0 : 1, fast = 1 - slow;
    size_t n = 0;
    for (int64_t i = 0; i < d[slow].gsize; i++)
        for (int64_t j = 0; j < d[fast].gsize; j++)
            if (owner(&d[slow], i) == coord[slow] && owner(&d[fast], j) == coord[fast])
                runs[n++] = (run){(i * d[fast].gsize + j) * PITCH, ELEMENT};
    return n;
}

static void check_darray(fixture *f, const dim *d, pw_order order)
{
    run runs[MAX_RUNS];
    const int64_t gsizes[] = {d[0].gsize, d[1].gsize}, dargs[] = {d[0].darg, d[1].darg};
    const int64_t psizes[] = {d[0].psize, d[1].psize};
    const pw_distribution dists[] = {d[0].dist, d[1].dist};
    int64_t nprocs = psizes[0] * psizes[1];
    for (int64_t rank = 0; rank < nprocs; rank++) {
        pw_dt t = pw_dt_darray(&f->b, nprocs, rank, 2, gsizes, dists, dargs, psizes, order, element(f));
        size_t n = owned(d, rank, order, runs);
        check_typemap(&t, runs, n, __FILE__, __LINE__);
        EXPECT_BOUNDS(t, 0, gsizes[0] * gsizes[1] * PITCH);
    }
}

static void darray_sweep(void **state)
{
    fixture *f = *state;
    static const dim dims[] = {
        {7, 1, -1, PW_DISTRIBUTE_NONE},   {7, 3, -1, PW_DISTRIBUTE_BLOCK},  {7, 3, 4, PW_DISTRIBUTE_BLOCK},
        {8, 3, 3, PW_DISTRIBUTE_BLOCK},   {2, 3, -1, PW_DISTRIBUTE_BLOCK},  {7, 2, -1, PW_DISTRIBUTE_CYCLIC},
        {7, 2, 2, PW_DISTRIBUTE_CYCLIC},  {8, 2, 3, PW_DISTRIBUTE_CYCLIC},  {13, 2, 3, PW_DISTRIBUTE_CYCLIC},
        {13, 3, 2, PW_DISTRIBUTE_CYCLIC}, {12, 2, 3, PW_DISTRIBUTE_CYCLIC}, {4, 3, 9, PW_DISTRIBUTE_CYCLIC},
        {1, 4, 1, PW_DISTRIBUTE_CYCLIC},
    };
    enum { N = sizeof dims / sizeof dims[0] };
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            const dim d[] = {dims[i], dims[j]};
            check_darray(f, d, PW_ORDER_C);
            check_darray(f, d, PW_ORDER_FORTRAN);
        }
}

static void darray_refuses_bad_grids(void **state)
{
    fixture *f = *state;
    const int64_t gsize[] = {10}, psize[] = {3}, automatic[] = {PW_DISTRIBUTE_DEFAULT_ARG}, small[] = {2};
    const pw_distribution block[] = {PW_DISTRIBUTE_BLOCK}, none[] = {PW_DISTRIBUTE_NONE};
    const struct {
        int64_t size, rank;
        const pw_distribution *dist;
        const int64_t *darg;
    } bad[] = {{4, 0, block, automatic}, {3, 3, block, automatic}, {3, 0, none, automatic}, {3, 0, block, small}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        f->b.status = PW_OK;
        pw_dt t = pw_dt_darray(&f->b, bad[i].size, bad[i].rank, 1, gsize, bad[i].dist, bad[i].darg, psize, PW_ORDER_C,
                               pw_dt_basic(&f->b, 4, 4));
        assert_null(t.node);
        assert_int_equal(f->b.status, PW_ERR_INVALID);
    }
}

static void subarray_3d(void **state)
{
    fixture *f = *state;
    const int64_t sizes[] = {4, 3, 5}, sub[] = {2, 2, 3}, starts[] = {1, 0, 2};
    run c[12], fortran[12];
    size_t n = 0;
    for (int64_t i = 0; i < 2; i++)
        for (int64_t j = 0; j < 2; j++)
            for (int64_t k = 0; k < 3; k++)
                c[n++] = (run){(((i + 1) * 3 + j) * 5 + k + 2) * PITCH, ELEMENT};
    pw_dt t = pw_dt_subarray(&f->b, 3, sizes, sub, starts, PW_ORDER_C, element(f));
    check_typemap(&t, c, n, __FILE__, __LINE__);
    n = 0;
    for (int64_t k = 0; k < 3; k++)
        for (int64_t j = 0; j < 2; j++)
            for (int64_t i = 0; i < 2; i++)
                fortran[n++] = (run){(((k + 2) * 3 + j) * 4 + i + 1) * PITCH, ELEMENT};
    t = pw_dt_subarray(&f->b, 3, sizes, sub, starts, PW_ORDER_FORTRAN, element(f));
    check_typemap(&t, fortran, n, __FILE__, __LINE__);
}

static void subarray_refuses_what_sticks_out(void **state)
{
    fixture *f = *state;
    const int64_t sizes[] = {4}, sub[] = {3}, start[] = {2};
    pw_dt t = pw_dt_subarray(&f->b, 1, sizes, sub, start, PW_ORDER_C, pw_dt_basic(&f->b, 4, 4));
    assert_null(t.node);
    assert_int_equal(f->b.status, PW_ERR_INVALID);
}

/* Memory of a regular array does not grow with the array. */
static void arrays_are_compact(void **state)
{
    fixture *f = *state;
    const int64_t g[] = {100003, 5000, 7001}, p[] = {3, 4, 5}, k[] = {7, PW_DISTRIBUTE_DEFAULT_ARG, 10};
    const int64_t sub[] = {50000, 3000, 2}, starts[] = {5, 6, 7};
    const pw_distribution dists[] = {PW_DISTRIBUTE_CYCLIC, PW_DISTRIBUTE_BLOCK, PW_DISTRIBUTE_CYCLIC};
    pw_dt d = pw_dt_darray(&f->b, 60, 59, 3, g, dists, k, p, PW_ORDER_FORTRAN, pw_dt_basic(&f->b, 8, 8));
    pw_dt s = pw_dt_subarray(&f->b, 3, g, sub, starts, PW_ORDER_C, pw_dt_basic(&f->b, 8, 8));
    assert_non_null(d.node);
    assert_non_null(s.node);
    assert_int_equal(s.node->size, sub[0] * sub[1] * sub[2] * 8);
    assert_true(pw_arena_used(f->arena) < 8192);
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, fixture_setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        TEST(darray_sweep),       TEST(darray_refuses_bad_grids),
        TEST(subarray_3d),        TEST(subarray_refuses_what_sticks_out),
        TEST(arrays_are_compact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
