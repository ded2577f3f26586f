/* Types as the program built them, as text. */
#include "frontend/mpi/describe.h"
#include "support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* Compares the text of a type, and frees the type. */
static void is_text(MPI_Datatype type, const char *expected)
{
    char text[320];

    pw_mpi_describe(type, text, sizeof text);
    MPI_Type_free(&type);
    assert_string_equal(text, expected);
}

static MPI_Datatype column(void)
{
    MPI_Datatype t;

    MPI_Type_vector(4, 1, 9, MPI_DOUBLE, &t);
    return t;
}

static void constructors(void **state)
{
    const int lens[] = {1, 2}, displs[] = {0, 8}, sizes[] = {8, 8}, sub[] = {8, 2}, starts[] = {0, 6};
    const int distributions[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC}, grid[] = {2, 2};
    const int args[] = {MPI_DISTRIBUTE_DFLT_DARG, 3};
    const MPI_Aint bytes[] = {0, 64};
    MPI_Datatype t, old = column();

    (void)state;
    MPI_Type_contiguous(3, MPI_INT, &t);
    is_text(t, "ctg(3)[int]");
    MPI_Type_create_hvector(3, 2, 64, MPI_FLOAT, &t);
    is_text(t, "hvec(3 2 64)[float]");
    MPI_Type_indexed(2, lens, displs, MPI_BYTE, &t);
    is_text(t, "idx(0,1 8,2)[byte]");
    MPI_Type_create_hindexed(2, lens, bytes, MPI_INT64_T, &t);
    is_text(t, "hidx(0,1 64,2)[int64_t]");
    MPI_Type_create_indexed_block(2, 3, displs, MPI_CHAR, &t);
    is_text(t, "idxb(3: 0 8)[char]");
    MPI_Type_create_hindexed_block(2, 3, bytes, MPI_SHORT, &t);
    is_text(t, "hidxb(3: 0 64)[short]");
    MPI_Type_create_subarray(2, sizes, sub, starts, MPI_ORDER_FORTRAN, MPI_DOUBLE, &t);
    is_text(t, "sub(8 8 | 8 2 | 0 6 | fortran)[double]");
    MPI_Type_create_darray(4, 1, 2, sizes, distributions, args, grid, MPI_ORDER_C, MPI_DOUBLE_INT, &t);
    is_text(t, "darray(4 1 | 8 8 | block cyclic | * 3 | 2 2)[MPI_DOUBLE_INT]");
    MPI_Type_create_resized(old, -8, 512, &t);
    is_text(t, "resized(-8 512)[vec(4 1 9)[double]]");
    MPI_Type_dup(old, &t);
    is_text(t, "dup[vec(4 1 9)[double]]");
    MPI_Type_free(&old);
}

static void structs(void **state)
{
    const int lens[] = {3, 1};
    const MPI_Aint bytes[] = {0, 24};
    const MPI_Datatype types[] = {column(), MPI_INT};
    MPI_Datatype t;

    (void)state;
    MPI_Type_create_struct(2, lens, bytes, types, &t);
    MPI_Type_free((MPI_Datatype[]){types[0]});
    is_text(t, "struct(0: 3*vec(4 1 9)[double], 24: int)");
}

static void long_ones(void **state)
{
    enum { MANY = 20 };
    int displs[MANY];
    char text[24];
    MPI_Datatype t, dup;

    (void)state;
    for (int i = 0; i < MANY; i++)
        displs[i] = 3 * i;
    MPI_Type_create_indexed_block(MANY, 1, displs, MPI_INT, &t);
    MPI_Type_dup(t, &dup);
    is_text(dup, "dup[idxb(1: 0 3 6 9 12 15 ... 14 more)[int]]");
    pw_mpi_describe(t, text, sizeof text);
    MPI_Type_free(&t);
    assert_string_equal(text, "idxb(1: 0 3 6 9 12 1...");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constructors),
        cmocka_unit_test(structs),
        cmocka_unit_test(long_ones),
    };
    int failed;

    MPI_Init(&argc, &argv);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    MPI_Finalize();
    return failed;
}
