/*
 * For PACKWRIGHT_STATS: ranks use different sets of types, one of them shared. With a rank as argument, that rank is
 * inert and must not keep the others waiting. "exchange": two ranks send a type and receive an array, 20 times.
 * "named": the same with types that have names, which are freed before the end. "many": 40 types are packed, each some
 * times. "apart": ranks send to themselves alone, and write to files. "faces": four faces of a box, made in one place.
 * "leaks": rank 0 does not free 5 types, and each rank one more.
 */
#include "tests/mpi/support/harness.h"

#include <locale.h>

static void use(MPI_Datatype type, int times)
{
    test_buffer memory = test_buffer_create(type, 1);
    int bytes = test_packed_bytes(type, 1);
    char *packed = malloc((size_t)bytes + 1);

    test_buffer_fill(&memory, 1);
    for (int i = 0; i < times; i++) {
        int p = 0;

        MPI_Pack(memory.origin, 1, type, packed, bytes, &p, MPI_COMM_SELF);
    }
    test_buffer_free(&memory);
    free(packed);
}

static void exchange(int rank)
{
    enum { TIMES = 20, ELEMENTS = 1000 };
    static double out[2 * ELEMENTS], in[ELEMENTS];
    MPI_Datatype type;

    MPI_Type_vector(ELEMENTS, 1, 2, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    for (int i = 0; i < TIMES; i++)
        MPI_Sendrecv(out, 1, type, 1 - rank, 1, in, ELEMENTS, MPI_DOUBLE, 1 - rank, 1, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    MPI_Type_free(&type);
    MPI_Finalize();
}

static void named(int rank)
{
    enum { TIMES = 20, ROWS = 64 };
    static double out[ROWS][ROWS], in[ROWS][ROWS];
    MPI_Datatype column, twin, unnamed;

    MPI_Type_vector(ROWS, 1, ROWS, MPI_DOUBLE, &column);
    MPI_Type_set_name(column, "column <left & right>");
    MPI_Type_commit(&column);
    MPI_Type_create_hvector(ROWS, 1, ROWS * sizeof(double), MPI_DOUBLE, &twin);
    MPI_Type_commit(&twin);
    MPI_Type_set_name(twin, "twin");
    MPI_Type_vector(ROWS, 2, ROWS, MPI_DOUBLE, &unnamed);
    MPI_Type_commit(&unnamed);
    for (int i = 0; i < TIMES; i++) {
        MPI_Sendrecv(out, 1, column, 1 - rank, 1, in, 1, twin, 1 - rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Sendrecv(out, 1, unnamed, 1 - rank, 1, in, 1, unnamed, 1 - rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Type_free(&column);
    MPI_Type_free(&twin);
    MPI_Type_free(&unnamed);
    MPI_Finalize();
}

/* Ten blocks to oneself, and five writes. */
static void apart(int rank)
{
    enum { TIMES = 10, WRITES = 5, ELEMENTS = 2048 };
    static double out[2 * ELEMENTS], in[2 * ELEMENTS];
    int one[1] = {1}, zero[1] = {0};
    char path[32];
    MPI_Datatype column;
    MPI_File file;

    MPI_Type_vector(ELEMENTS, 1, 2, MPI_DOUBLE, &column);
    MPI_Type_commit(&column);
    for (int i = 0; i < TIMES; i++)
        MPI_Alltoallw(out, one, zero, &column, in, one, zero, &column, MPI_COMM_SELF);
    snprintf(path, sizeof path, "apart.%d", rank);
    MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                  &file);
    for (int i = 0; i < WRITES; i++)
        MPI_File_write_at(file, 0, out, 1, column, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
    MPI_Type_free(&column);
    MPI_Finalize();
}

static void faces(void)
{
    enum { N = 96 };

    for (int where = 0; where < N; where += N / 4) {
        int sizes[4] = {2, N, N, N}, subsizes[4] = {1, N - 2, N - 2, 1}, starts[4] = {1, 1, 1, where};
        MPI_Datatype face;

        MPI_Type_create_subarray(4, sizes, subsizes, starts, MPI_ORDER_C, MPI_DOUBLE, &face);
        MPI_Type_commit(&face); /* the place that the report names */
        use(face, 5);
        MPI_Type_free(&face);
    }
    MPI_Finalize();
}

static void leaks(int rank)
{
    for (int i = 0; i < 10; i++) {
        MPI_Datatype type;

        MPI_Type_vector(10, 1, 2, MPI_DOUBLE, &type);
        MPI_Type_commit(&type); /* the place of the types that are left */
        if (rank != 0 || i % 2 == 0)
            MPI_Type_free(&type);
    }
    use(test_type(1, 10), 1);
    for (int i = 1; i <= 4; i++) { /* freed past the interposer, as a tool below it does */
        MPI_Datatype type;

        MPI_Type_vector(20 * i, 1, 2, MPI_DOUBLE, &type);
        MPI_Type_commit(&type);
        PMPI_Type_free(&type);
    }
    MPI_Finalize();
}

static void many(void)
{
    for (int i = 0; i < 40; i++) {
        MPI_Datatype type;

        MPI_Type_vector(50 + 20 * i, 1, 2, MPI_DOUBLE, &type);
        MPI_Type_commit(&type);
        use(type, 50);
        MPI_Type_free(&type);
    }
    MPI_Finalize();
}

int main(int argc, char **argv)
{
    MPI_Datatype shared, equal, own, unused;
    int rank, sizes[2] = {16, 32}, subsizes[2] = {10, 1}, starts[2] = {0, 0};

    if (argc > 1 && argv[1][0] >= '0' && argv[1][0] <= '9' && atoi(argv[1]) == test_launch_rank())
        setenv("PACKWRIGHT_DISABLE", "1", 1);
    setlocale(LC_ALL, ""); /* as programs with a user interface do */
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc > 1 && !strcmp(argv[1], "exchange")) {
        exchange(rank);
        return 0;
    }
    if (argc > 1 && !strcmp(argv[1], "named")) {
        named(rank);
        return 0;
    }
    if (argc > 1 && !strcmp(argv[1], "apart")) {
        apart(rank);
        return 0;
    }
    if (argc > 1 && !strcmp(argv[1], "faces")) {
        faces();
        return 0;
    }
    if (argc > 1 && !strcmp(argv[1], "leaks")) {
        leaks(rank);
        return 0;
    }
    if (argc > 1 && !strcmp(argv[1], "many")) {
        many();
        return 0;
    }
    MPI_Type_vector(10, 1, 32, MPI_DOUBLE, &shared);
    MPI_Type_create_subarray(2, sizes, subsizes, starts, MPI_ORDER_C, MPI_DOUBLE, &own);
    /* The same bytes by another constructor, with the same extent: one line. */
    MPI_Type_create_resized(own, 0, (9 * 32 + 1) * 8, &equal);
    MPI_Type_free(&own);
    MPI_Type_vector(5 + rank, 1, 7 + rank, MPI_INT, &own);
    MPI_Type_vector(3, 1, 2, MPI_CHAR, &unused);
    MPI_Type_commit(&shared);
    MPI_Type_commit(&equal);
    MPI_Type_commit(&own);
    MPI_Type_commit(&unused);
    use(shared, 100);
    use(equal, 11);
    use(own, 1 + rank);
    MPI_Type_free(&shared);
    MPI_Type_free(&own);
    MPI_Finalize();
    return 0;
}
