/* The set of types: each constructor, holes of all kinds, both directions, overlaps of extents, sizes from nothing up.
 */
#include "tests/mpi/support/harness.h"

static const char *const names[TEST_TYPES] = {"vector of ints",
                                              "vector of 8 in 64 bytes",
                                              "descending hvector",
                                              "shuffled indexed",
                                              "hindexed, mixed lengths",
                                              "indexed_block",
                                              "hindexed_block",
                                              "struct with holes",
                                              "array of padded structs",
                                              "subarray, C order",
                                              "subarray, Fortran order",
                                              "column (resized)",
                                              "column of rows",
                                              "vector of vectors",
                                              "contiguous (derived)",
                                              "dup of a vector",
                                              "pair type",
                                              "blocks of 4000 bytes"};

const char *test_type_name(int i)
{
    return names[i];
}

static void free_type(MPI_Datatype *type)
{
    PMPI_Type_free(type);
}

static MPI_Datatype make_indexed(int i, int n)
{
    int *lens = malloc(sizeof(int) * (size_t)n), *displs = malloc(sizeof(int) * (size_t)n);
    MPI_Aint *bytes = malloc(sizeof(MPI_Aint) * (size_t)n);
    MPI_Datatype t;

    for (int k = 0; k < n; k++) {
        int shuffled = n % 7 ? k * 7 % n : n - 1 - k; /* a permutation either way */

        lens[k] = 1 + shuffled % 3;
        displs[k] = 4 * shuffled;
        bytes[k] = 40 * (MPI_Aint)shuffled + 1;
    }
    switch (i) {
    case 3: PMPI_Type_indexed(n, lens, displs, MPI_INT, &t); break;
    case 4: PMPI_Type_create_hindexed(n, lens, bytes, MPI_DOUBLE, &t); break;
    case 5: PMPI_Type_create_indexed_block(n, 2, displs, MPI_SHORT, &t); break;
    default: PMPI_Type_create_hindexed_block(n, 3, bytes, MPI_CHAR, &t); break;
    }
    free(lens);
    free(displs);
    free(bytes);
    return t;
}

static MPI_Datatype make_struct(int n)
{
    int lens[3] = {1, 3, 1};
    MPI_Aint displs[3] = {0, 8, 37};
    MPI_Datatype olds[3] = {MPI_INT, MPI_DOUBLE, MPI_CHAR}, one, sized, t;

    PMPI_Type_create_struct(3, lens, displs, olds, &one);
    PMPI_Type_create_resized(one, -8, 64, &sized);
    PMPI_Type_contiguous(n, sized, &t);
    free_type(&one);
    free_type(&sized);
    return t;
}

static MPI_Datatype make_subarray(int n, int order)
{
    int sizes[3] = {6, 5, n + 3}, subsizes[3] = {3, 4, n}, starts[3] = {2, 1, 1};
    MPI_Datatype t;

    PMPI_Type_create_subarray(3, sizes, subsizes, starts, order, MPI_DOUBLE, &t);
    return t;
}

/* A column whose extent is one element: a matrix in transposed order is `n` of them. */
static MPI_Datatype make_column(int n, bool of_rows)
{
    MPI_Datatype column, resized, t;

    PMPI_Type_vector(n, 1, n, MPI_DOUBLE, &column);
    PMPI_Type_create_resized(column, 0, of_rows ? 8 * (MPI_Aint)n * n : 8, &resized);
    PMPI_Type_contiguous(of_rows ? 2 : 3, resized, &t);
    free_type(&column);
    free_type(&resized);
    return t;
}

static MPI_Datatype make_nested(int n)
{
    MPI_Datatype inner, t;

    PMPI_Type_vector(3, 2, 5, MPI_INT, &inner);
    PMPI_Type_create_hvector(n, 2, 144, inner, &t);
    free_type(&inner);
    return t;
}

static MPI_Datatype make_dup(int n)
{
    MPI_Datatype v, t;

    PMPI_Type_vector(n, 1, 3, MPI_FLOAT, &v);
    PMPI_Type_dup(v, &t);
    free_type(&v);
    return t;
}

static MPI_Datatype make(int i, int n)
{
    MPI_Datatype t;

    switch (i) {
    case 0: PMPI_Type_vector(n, 1, 2, MPI_INT, &t); return t;
    case 1: PMPI_Type_create_hvector(n, 1, 64, MPI_DOUBLE, &t); return t;
    case 2: PMPI_Type_create_hvector(n, 2, -24, MPI_DOUBLE, &t); return t;
    case 7: return make_struct(n);
    case 8: PMPI_Type_vector(n, 1, 2, MPI_DOUBLE_INT, &t); return t;
    case 9: return make_subarray(n, MPI_ORDER_C);
    case 10: return make_subarray(n, MPI_ORDER_FORTRAN);
    case 11: return make_column(n > 60 ? 60 : n, false);
    case 12: return make_column(n > 60 ? 60 : n, true);
    case 13: return make_nested(n);
    case 14: PMPI_Type_contiguous(n, MPI_INT, &t); return t;
    case 15: return make_dup(n);
    case 16: PMPI_Type_contiguous(n, MPI_SHORT_INT, &t); return t;
    case 17: PMPI_Type_create_hvector((n + 49) / 50, 500, 4096, MPI_DOUBLE, &t); return t;
    default: return make_indexed(i, n);
    }
}

MPI_Datatype test_type(int i, int n)
{
    MPI_Datatype t = make(i, n);

    MPI_Type_commit(&t);
    return t;
}

/*
 * Open MPI 5.0 (5.0.11) puts elements into wrong places when a fragment of a message ends inside of nested blocks that
 * lie no multiple of the element's size apart, as in ctg(2777)[hvec(3,3,13)[MPI_INT]]. There, what lies between blocks
 * is rounded up.
 */
static MPI_Aint gap(MPI_Aint bytes)
{
#if defined OPEN_MPI && OMPI_MAJOR_VERSION == 5
    return (bytes + 7) / 8 * 8;
#else
    return bytes;
#endif
}

static MPI_Datatype wrap(uint64_t *state, MPI_Datatype old)
{
    int count = 1 + (int)(test_random(state) % 5), len = 1 + (int)(test_random(state) % 3);
    MPI_Aint lb, extent;
    MPI_Datatype t;

    PMPI_Type_get_extent(old, &lb, &extent);
    switch (test_random(state) % 5) {
    case 0: PMPI_Type_vector(count, len, len + (int)(test_random(state) % 3), old, &t); break;
    case 1:
        PMPI_Type_create_hvector(count, len, len * extent + gap((MPI_Aint)(test_random(state) % 20)), old, &t);
        break;
    case 2: PMPI_Type_create_resized(old, lb - 4, extent + gap(12), &t); break;
    case 3: PMPI_Type_contiguous(count, old, &t); break;
    default: {
        int displs[5];

        for (int k = 0; k < count; k++)
            displs[k] = (k * 3 % 5) * 2 * len;
        PMPI_Type_create_indexed_block(count, len, displs, old, &t);
    }
    }
    return t;
}

MPI_Datatype test_random_type(uint64_t *state)
{
    static const int basics = 4;
    MPI_Datatype basic[] = {MPI_CHAR, MPI_SHORT, MPI_INT, MPI_DOUBLE};
    MPI_Datatype t = wrap(state, basic[test_random(state) % (uint64_t)basics]);

    for (uint64_t levels = test_random(state) % 3; levels > 0; levels--) {
        MPI_Datatype outer = wrap(state, t);

        free_type(&t);
        t = outer;
    }
    MPI_Type_commit(&t);
    return t;
}
