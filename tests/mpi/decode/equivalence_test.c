/*
 * Equal layouts built by different constructors come out textually identical and hash the same: the rows, planes
 * and cuboids of TEMPI (Pearson et al., "TEMPI: An Interposed MPI Library with a Canonical Representation of
 * CUDA-aware Datatypes", section 2), of bytes and of floats; and layouts that must not be confused.
 */
#include "frontend/mpi/decode.h"
#include "passes/passes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The object: a box of NX x NY x NZ floats (x fastest) in an array of AX x AY x AZ. */
enum { NX = 25, NY = 13, NZ = 47, AX = 64, AY = 128, AZ = 64, F = 4 };

enum { ROW = AX * F, PLANE = AX * AY * F, EXTENT = AX * AY * AZ * F };

typedef struct canonical {
    char *text;
    pw_hash hash;
} canonical;

/* Canonicalises, with the extent of the whole array, which not all constructors give. Frees the type. */
static canonical canonicalise(MPI_Datatype *type)
{
    pw_arena *arena = pw_arena_create();
    pw_type raw, out;
    pw_diag diag = {0};
    if (pw_mpi_decode(*type, arena, &raw, &diag) != PW_OK)
        fail_msg("%s", diag.text);
    raw.lb = 0;
    raw.extent = EXTENT;
    if (pw_canonicalise(&raw, arena, &out, NULL, &diag) != PW_OK)
        fail_msg("%s", diag.text);
    canonical c = {pw_print(&out, 0), pw_type_hash(&out)};
    pw_arena_destroy(arena);
    MPI_Type_free(type);
    return c;
}

static void expect_all(MPI_Datatype *types, int n, const char *root)
{
    canonical first = canonicalise(&types[0]);
    assert_non_null(strstr(first.text, root));
    for (int i = 1; i < n; i++) {
        canonical c = canonicalise(&types[i]);
        assert_string_equal(c.text, first.text);
        assert_true(pw_hash_equal(c.hash, first.hash));
        free(c.text);
    }
    free(first.text);
}

static MPI_Datatype vector_of(int count, int blocklen, int stride, MPI_Datatype old)
{
    MPI_Datatype t;
    MPI_Type_vector(count, blocklen, stride, old, &t);
    return t;
}

static MPI_Datatype hvector_of(int count, MPI_Aint stride, MPI_Datatype old)
{
    MPI_Datatype t;
    MPI_Type_create_hvector(count, 1, stride, old, &t);
    return t;
}

/* Makes an hvector, and frees the old type. */
static MPI_Datatype hvector_over(int count, MPI_Aint stride, MPI_Datatype old)
{
    MPI_Datatype t = hvector_of(count, stride, old);
    MPI_Type_free(&old);
    return t;
}

static MPI_Datatype contiguous_of(int count, MPI_Datatype old)
{
    MPI_Datatype t;
    MPI_Type_contiguous(count, old, &t);
    return t;
}

/* Makes the first `ndims` dimensions of the box, slowest first for MPI_ORDER_C. `f` is the bytes of a float, or 1 for
 * elements of floats. */
static MPI_Datatype box_of(int ndims, int order, int f, MPI_Datatype old)
{
    MPI_Datatype t;
    int array[] = {AX * f, AY, AZ}, box[] = {NX * f, NY, NZ}, zeros[] = {0, 0, 0}, sizes[3], sub[3];
    for (int d = 0; d < ndims; d++) {
        int from = order == MPI_ORDER_FORTRAN ? d : ndims - 1 - d;
        sizes[d] = array[from];
        sub[d] = box[from];
    }
    MPI_Type_create_subarray(ndims, sizes, sub, zeros, order, old, &t);
    return t;
}

static void rows(void **state)
{
    (void)state;
    MPI_Datatype t[] = {
        contiguous_of(NX * F, MPI_BYTE),
        contiguous_of(NX, MPI_FLOAT),
        vector_of(1, NX * F, 1, MPI_BYTE),
        vector_of(NX * F, 1, 1, MPI_BYTE),
        vector_of(NX, 1, 1, MPI_FLOAT),
        hvector_of(NX, F, MPI_FLOAT),
        hvector_over(NX, F, contiguous_of(F, MPI_BYTE)),
        box_of(1, MPI_ORDER_C, F, MPI_BYTE),
        box_of(1, MPI_ORDER_FORTRAN, 1, MPI_FLOAT),
    };
    expect_all(t, sizeof t / sizeof t[0], "{\n  bytes 100 align 16\n}");
}

static void planes(void **state)
{
    (void)state;
    MPI_Datatype t[] = {
        vector_of(NY, NX * F, AX * F, MPI_BYTE),
        vector_of(NY, NX, AX, MPI_FLOAT),
        hvector_over(NY, ROW, contiguous_of(NX * F, MPI_BYTE)),
        hvector_over(NY, ROW, contiguous_of(NX, MPI_FLOAT)),
        hvector_over(NY, ROW, vector_of(NX, 1, 1, MPI_FLOAT)),
        hvector_over(NY, ROW, hvector_over(NX, F, contiguous_of(F, MPI_BYTE))),
        box_of(2, MPI_ORDER_C, F, MPI_BYTE),
        box_of(2, MPI_ORDER_C, 1, MPI_FLOAT),
        box_of(2, MPI_ORDER_FORTRAN, 1, MPI_FLOAT),
    };
    expect_all(t, sizeof t / sizeof t[0], "{\n  stream 13 stride 256 {\n    bytes 100 align 16\n  }\n}");
}

static void cuboids(void **state)
{
    (void)state;
    MPI_Datatype t[] = {
        hvector_over(NZ, PLANE, vector_of(NY, NX * F, AX * F, MPI_BYTE)),
        hvector_over(NZ, PLANE, vector_of(NY, NX, AX, MPI_FLOAT)),
        hvector_over(NZ, PLANE, hvector_over(NY, ROW, contiguous_of(NX, MPI_FLOAT))),
        hvector_over(NZ, PLANE, hvector_over(NY, ROW, vector_of(1, NX, 1, MPI_FLOAT))),
        hvector_over(NZ, PLANE, hvector_over(NY, ROW, hvector_of(NX, F, MPI_FLOAT))),
        hvector_over(NZ, PLANE, box_of(2, MPI_ORDER_C, F, MPI_BYTE)),
        hvector_over(NZ, PLANE, box_of(2, MPI_ORDER_FORTRAN, 1, MPI_FLOAT)),
        box_of(3, MPI_ORDER_C, F, MPI_BYTE),
        box_of(3, MPI_ORDER_C, 1, MPI_FLOAT),
        box_of(3, MPI_ORDER_FORTRAN, F, MPI_BYTE),
        box_of(3, MPI_ORDER_FORTRAN, 1, MPI_FLOAT),
    };
    expect_all(t, sizeof t / sizeof t[0],
               "{\n  stream 47 stride 32768 {\n    stream 13 stride 256 {\n      bytes 100 align 16\n    }\n  }\n}");
}

/* Lists and structs that describe a vector. */
static void lists_of_rows(void **state)
{
    (void)state;
    enum { N = 6 };
    int lens[N], displs[N];
    MPI_Aint bytes[N];
    MPI_Datatype types[N], t[7];
    for (int i = 0; i < N; i++) {
        lens[i] = NX;
        displs[i] = i * AX;
        bytes[i] = (MPI_Aint)i * ROW;
        types[i] = MPI_FLOAT;
    }
    t[0] = vector_of(N, NX, AX, MPI_FLOAT);
    MPI_Type_indexed(N, lens, displs, MPI_FLOAT, &t[1]);
    MPI_Type_create_hindexed(N, lens, bytes, MPI_FLOAT, &t[2]);
    MPI_Type_create_indexed_block(N, NX, displs, MPI_FLOAT, &t[3]);
    MPI_Type_create_hindexed_block(N, NX, bytes, MPI_FLOAT, &t[4]);
    MPI_Type_create_struct(N, lens, bytes, types, &t[5]);
    const int gsizes[] = {N, AX}, psizes[] = {1, 1}, automatic[] = {MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG};
    const int dists[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_NONE}, starts[] = {0, 0}, sub[] = {N, NX};
    MPI_Type_create_subarray(2, gsizes, sub, starts, MPI_ORDER_C, MPI_FLOAT, &t[6]);
    expect_all(t, 7, "stream 6 stride 256 {\n    bytes 100 align 16\n  }");

    MPI_Type_create_darray(1, 0, 2, gsizes, dists, automatic, psizes, MPI_ORDER_C, MPI_FLOAT, &t[0]);
    t[1] = contiguous_of(N * AX, MPI_FLOAT);
    expect_all(t, 2, "bytes 1536 align 16");
}

/* Packed order is part of the meaning: the same bytes in another order are another type. */
static void order_is_kept(void **state)
{
    (void)state;
    MPI_Datatype up = vector_of(4, 1, 2, MPI_INT), down, column;
    const MPI_Aint last_first[] = {24, 16, 8, 0};
    MPI_Type_create_hindexed_block(4, 1, last_first, MPI_INT, &down);
    canonical a = canonicalise(&up), b = canonicalise(&down);
    assert_string_not_equal(a.text, b.text);
    assert_false(pw_hash_equal(a.hash, b.hash));
    free(a.text);
    free(b.text);

    /* Columns of a 4 x 3 matrix, one after another, touch the bytes of the matrix, but transposed. */
    MPI_Datatype matrix = contiguous_of(12, MPI_INT), transposed;
    column = vector_of(4, 1, 3, MPI_INT);
    transposed = hvector_over(3, 4, column);
    a = canonicalise(&matrix);
    b = canonicalise(&transposed);
    assert_string_not_equal(a.text, b.text);
    assert_false(pw_hash_equal(a.hash, b.hash));
    free(a.text);
    free(b.text);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows),          cmocka_unit_test(planes),        cmocka_unit_test(cuboids),
        cmocka_unit_test(lists_of_rows), cmocka_unit_test(order_is_kept),
    };
    MPI_Init(&argc, &argv);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    MPI_Finalize();
    return failed;
}
