#include "tools/measure/network.h"

#include "base/clock.h"
#include "base/samples.h"
#include "runtime/mpi/collective/remote.h"
#include "runtime/mpi/strategy/strategy.h"
#include "tools/measure/messages.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 4 << 20, WARM_UP = 2 };

/* Hardware gains from pieces of some KiB on, UCX's own messages in shared memory from 16 KiB on. */
static const int64_t sizes_at[] = {16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20};
static const int64_t lengths_at[] = {512, 1 << 10, 2 << 10, 4 << 10, 8 << 10, 16 << 10, 64 << 10, 256 << 10};
static const pw_axis sizes = {sizes_at, sizeof sizes_at / sizeof *sizes_at};
static const pw_axis lengths = {lengths_at, sizeof lengths_at / sizeof *lengths_at};

static MPI_Datatype *type_of(pw_probe *p)
{
    MPI_Datatype *type = p->own;

    if (type)
        return type;
    type = malloc(sizeof *type);
    if (type)
        *type = pw_measure_vector(p->bytes, p->block < p->bytes ? p->block : p->bytes / 2, PW_MODEL_NEAR);
    return p->own = type;
}

static void exchange(const pw_measure_network *n, MPI_Datatype type, bool read)
{
    const int one = 1;
    const MPI_Aint zero = 0;

    (read ? MPI_Neighbor_alltoallw : PMPI_Neighbor_alltoallw)(n->send, &one, &zero, &type, n->recv, &one, &zero, &type,
                                                              n->line);
}

/* The first runs register memory, and tell each other of the layout. */
static double run(pw_probe *p, int runs)
{
    const pw_measure_network *n = p->arg;
    MPI_Datatype *type = type_of(p);
    double *times = malloc((size_t)runs * sizeof *times), ns;

    if (!type || !times)
        MPI_Abort(n->pair, 1); /* the other rank would wait for ever */
    packwright_force_strategy(PW_STRATEGY_REMOTE);
    for (int i = -WARM_UP; i < runs; i++) {
        int64_t begin;

        PMPI_Barrier(n->pair);
        begin = pw_clock_ns();
        exchange(n, *type, p->table == PW_TABLE_REMOTE_READ);
        if (i >= 0)
            times[i] = (double)(pw_clock_ns() - begin);
    }
    ns = pw_samples_median(times, runs);
    free(times);
    return ns;
}

/* Makes the communicator, whose ranks agree on the network in their first exchange. */
static bool make_line(pw_measure_network *n)
{
    int rank, other, weight = 1;
    MPI_Datatype type = pw_measure_vector(sizes_at[0], lengths_at[0], PW_MODEL_NEAR);

    MPI_Comm_rank(n->pair, &rank);
    other = 1 - rank;
    PMPI_Dist_graph_create_adjacent(n->pair, 1, &other, &weight, 1, &other, &weight, MPI_INFO_NULL, 0, &n->line);
    packwright_force_strategy(PW_STRATEGY_REMOTE);
    exchange(n, type, true);
    MPI_Type_free(&type);
    n->transports = packwright_network_of(n->line);
    return n->transports;
}

pw_status pw_measure_network_begin(pw_measure_network *n, MPI_Comm pair, pw_probe_list *list)
{
    const size_t room = (size_t)MOST * PW_MODEL_NEAR;
    int mine, all = 0;

    *n = (pw_measure_network){.pair = pair, .line = MPI_COMM_NULL};
    n->send = aligned_alloc(4096, room);
    n->recv = aligned_alloc(4096, room);
    mine = n->send && n->recv;
    PMPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, pair);
    if (!all) {
        pw_measure_network_end(n, list);
        return PW_ERR_NOMEM;
    }
    memset(n->send, 1, room);
    memset(n->recv, 2, room);
    if (!make_line(n)) {
        pw_measure_network_end(n, list);
        return PW_ERR_NOT_FOUND;
    }
    pw_probe_add(list, PW_TABLE_REMOTE_READ, &sizes, &lengths, MOST, &(pw_probe){.run = run, .arg = n});
    pw_probe_add(list, PW_TABLE_REMOTE_LEFT, &sizes, &lengths, MOST, &(pw_probe){.run = run, .arg = n});
    return PW_OK;
}

void pw_measure_network_end(pw_measure_network *n, pw_probe_list *list)
{
    for (int i = 0; i < list->n; i++) {
        if (list->at[i].own)
            MPI_Type_free(list->at[i].own);
        free(list->at[i].own);
    }
    if (n->line != MPI_COMM_NULL)
        PMPI_Comm_free(&n->line);
    free(n->send);
    free(n->recv);
}
