/*
 * A program that knows nothing of Packwright: types, packs, messages, known results. Run with LD_PRELOAD. Arguments
 * name what /proc/self/maps must (+name) or must not (-name) contain at the end.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 64 };

static int errors;

static void expect(int ok, const char *what)
{
    if (!ok) {
        errors++;
        fprintf(stderr, "failed: %s\n", what);
    }
}

static int is_mapped(const char *name)
{
    char line[4096];
    FILE *f = fopen("/proc/self/maps", "r");
    int found = 0;

    while (f && fgets(line, sizeof line, f))
        found = found || strstr(line, name);
    if (f)
        fclose(f);
    return found;
}

/* Sends each column of a matrix to the next rank, which receives it as a row. */
static void columns_to_rows(int rank, int size)
{
    static double matrix[N][N], rows[N][N];
    int next = (rank + 1) % size, previous = (rank + size - 1) % size;
    MPI_Datatype column;

    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            matrix[i][j] = rank * 10000 + i * 100 + j;
    MPI_Type_vector(N, 1, N, MPI_DOUBLE, &column);
    MPI_Type_commit(&column);
    for (int j = 0; j < N; j++) {
        if (rank % 2 == 0) {
            MPI_Send(&matrix[0][j], 1, column, next, j, MPI_COMM_WORLD);
            MPI_Recv(rows[j], N, MPI_DOUBLE, previous, j, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(rows[j], N, MPI_DOUBLE, previous, j, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(&matrix[0][j], 1, column, next, j, MPI_COMM_WORLD);
        }
    }
    for (int j = 0; j < N; j++)
        for (int i = 0; i < N; i++)
            expect(rows[j][i] == previous * 10000 + i * 100 + j, "a column became a row");
    MPI_Type_free(&column);
}

static void pack_block(void)
{
    static double matrix[N][N], packed[16 * 16], back[N][N];
    int sizes[2] = {N, N}, subsizes[2] = {16, 16}, starts[2] = {8, 24}, position = 0;
    MPI_Datatype block;

    for (int i = 0; i < N * N; i++)
        matrix[i / N][i % N] = i;
    MPI_Type_create_subarray(2, sizes, subsizes, starts, MPI_ORDER_C, MPI_DOUBLE, &block);
    MPI_Type_commit(&block);
    /* The loop is long enough for the compiler thread to compile the kernel. */
    for (int repeat = 0; repeat < 2000; repeat++) {
        position = 0;
        MPI_Pack(matrix, 1, block, packed, sizeof packed, &position, MPI_COMM_WORLD);
    }
    expect(position == (int)sizeof packed, "position");
    position = 0;
    MPI_Unpack(packed, sizeof packed, &position, back, 1, block, MPI_COMM_WORLD);
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 16; j++) {
            expect(packed[i * 16 + j] == (8 + i) * N + 24 + j, "packed value");
            expect(back[8 + i][24 + j] == (8 + i) * N + 24 + j, "unpacked value");
        }
    MPI_Type_free(&block);
}

int main(int argc, char **argv)
{
    int rank, size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    pack_block();
    if (size % 2 == 0)
        columns_to_rows(rank, size);
    MPI_Finalize();
    for (int i = 1; i < argc; i++)
        expect(is_mapped(argv[i] + 1) == (argv[i][0] == '+'), argv[i]);
    if (rank == 0 && !errors)
        printf("passed\n");
    return errors != 0;
}
