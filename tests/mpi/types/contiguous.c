/*
 * Messages that are one block, of types longer than that: with MPICH below they leave from and arrive in the user's own
 * memory, as bytes; what only covers a block, in another order or in pieces, does not. A tool below sees what is sent.
 */
#include "tests/mpi/support/count_calls.h"
#include "tests/mpi/support/count_collectives.h"
#include "tests/mpi/support/harness.h"

enum { ROWS = 24, COLUMNS = 500, TAG = 3 };

static int rank;
static bool is_open_mpi;

typedef struct array {
    double at[ROWS][COLUMNS];
} array;

static MPI_Datatype subarray(int row, int column, int rows, int columns)
{
    int sizes[] = {ROWS, COLUMNS}, subsizes[] = {rows, columns}, starts[] = {row, column};
    MPI_Datatype type;

    MPI_Type_create_subarray(2, sizes, subsizes, starts, MPI_ORDER_C, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    return type;
}

/* Two halves of a row, the second first. */
static MPI_Datatype swapped(void)
{
    int displs[] = {COLUMNS / 2, 0};
    MPI_Datatype type;

    MPI_Type_create_indexed_block(2, COLUMNS / 2, displs, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    return type;
}

static MPI_Datatype stretched(int doubles)
{
    MPI_Datatype block, type;

    MPI_Type_contiguous(doubles, MPI_DOUBLE, &block);
    MPI_Type_create_resized(block, 0, (MPI_Aint)sizeof(double) * COLUMNS, &type);
    MPI_Type_commit(&type);
    MPI_Type_free(&block);
    return type;
}

/* What reaches MPI: the user's memory as bytes? */
static bool went_as_bytes(const array *from)
{
    uintptr_t at = (uintptr_t)count_sent_from;

    return count_sent_type == MPI_BYTE && at >= (uintptr_t)from && at < (uintptr_t)(from + 1);
}

/* Rank 1 must find what MPI's own packing says, and nothing else touched. */
static void check_received(const array *from, const array *got, MPI_Datatype type, int count, const char *what)
{
    array *expected = calloc(1, sizeof *expected);
    char *packed = malloc(sizeof *from);
    int position = 0, at = 0;

    PMPI_Pack(from, count, type, packed, (int)sizeof *from, &position, MPI_COMM_SELF);
    PMPI_Unpack(packed, position, &at, expected, count, type, MPI_COMM_SELF);
    CHECK(!memcmp(expected, got, sizeof *got), "%s: received something else", what);
    free(packed);
    free(expected);
}

static void exchange(MPI_Datatype type, int count, bool one_block, const char *what)
{
    array *from = malloc(sizeof *from), *got = calloc(1, sizeof *got);
    MPI_Request request;
    MPI_Status status;
    int n;

    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++)
            from->at[i][j] = i * COLUMNS + j + 0.5;
    if (rank == 0) {
        MPI_Send(from, count, type, 1, TAG, MPI_COMM_WORLD);
        CHECK(went_as_bytes(from) == (one_block && !is_open_mpi), "%s: as bytes: %d", what, went_as_bytes(from));
        MPI_Isend(from, count, type, 1, TAG, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
        MPI_Recv(got, count, type, 0, TAG, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, type, &n);
        CHECK(n == count, "%s: %d objects", what, n);
        check_received(from, got, type, count, what);
        memset(got, 0, sizeof *got);
        MPI_Irecv(got, count, type, 0, TAG, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, &status);
        check_received(from, got, type, count, what);
    }
    MPI_Type_free(&type);
    free(got);
    free(from);
}

/* Behind what has come of a message shorter than its buffer nothing is written. */
static void receive_less(void)
{
    MPI_Datatype type = subarray(3, 0, 2, COLUMNS);
    array *got = calloc(1, sizeof *got);
    double sent[COLUMNS];
    MPI_Status status;
    int n;

    for (int i = 0; i < COLUMNS; i++)
        sent[i] = i + 1;
    if (rank == 0)
        MPI_Send(sent, COLUMNS, MPI_DOUBLE, 1, TAG, MPI_COMM_WORLD);
    if (rank == 1) {
        MPI_Recv(got, 1, type, 0, TAG, MPI_COMM_WORLD, &status);
        MPI_Get_elements(&status, type, &n);
        CHECK(n == COLUMNS, "%d elements", n);
        CHECK(got->at[3][0] == 1 && got->at[3][COLUMNS - 1] == COLUMNS && got->at[4][0] == 0 && got->at[2][0] == 0,
              "a shorter message: %g to %g, then %g", got->at[3][0], got->at[3][COLUMNS - 1], got->at[4][0]);
    }
    MPI_Type_free(&type);
    free(got);
}

/* Beside a column that is staged, rows that are one block go to neighbours where they lie. */
static void exchange_halos(void)
{
    enum { HEIGHT = 4096, WIDTH = 16, ALL = 2 * HEIGHT * WIDTH }; /* columns above, rows below */
    const int sizes[] = {2 * HEIGHT, WIDTH}, column[] = {HEIGHT, 1}, rows[] = {HEIGHT / WIDTH, WIDTH}, one = 2,
              round = 1;
    const int from[][2] = {{0, 3}, {HEIGHT, 0}}, to[][2] = {{0, 9}, {HEIGHT + 512, 0}}, counts[] = {1, 1};
    const MPI_Aint displs[] = {0, 0};
    static double sent[ALL], got[ALL], expected[ALL];
    MPI_Datatype send[2], recv[2];
    MPI_Comm ring;

    MPI_Cart_create(MPI_COMM_WORLD, 1, &one, &round, 0, &ring);
    for (int i = 0; i < 2; i++) {
        MPI_Type_create_subarray(2, sizes, i ? rows : column, from[i], MPI_ORDER_C, MPI_DOUBLE, &send[i]);
        MPI_Type_create_subarray(2, sizes, i ? rows : column, to[i], MPI_ORDER_C, MPI_DOUBLE, &recv[i]);
        MPI_Type_commit(&send[i]);
        MPI_Type_commit(&recv[i]);
    }
    for (int i = 0; i < ALL; i++)
        sent[i] = rank * 1e6 + i;
    PMPI_Neighbor_alltoallw(sent, counts, displs, send, expected, counts, displs, recv, ring);
    for (int again = 0; again < 3; again++) {
        memset(got, 0, sizeof got);
        MPI_Neighbor_alltoallw(sent, counts, displs, send, got, counts, displs, recv, ring);
        CHECK(!memcmp(got, expected, sizeof got), "halos came out otherwise, %d", again);
        CHECK((count_second_type == send[1]) == is_open_mpi, "rows: as they are");
    }
    for (int i = 0; i < 2; i++) {
        MPI_Type_free(&send[i]);
        MPI_Type_free(&recv[i]);
    }
    MPI_Comm_free(&ring);
}

int main(int argc, char **argv)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length, rc;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Get_library_version(version, &length);
    is_open_mpi = !strncmp(version, "Open MPI", strlen("Open MPI"));
    exchange(subarray(5, 0, 1, COLUMNS), 1, true, "a row");
    exchange(subarray(0, 0, 1, COLUMNS), 1, true, "the first row");
    exchange(subarray(2, 7, 1, 3), 1, true, "a part of a row");
    exchange(subarray(20, 0, 4, COLUMNS), 1, true, "rows");
    exchange(stretched(300), 1, true, "a block and a gap");
    exchange(stretched(300), 2, false, "two blocks with gaps");
    exchange(subarray(0, 4, ROWS, 1), 1, false, "a column");
    exchange(swapped(), 1, false, "halves the other way round");
    receive_less();
    exchange_halos();
    rc = test_result();
    MPI_Finalize();
    return rc;
}
