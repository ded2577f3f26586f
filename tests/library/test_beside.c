/* The library in a program whose MPI calls go to the interposer: both pack the same, each by its own engine, while both
 * compile. */
#include <packwright/packwright.h>

#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { N = 2000, STRIDE = 3, ROUNDS = 300 };

static double from[N * STRIDE], by_mpi[N], by_library[N], back[N * STRIDE];

static int round_trip(MPI_Datatype type, const packwright_type *same, int rank)
{
    int position = 0;

    MPI_Pack(from, 1, type, by_mpi, (int)sizeof by_mpi, &position, MPI_COMM_WORLD);
    if (packwright_pack(same, from, 1, by_library) || memcmp(by_mpi, by_library, sizeof by_mpi) != 0)
        return 1;
    /* Packed by the library, unpacked by a receive of the other rank. */
    MPI_Sendrecv(by_library, N, MPI_DOUBLE, !rank, 0, back, 1, type, !rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < N; i++)
        if (back[i * STRIDE] != from[i * STRIDE] + (rank ? -1 : 1))
            return 1;
    return 0;
}

int main(int argc, char **argv)
{
    packwright_type *cell, *same;
    MPI_Datatype type;
    int rank, wrong = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < N * STRIDE; i++)
        from[i] = 2 * i + rank;
    MPI_Type_vector(N, 1, STRIDE, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    wrong |= packwright_bytes(8, 8, &cell) || packwright_vector(N, 1, STRIDE, cell, &same);
    for (int i = 0; i < ROUNDS && !wrong; i++)
        wrong = round_trip(type, same, rank);
    packwright_type_free(same);
    packwright_type_free(cell);
    MPI_Type_free(&type);
    if (wrong)
        printf("wrong: %s\n", packwright_last_error());
    MPI_Finalize();
    if (rank == 0 && !wrong)
        puts("beside: right");
    return wrong;
}
