#include "tools/measure/link.h"

#include "base/clock.h"
#include "base/samples.h"

#include <math.h>
#include <stdlib.h>

enum { SHORT = 64, LONG = 1 << 20, LONGEST = 4 << 20, IN_FLIGHT = 8, WARM_UP = 4, ROUNDS = 24 };

typedef struct link {
    MPI_Comm pair;
    int rank;
    char *buffer;
} link;

static void ping_pong(const link *l, int bytes)
{
    MPI_Status status;

    if (l->rank == 0)
        PMPI_Send(l->buffer, bytes, MPI_BYTE, 1, 0, l->pair);
    PMPI_Recv(l->buffer, bytes, MPI_BYTE, 1 - l->rank, 0, l->pair, &status);
    if (l->rank == 1)
        PMPI_Send(l->buffer, bytes, MPI_BYTE, 0, 0, l->pair);
}

static void in_flight(const link *l, int bytes)
{
    MPI_Request requests[2 * IN_FLIGHT];
    MPI_Status statuses[2 * IN_FLIGHT];

    for (int i = 0; i < IN_FLIGHT; i++)
        PMPI_Irecv(l->buffer + (size_t)(i + 1) * (size_t)bytes, bytes, MPI_BYTE, 1 - l->rank, i, l->pair, &requests[i]);
    for (int i = 0; i < IN_FLIGHT; i++)
        PMPI_Isend(l->buffer, bytes, MPI_BYTE, 1 - l->rank, i, l->pair, &requests[IN_FLIGHT + i]);
    PMPI_Waitall(2 * IN_FLIGHT, requests, statuses);
}

static double time_link(const link *l, int bytes, bool many)
{
    double times[ROUNDS];

    for (int i = -WARM_UP; i < ROUNDS; i++) {
        int64_t begin;

        PMPI_Barrier(l->pair);
        begin = pw_clock_ns();
        if (many)
            in_flight(l, bytes);
        else
            ping_pong(l, bytes);
        times[i < 0 ? 0 : i] = (double)(pw_clock_ns() - begin) / (many ? IN_FLIGHT : 2);
    }
    return pw_samples_median(times, ROUNDS);
}

bool pw_measure_link(MPI_Comm pair, pw_exchange_link *out)
{
    link l = {.pair = pair, .buffer = calloc(1, LONGEST)};
    double most, less;

    if (!l.buffer)
        return false;
    PMPI_Comm_rank(pair, &l.rank);
    most = time_link(&l, LONGEST, false);
    less = time_link(&l, LONG, false);
    out->latency = time_link(&l, SHORT, false);
    out->overhead = time_link(&l, SHORT, true) / 2;
    out->bandwidth = most > less ? (LONGEST - LONG) / (most - less) : INFINITY;
    free(l.buffer);
    return true;
}
