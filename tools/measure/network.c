#include "tools/measure/network.h"

#include "base/clock.h"
#include "base/samples.h"
#include "runtime/mpi/collective/remote.h"
#include "runtime/mpi/strategy/strategy.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 4 << 20, WARM_UP = 2, LEFT = 0, READ = 1, WAYS = 2, NEAR = 2 };

/* Hardware gains from pieces of some KiB on, UCX's own messages in shared memory from 16 KiB on. */
static const int64_t sizes[] = {16 << 10, 64 << 10, 256 << 10, 1 << 20, MOST};
static const int64_t lengths[] = {512, 1 << 10, 2 << 10, 4 << 10, 8 << 10, 16 << 10, 64 << 10, 256 << 10};
enum { SIZES = sizeof sizes / sizeof *sizes, LENGTHS = sizeof lengths / sizeof *lengths };

/* Reading gains if it takes no more than this part of the time: what differs less says nothing. */
static const double gaining = 0.95;

int pw_measure_agree(void *pair, int value)
{
    PMPI_Bcast(&value, 1, MPI_INT, 0, *(MPI_Comm *)pair);
    return value;
}

/* Makes a committed type of blocks of `block` bytes, one every NEAR lengths, `bytes` in all. */
static MPI_Datatype make_vector(int64_t bytes, int64_t block)
{
    MPI_Datatype type;

    MPI_Type_vector((int)(bytes / block), (int)(block / 8), (int)(NEAR * block / 8), MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    return type;
}

static MPI_Datatype *type_of(pw_probe *p)
{
    MPI_Datatype *type = p->own;

    if (type)
        return type;
    type = malloc(sizeof *type);
    if (type)
        *type = make_vector(p->bytes, p->block);
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
    packwright_force_strategy(pw_remote_strategy);
    for (int i = -WARM_UP; i < runs; i++) {
        int64_t begin;

        PMPI_Barrier(n->pair);
        begin = pw_clock_ns();
        exchange(n, *type, p->kind == READ);
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
    MPI_Datatype type = make_vector(sizes[0], lengths[0]);

    MPI_Comm_rank(n->pair, &rank);
    other = 1 - rank;
    PMPI_Dist_graph_create_adjacent(n->pair, 1, &other, &weight, 1, &other, &weight, MPI_INFO_NULL, 0, &n->line);
    packwright_force_strategy(pw_remote_strategy);
    exchange(n, type, true);
    MPI_Type_free(&type);
    n->transports = packwright_network_of(n->line);
    return n->transports;
}

/* Adds the probes of all sizes and of all lengths that are shorter, by both ways, one after the other. */
static void add_probes(pw_measure_network *n, pw_probe_list *list)
{
    for (int i = 0; i < SIZES; i++)
        for (int k = 0; k < LENGTHS && lengths[k] < sizes[i]; k++)
            for (int way = 0; way < WAYS; way++)
                pw_probe_add(list,
                             &(pw_probe){.run = run, .arg = n, .kind = way, .bytes = sizes[i], .block = lengths[k]});
}

pw_status pw_measure_network_begin(pw_measure_network *n, MPI_Comm pair, pw_probe_list *list)
{
    const size_t room = (size_t)MOST * NEAR;
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
    add_probes(n, list);
    return PW_OK;
}

/* Whether the i-th pair of probes says that reading gains. Times that cannot be trusted say nothing. */
static bool gains(const pw_probe_list *list, int i, double spread)
{
    return pw_probe_time(&list->at[i + READ], spread) <= gaining * pw_probe_time(&list->at[i + LEFT], spread);
}

/* Returns the shortest length of which all longer ones gain, too, in messages of `bytes`. INFINITY: none does. */
static double least_block(const pw_probe_list *list, int64_t bytes, double spread)
{
    double least = INFINITY;

    for (int i = list->n - WAYS; i >= 0; i -= WAYS) {
        if (list->at[i].bytes != bytes)
            continue;
        if (!gains(list, i, spread))
            break;
        least = (double)list->at[i].block;
    }
    return least;
}

/* Returns the shortest message of which all longer ones gain, too, in such blocks. */
static double least_bytes(const pw_probe_list *list, double block, double spread)
{
    double least = INFINITY;

    for (int i = list->n - WAYS; i >= 0; i -= WAYS) {
        if ((double)list->at[i].block != block)
            continue;
        if (!gains(list, i, spread))
            break;
        least = (double)list->at[i].bytes;
    }
    return least;
}

pw_status pw_measure_network_facts(const pw_measure_network *n, const pw_probe_list *list, double spread, pw_model *m,
                                   pw_diag *diag)
{
    double block = least_block(list, MOST, spread), least = isinf(block) ? block : least_bytes(list, block, spread);
    int trusted = 0;

    for (int i = 0; i < list->n; i++)
        trusted += !isnan(pw_probe_time(&list->at[i], spread));
    if (2 * trusted < list->n)
        return pw_diag_set(diag, PW_ERR_UNSUPPORTED,
                           "network: only %d of %d times can be trusted: the machine is busy with other work; nothing "
                           "is written",
                           trusted, list->n);
    snprintf(m->origin.network, sizeof m->origin.network, "%s", n->transports);
    pw_model_set(m, PW_FACT_remote_least, least, diag);
    return isinf(least) ? PW_OK : pw_model_set(m, PW_FACT_remote_block, block, diag);
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
