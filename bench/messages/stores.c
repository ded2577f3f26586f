#include "bench/messages/stores.h"

#include "bench/clock.h"
#include "bench/messages/measure.h"
#include "runtime/outbound.h"

#include <string.h>

enum { BYTES = 32 << 10, LINE = 64, TIMES = 31, WARM = 5 };

double msg_stores(const msg_world *w)
{
    static char from[BYTES], sent[BYTES], received[BYTES];
    double ns[TIMES];

    for (int i = -WARM; i < TIMES; i++) {
        double begin = bench_now();

        memcpy(sent, from, BYTES);
        if (i >= 0)
            ns[i] = bench_now() - begin;
        if (w->rank % 2 == 0)
            PMPI_Send(sent, BYTES, MPI_BYTE, w->partner, 0, w->all);
        PMPI_Recv(received, BYTES, MPI_BYTE, w->partner, 0, w->all, MPI_STATUS_IGNORE);
        if (w->rank % 2 == 1)
            PMPI_Send(sent, BYTES, MPI_BYTE, w->partner, 0, w->all);
    }
    return w->partner == MPI_PROC_NULL ? 0 : msg_median(ns, TIMES) / (BYTES / LINE);
}

msg_distance msg_distance_of(double before, double after)
{
    bool far[] = {before > PW_OUTBOUND_DEAR_NS, after > PW_OUTBOUND_DEAR_NS};

    if (far[0] != far[1])
        return MSG_CHANGED;
    return far[0] ? MSG_FAR : MSG_NEAR;
}

const char *msg_distance_name(msg_distance d)
{
    static const char *const names[MSG_DISTANCES] = {"-", "near", "far"};

    return names[d];
}
