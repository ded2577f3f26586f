/*
 * Ranks that come to MPI_Finalize later than the rank that they have sent to. MPICH 3.4 to 4.1 over UCX waits there
 * forever if ranks are on several nodes, unless Packwright lets the early rank answer
 * (runtime/mpi/entry/disconnect.c). With the argument "freed", the early rank has sent a message whose request it has
 * freed, and which is received while it waits.
 */
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Longer than what any transport takes before the receiver asks for it. */
enum { FREED = 1 << 20 };

/* By then the early rank waits in the launcher's barrier. If it does not yet, the test shows nothing. */
static const struct timespec late = {.tv_nsec = 300 * 1000 * 1000};

static char freed[FREED];

static void send_freed(int size)
{
    for (int to = 1; to < size; to++) {
        MPI_Request request;

        MPI_Isend(freed, FREED, MPI_BYTE, to, 0, MPI_COMM_WORLD, &request);
        MPI_Request_free(&request);
    }
}

int main(int argc, char **argv)
{
    int rank, all[64], size;
    bool sends = argc > 1 && strcmp(argv[1], "freed") == 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size <= 64)
        MPI_Gather(&rank, 1, MPI_INT, all, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (sends && rank == 0)
        send_freed(size);
    if (rank != 0)
        nanosleep(&late, NULL);
    if (sends && rank != 0)
        MPI_Recv(freed, FREED, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
    if (rank == 0)
        puts("passed");
    return size > 64;
}
