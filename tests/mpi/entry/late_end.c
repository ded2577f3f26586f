/*
 * Ranks that come to MPI_Finalize later than the rank that they have sent to. MPICH 3.4 to 4.1 over UCX waits there
 * forever if ranks are on several nodes, unless Packwright lets the early rank answer
 * (runtime/mpi/entry/disconnect.c).
 */
#include <mpi.h>
#include <stdio.h>
#include <time.h>

/* By then the early rank waits in the launcher's barrier. If it does not yet, the test shows nothing. */
static const struct timespec late = {.tv_nsec = 300 * 1000 * 1000};

int main(int argc, char **argv)
{
    int rank, all[64], size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size <= 64)
        MPI_Gather(&rank, 1, MPI_INT, all, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (rank != 0)
        nanosleep(&late, NULL);
    MPI_Finalize();
    if (rank == 0)
        puts("passed");
    return size > 64;
}
