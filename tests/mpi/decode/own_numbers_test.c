/* Open MPI 6.0.0a1 gives a program of the standard ABI its own numbers of orders and distributions: this test does. */
#include "support.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static int own_order(int order)
{
    return order == MPI_ORDER_FORTRAN;
}

static int own_distribution(int distribution)
{
    return distribution == MPI_DISTRIBUTE_BLOCK ? 0 : distribution == MPI_DISTRIBUTE_CYCLIC ? 1 : 2;
}

static int numbered; /* types, by one of these combiners */

static int forget_types(void **state)
{
    (void)state;
    numbered = 0;
    return 0;
}

static void number(int combiner, int nints, int *ints)
{
    int *end = ints + nints, n = combiner == MPI_COMBINER_DARRAY ? ints[2] : 0;

    if (combiner != MPI_COMBINER_DARRAY && combiner != MPI_COMBINER_SUBARRAY)
        return;
    numbered++;
    end[-1] = own_order(end[-1]);
    for (int i = 0; i < n; i++) {
        int *kind = end - 1 - 3 * n + i, *arg = kind + n;

        *kind = own_distribution(*kind);
        *arg = *arg == MPI_DISTRIBUTE_DFLT_DARG ? -1 : *arg;
    }
}

/* The decoder's calls come here. */
#if MPI_VERSION >= 4
int PMPI_Type_get_contents_c(MPI_Datatype type, MPI_Count nints, MPI_Count naddrs, MPI_Count ncounts, MPI_Count ntypes,
                             int *ints, MPI_Aint *addrs, MPI_Count *counts, MPI_Datatype *types)
{
    __typeof__(&PMPI_Type_get_contents_c) next = (__typeof__(next))dlsym(RTLD_NEXT, "PMPI_Type_get_contents_c");
    int rc = next(type, nints, naddrs, ncounts, ntypes, ints, addrs, counts, types);
    MPI_Count a, b, c, d;
    int combiner;

    PMPI_Type_get_envelope_c(type, &a, &b, &c, &d, &combiner);
    number(combiner, (int)nints, ints);
    return rc;
}
#else
int PMPI_Type_get_contents(MPI_Datatype type, int nints, int naddrs, int ntypes, int ints[], MPI_Aint addrs[],
                           MPI_Datatype types[])
{
    __typeof__(&PMPI_Type_get_contents) next = (__typeof__(next))dlsym(RTLD_NEXT, "PMPI_Type_get_contents");
    int rc = next(type, nints, naddrs, ntypes, ints, addrs, types), a, b, c, combiner;

    PMPI_Type_get_envelope(type, &a, &b, &c, &combiner);
    number(combiner, nints, ints);
    return rc;
}
#endif

static const int sizes[] = {4, 5};

static void subarrays(void **state)
{
    const int sub[] = {2, 3}, starts[] = {1, 1};
    MPI_Datatype t;

    (void)state;
    MPI_Type_create_subarray(2, sizes, sub, starts, MPI_ORDER_C, MPI_INT, &t);
    EXPECT_DECODED(t, {24, 12}, {44, 12});
    MPI_Type_create_subarray(2, sizes, sub, starts, MPI_ORDER_FORTRAN, MPI_INT, &t);
    EXPECT_DECODED(t, {20, 8}, {36, 8}, {52, 8});
    assert_true(numbered > 0);
}

static void darrays(void **state)
{
    const int gsizes[] = {7, 4}, psizes[] = {2, 2}, single[] = {1, 3};
    const int mixed[] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_BLOCK}, dargs[] = {2, MPI_DISTRIBUTE_DFLT_DARG};
    const int whole[] = {MPI_DISTRIBUTE_NONE, MPI_DISTRIBUTE_CYCLIC};
    const int automatic[] = {MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG};
    MPI_Datatype t;

    (void)state;
    MPI_Type_create_darray(4, 0, 2, gsizes, mixed, dargs, psizes, MPI_ORDER_FORTRAN, MPI_CHAR, &t);
    EXPECT_DECODED(t, {0, 2}, {4, 2}, {7, 2}, {11, 2});
    MPI_Type_create_darray(3, 1, 2, sizes, whole, automatic, single, MPI_ORDER_C, MPI_CHAR, &t);
    EXPECT_DECODED(t, {1, 1}, {4, 1}, {6, 1}, {9, 1}, {11, 1}, {14, 1}, {16, 1}, {19, 1});
    assert_true(numbered > 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup(subarrays, forget_types),
    cmocka_unit_test_setup(darrays, forget_types),
};

MPI_TEST_MAIN(tests)
