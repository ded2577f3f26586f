/* Every combiner, with int and with large-count arguments, against its typemap written by hand. */
#include "support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void regular(void **state)
{
    (void)state;
    MPI_Datatype t;
    MPI_Type_dup(MPI_DOUBLE_INT, &t);
    EXPECT_DECODED(t, {0, 12});
    MPI_Type_contiguous(3, MPI_SHORT_INT, &t);
    EXPECT_DECODED(t, {0, 2}, {4, 4}, {8, 2}, {12, 4}, {16, 2}, {20, 4});
    MPI_Type_vector(3, 2, -5, MPI_INT, &t);
    EXPECT_DECODED(t, {0, 8}, {-20, 8}, {-40, 8});
    MPI_Type_create_hvector(3, 2, 9, MPI_INT, &t);
    EXPECT_DECODED(t, {0, 8}, {9, 8}, {18, 8});
    MPI_Type_create_resized(MPI_INT, -3, 16, &t);
    EXPECT_DECODED(t, {0, 4});
}

static void lists(void **state)
{
    (void)state;
    MPI_Datatype t;
    const int lens[] = {1, 0, 3}, displs[] = {4, 90, -2};
    const MPI_Aint bytes[] = {5, 1, -7};
    MPI_Type_indexed(3, lens, displs, MPI_INT, &t);
    EXPECT_DECODED(t, {16, 4}, {-8, 12});
    MPI_Type_create_hindexed(3, lens, bytes, MPI_INT, &t);
    EXPECT_DECODED(t, {5, 4}, {-7, 12});
    MPI_Type_create_indexed_block(3, 2, displs, MPI_SHORT, &t);
    EXPECT_DECODED(t, {8, 4}, {180, 4}, {-4, 4});
    MPI_Type_create_hindexed_block(3, 2, bytes, MPI_SHORT, &t);
    EXPECT_DECODED(t, {5, 4}, {1, 4}, {-7, 4});
}

static void structs(void **state)
{
    (void)state;
    MPI_Datatype t, column;
    const int lens[] = {1, 2, 0, 3};
    const MPI_Aint displs[] = {0, 8, 100, 60};
    MPI_Type_vector(2, 1, 4, MPI_CHAR, &column);
    const MPI_Datatype types[] = {MPI_DOUBLE, column, MPI_INT, column};
    MPI_Type_create_struct(4, lens, displs, types, &t);
    EXPECT_DECODED(t, {0, 9}, {12, 2}, {17, 1}, {60, 1}, {64, 2}, {69, 2}, {74, 1});
    const MPI_Datatype chars[] = {MPI_DOUBLE, MPI_CHAR};
    const MPI_Aint at[] = {0, 8};
    const int ones[] = {1, 1};
    MPI_Datatype padded;
    MPI_Type_create_struct(2, ones, at, chars, &padded); /* extent 16 */
    MPI_Type_contiguous(2, padded, &t);
    EXPECT_DECODED(t, {0, 9}, {16, 9});
    MPI_Type_free(&padded);
    MPI_Type_free(&column);
}

static void arrays(void **state)
{
    (void)state;
    MPI_Datatype t;
    const int sizes[] = {4, 5}, sub[] = {2, 3}, starts[] = {1, 1};
    MPI_Type_create_subarray(2, sizes, sub, starts, MPI_ORDER_C, MPI_INT, &t);
    EXPECT_DECODED(t, {24, 12}, {44, 12});
    MPI_Type_create_subarray(2, sizes, sub, starts, MPI_ORDER_FORTRAN, MPI_INT, &t);
    EXPECT_DECODED(t, {20, 8}, {36, 8}, {52, 8});
    const int gsizes[] = {7, 4}, psizes[] = {2, 2};
    const int mixed[] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_BLOCK}, dargs[] = {2, MPI_DISTRIBUTE_DFLT_DARG};
    MPI_Type_create_darray(4, 1, 2, gsizes, mixed, dargs, psizes, MPI_ORDER_C, MPI_CHAR, &t);
    EXPECT_DECODED(t, {2, 2}, {6, 2}, {18, 2}, {22, 2}); /* rows 0 1 4 5, columns 2 3 */
    MPI_Type_create_darray(4, 0, 2, gsizes, mixed, dargs, psizes, MPI_ORDER_FORTRAN, MPI_CHAR, &t);
    EXPECT_DECODED(t, {0, 2}, {4, 2}, {7, 2}, {11, 2}); /* rows 0 1 4 5, columns 0 1 */
    const int whole[] = {MPI_DISTRIBUTE_NONE, MPI_DISTRIBUTE_CYCLIC}, single[] = {1, 3};
    const int automatic[] = {MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG};
    MPI_Type_create_darray(3, 1, 2, sizes, whole, automatic, single, MPI_ORDER_C, MPI_CHAR, &t);
    EXPECT_DECODED(t, {1, 1}, {4, 1}, {6, 1}, {9, 1}, {11, 1}, {14, 1}, {16, 1}, {19, 1});
}

#if MPI_VERSION >= 4
static void large_counts(void **state)
{
    (void)state;
    MPI_Datatype t;
    const MPI_Count lens[] = {1, 0, 3}, displs[] = {4, 90, -2}, sizes[] = {4, 5}, sub[] = {2, 3}, starts[] = {1, 1};
    MPI_Type_contiguous_c(3, MPI_SHORT_INT, &t);
    EXPECT_DECODED(t, {0, 2}, {4, 4}, {8, 2}, {12, 4}, {16, 2}, {20, 4});
    MPI_Type_vector_c(3, 2, -5, MPI_INT, &t);
    EXPECT_DECODED(t, {0, 8}, {-20, 8}, {-40, 8});
    MPI_Type_create_hvector_c(3, 2, 9, MPI_INT, &t);
    EXPECT_DECODED(t, {0, 8}, {9, 8}, {18, 8});
    MPI_Type_create_resized_c(MPI_INT, -3, 16, &t);
    EXPECT_DECODED(t, {0, 4});
    MPI_Type_indexed_c(3, lens, displs, MPI_INT, &t);
    EXPECT_DECODED(t, {16, 4}, {-8, 12});
    MPI_Type_create_hindexed_c(3, lens, displs, MPI_INT, &t);
    EXPECT_DECODED(t, {4, 4}, {-2, 12});
    MPI_Type_create_indexed_block_c(3, 2, displs, MPI_SHORT, &t);
    EXPECT_DECODED(t, {8, 4}, {180, 4}, {-4, 4});
    MPI_Type_create_hindexed_block_c(3, 2, displs, MPI_SHORT, &t);
    EXPECT_DECODED(t, {4, 4}, {90, 4}, {-2, 4});
    const MPI_Datatype types[] = {MPI_INT, MPI_INT, MPI_DOUBLE};
    MPI_Type_create_struct_c(3, lens, displs, types, &t);
    EXPECT_DECODED(t, {4, 4}, {-2, 24});
    MPI_Type_create_subarray_c(2, sizes, sub, starts, MPI_ORDER_C, MPI_INT, &t);
    EXPECT_DECODED(t, {24, 12}, {44, 12});
    const int block[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_BLOCK}, psizes[] = {2, 1};
    const int automatic[] = {MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG};
    MPI_Type_create_darray_c(2, 1, 2, sizes, block, automatic, psizes, MPI_ORDER_C, MPI_CHAR, &t);
    EXPECT_DECODED(t, {10, 10});
}

/* Types beyond what int holds: the decoder expands nothing. */
static void truly_large(void **state)
{
    (void)state;
    MPI_Datatype t;
    MPI_Count lb, extent;
    pw_arena *arena = pw_arena_create();
    pw_type decoded;
    MPI_Type_vector_c((MPI_Count)5 << 30, 1, 3, MPI_DOUBLE, &t);
    MPI_Type_get_extent_x(t, &lb, &extent);
    assert_int_equal(pw_mpi_decode(t, arena, &decoded, NULL), PW_OK);
    assert_int_equal(decoded.root->size, (int64_t)40 << 30);
    assert_int_equal(decoded.extent, extent);
    assert_true(pw_arena_used(arena) < 4096);
    pw_arena_destroy(arena);
    MPI_Type_free(&t);
}
#endif

static void zero_sizes(void **state)
{
    (void)state;
    MPI_Datatype t;
    pw_naive_map none = {0};
    const int zeros[] = {0, 0}, displs[] = {7, -7};
    const MPI_Aint bytes[] = {7, -7};
    const MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE};
    int rc[8];
    MPI_Datatype all[8];
    rc[0] = MPI_Type_contiguous(0, MPI_INT, &all[0]);
    rc[1] = MPI_Type_vector(3, 0, 5, MPI_INT, &all[1]);
    rc[2] = MPI_Type_create_hvector(0, 3, 5, MPI_INT, &all[2]);
    rc[3] = MPI_Type_indexed(2, zeros, displs, MPI_INT, &all[3]);
    rc[4] = MPI_Type_create_hindexed(0, NULL, NULL, MPI_INT, &all[4]);
    rc[5] = MPI_Type_create_hindexed_block(2, 0, bytes, MPI_INT, &all[5]);
    rc[6] = MPI_Type_create_struct(2, zeros, bytes, types, &all[6]);
    rc[7] = MPI_Type_create_resized(all[0], -4, 64, &all[7]);
    for (int i = 0; i < 8; i++) {
        assert_int_equal(rc[i], MPI_SUCCESS);
        decode_and_compare(all[i], &none, __FILE__, __LINE__);
    }
    MPI_Type_vector(2, 1, 2, all[7], &t);
    decode_and_compare(t, &none, __FILE__, __LINE__);
    MPI_Type_free(&t);
    for (int i = 0; i < 8; i++)
        MPI_Type_free(&all[i]);
}

/* Addresses as displacements, for MPI_BOTTOM. */
static void absolute_addresses(void **state)
{
    (void)state;
    static int a[4], b[2];
    MPI_Datatype t;
    MPI_Aint at[2];
    const int lens[] = {4, 2};
    MPI_Get_address(a, &at[0]);
    MPI_Get_address(b, &at[1]);
    MPI_Type_create_hindexed(2, lens, at, MPI_INT, &t);
    EXPECT_DECODED(t, {at[0], sizeof a}, {at[1], sizeof b});
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(regular),      cmocka_unit_test(lists),
    cmocka_unit_test(structs),      cmocka_unit_test(arrays),
#if MPI_VERSION >= 4
    cmocka_unit_test(large_counts), cmocka_unit_test(truly_large),
#endif
    cmocka_unit_test(zero_sizes),   cmocka_unit_test(absolute_addresses),
};

MPI_TEST_MAIN(tests)
