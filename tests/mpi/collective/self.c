/*
 * Blocks from a process to itself: halo exchanges within one array whose periodic directions have one process, and own
 * blocks of transposes, against what the MPI alone does. What lies around the blocks must stay as it is.
 *
 *   self [rounds]
 */
#include "tests/mpi/support/harness.h"

enum { DIMS = 3, FACES = 2 * DIMS };

static int rank, size;

/* ---- a box with ghost cells -------------------------------------------------------------------------------------- */

typedef struct box {
    int cells[DIMS]; /* with one ghost cell on each side */
    double *at;
    size_t bytes;
    MPI_Comm comm;
    MPI_Datatype send[FACES], receive[FACES];
} box;

/* A layer of cells across direction d. */
static MPI_Datatype layer(const box *b, int d, int at)
{
    int sizes[DIMS], starts[DIMS];
    MPI_Datatype type;

    for (int i = 0; i < DIMS; i++) {
        sizes[i] = i == d ? 1 : b->cells[i] - 2;
        starts[i] = i == d ? at : 1;
    }
    MPI_Type_create_subarray(DIMS, b->cells, sizes, starts, MPI_ORDER_C, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    return type;
}

static void box_create(box *b, const int *cells, bool shifted)
{
    int dims[DIMS] = {size, 1, 1}, periods[DIMS] = {1, 1, 1};

    if (shifted)
        dims[0] = 1, dims[2] = size;
    memcpy(b->cells, cells, sizeof b->cells);
    b->bytes = (size_t)(cells[0] * cells[1] * cells[2]) * sizeof(double);
    b->at = malloc(b->bytes);
    MPI_Cart_create(MPI_COMM_WORLD, DIMS, dims, periods, 0, &b->comm);
    for (int d = 0; d < DIMS; d++) {
        b->send[2 * d] = layer(b, d, 1);
        b->send[2 * d + 1] = layer(b, d, cells[d] - 2);
        b->receive[2 * d] = layer(b, d, 0);
        b->receive[2 * d + 1] = layer(b, d, cells[d] - 1);
    }
}

static void box_free(box *b)
{
    for (int i = 0; i < FACES; i++) {
        MPI_Type_free(&b->send[i]);
        MPI_Type_free(&b->receive[i]);
    }
    MPI_Comm_free(&b->comm);
    free(b->at);
}

static void exchange(const box *b, double *at, bool nonblocking, bool native)
{
    static const int counts[FACES] = {1, 1, 1, 1, 1, 1};
    static const MPI_Aint displs[FACES] = {0};
    MPI_Request request;

    if (!nonblocking) {
        (native ? PMPI_Neighbor_alltoallw : MPI_Neighbor_alltoallw)(at, counts, displs, b->send, at, counts, displs,
                                                                    b->receive, b->comm);
        return;
    }
    (native ? PMPI_Ineighbor_alltoallw : MPI_Ineighbor_alltoallw)(at, counts, displs, b->send, at, counts, displs,
                                                                  b->receive, b->comm, &request);
    (native ? PMPI_Wait : MPI_Wait)(&request, MPI_STATUS_IGNORE);
}

static void check_box(const int *cells, bool shifted, int rounds)
{
    double *expected;
    box b;

    box_create(&b, cells, shifted);
    expected = malloc(b.bytes);
    for (int i = 0; i < rounds; i++) {
        test_fill(b.at, b.bytes, (unsigned)(rank * 100 + i));
        memcpy(expected, b.at, b.bytes);
        exchange(&b, b.at, i % 2, false);
        exchange(&b, expected, i % 2, true);
        CHECK(!memcmp(b.at, expected, b.bytes), "round %d, box of %d %d %d cells", i, cells[0], cells[1], cells[2]);
    }
    free(expected);
    box_free(&b);
}

/* ---- a transpose ------------------------------------------------------------------------------------------------- */

/* Rows of `n` columns go out in blocks of columns, and come in as columns of blocks. */
static void check_transpose(int n, int rounds)
{
    enum { MOST = 16 };
    int counts[MOST], displs_out[MOST], displs_in[MOST];
    MPI_Datatype out, column, in, types_out[MOST], types_in[MOST];
    size_t bytes = (size_t)(n * n * size + 2) * sizeof(double);
    double *from = malloc(bytes), *to = malloc(bytes), *expected = malloc(bytes);

    MPI_Type_vector(n, n, n * size, MPI_DOUBLE, &out);
    MPI_Type_vector(n, 1, n * size, MPI_DOUBLE, &column);
    MPI_Type_create_hvector(n, 1, sizeof(double), column, &in);
    MPI_Type_commit(&out);
    MPI_Type_commit(&in);
    for (int i = 0; i < size; i++) {
        counts[i] = 1;
        displs_out[i] = displs_in[i] = i * n * (int)sizeof(double);
        types_out[i] = out;
        types_in[i] = in;
    }
    for (int i = 0; i < rounds; i++) {
        test_fill(from, bytes, (unsigned)(rank + i));
        test_fill(to, bytes, 99);
        memcpy(expected, to, bytes);
        MPI_Alltoallw(from, counts, displs_out, types_out, to + 1, counts, displs_in, types_in, MPI_COMM_WORLD);
        PMPI_Alltoallw(from, counts, displs_out, types_out, expected + 1, counts, displs_in, types_in, MPI_COMM_WORLD);
        CHECK(!memcmp(to, expected, bytes), "round %d, transpose of %d", i, n);
    }
    MPI_Type_free(&column);
    MPI_Type_free(&out);
    MPI_Type_free(&in);
    free(from);
    free(to);
    free(expected);
}

/* ---- what a root keeps ------------------------------------------------------------------------------------------- */

static void check_root(int rounds)
{
    enum { N = 2000 };
    MPI_Datatype sparse, spread;
    size_t bytes = (size_t)(3 * N * size + 8) * sizeof(double);
    double *many = malloc(bytes), *one = malloc(bytes), *expected = malloc(bytes);
    int root = size - 1;

    MPI_Type_vector(N, 1, 2, MPI_DOUBLE, &sparse);
    MPI_Type_create_resized(sparse, 0, 3 * N * sizeof(double), &spread);
    MPI_Type_commit(&sparse);
    MPI_Type_commit(&spread);
    for (int i = 0; i < rounds; i++) {
        test_fill(one, bytes, (unsigned)(rank + i));
        test_fill(many, bytes, 7);
        memcpy(expected, many, bytes);
        MPI_Gather(one, 1, sparse, many, 1, spread, root, MPI_COMM_WORLD);
        PMPI_Gather(one, 1, sparse, expected, 1, spread, root, MPI_COMM_WORLD);
        CHECK(!memcmp(many, expected, bytes), "round %d, gather", i);
        test_fill(one, bytes, 8);
        memcpy(expected, one, bytes);
        MPI_Scatter(many, 1, spread, one, N, MPI_DOUBLE, root, MPI_COMM_WORLD);
        PMPI_Scatter(many, 1, spread, expected, N, MPI_DOUBLE, root, MPI_COMM_WORLD);
        CHECK(!memcmp(one, expected, bytes), "round %d, scatter", i);
    }
    MPI_Type_free(&sparse);
    MPI_Type_free(&spread);
    free(many);
    free(one);
    free(expected);
}

int main(int argc, char **argv)
{
    static const int small[DIMS] = {6, 7, 5}, large[DIMS] = {38, 42, 44}, flat[DIMS] = {4, 3, 1200};
    int rounds = argc > 1 ? atoi(argv[1]) : 8, rc;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int shifted = 0; shifted < 2; shifted++) {
        check_box(small, shifted, rounds);
        check_box(large, shifted, rounds);
        check_box(flat, shifted, rounds);
    }
    check_transpose(16, rounds);
    check_transpose(60, rounds);
    check_root(rounds);
    rc = test_result();
    MPI_Finalize();
    return rc;
}
