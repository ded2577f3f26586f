#include "tools/measure/messages.h"

#include "base/clock.h"
#include "base/samples.h"
#include "runtime/engine/gpu/device.h"
#include "runtime/engine/gpu/transfer.h"
#include "runtime/mpi/strategy/strategy.h"
#include "tools/measure/node.h"
#include "tools/measure/stores.h"

#include <stdlib.h>
#include <string.h>

enum {
    IN_FLIGHT = 8,
    PAIR = 2,
    MOST_BLOCKING = 16 << 20, /* for contiguous messages */
    MOST_TYPED = 4 << 20,
    MOST_IN_FLIGHT = 4 << 20,
    MOST_FAR = 4 << 20,
    MOST_FAR_IN_FLIGHT = 512 << 10,
    WARM_UP = 2,
    LEAVES_CACHES = 1 << 20
};

/*
 * Denser than the axes of kernels where MPIs change their protocols: from short messages to those that the receiver
 * fetches, and from block to block where walking over blocks and packing them cost about the same.
 */
static const int64_t sizes_at[] = {64,       256,       1 << 10,   4 << 10,   8 << 10, 10 << 10, 16 << 10, 32 << 10,
                                   64 << 10, 128 << 10, 256 << 10, 512 << 10, 1 << 20, 2 << 20,  4 << 20,  16 << 20};
static const int64_t lengths_at[] = {4, 8, 16, 32, 64, 128, 256, 512, 1024, 4096};
static const pw_axis sizes = {sizes_at, sizeof sizes_at / sizeof *sizes_at};
static const pw_axis lengths = {lengths_at, sizeof lengths_at / sizeof *lengths_at};

/* Every buffer has room for all messages in flight, with their gaps. */
static const size_t buffer_bytes = (size_t)IN_FLIGHT * MOST_TYPED * PW_MODEL_NEAR;

/* The probe's kind: kind of call, memory, and how the message is sent; far ones come behind the near ones. */
enum { PLAIN, NATIVE, PACKED, PIPELINE, NATIVE_FAR, PACKED_FAR, PIPELINE_FAR, BY_MEMORY, BY_CALL = 2 * BY_MEMORY };

/* What one probe sends: `count` objects that lie `stretch` bytes apart. */
typedef struct parcel {
    MPI_Datatype type;
    int count;
    size_t stretch;
} parcel;

/* ---- parcels ----------------------------------------------------------------------------------------------------- */

MPI_Datatype pw_measure_vector(int64_t bytes, int64_t block, int every)
{
    MPI_Datatype element = block % 8 == 0 ? MPI_DOUBLE : block % 4 == 0 ? MPI_INT : MPI_BYTE, type;
    int64_t size = block % 8 == 0 ? 8 : block % 4 == 0 ? 4 : 1;

    MPI_Type_vector((int)(bytes / block), (int)(block / size), (int)(every * block / size), element, &type);
    MPI_Type_commit(&type);
    return type;
}

static parcel *parcel_of(pw_probe *p)
{
    int way = p->kind % BY_MEMORY, every = way >= NATIVE_FAR ? PW_MODEL_FAR : PW_MODEL_NEAR;
    bool typed = way != PLAIN, collective = p->kind / BY_CALL == PW_CALL_COLLECTIVE;
    /* The size of a probe of a collective is that of all its blocks. */
    int64_t bytes = collective ? p->bytes / PAIR : p->bytes, block = p->block < bytes ? p->block : bytes;
    parcel *all = p->own;

    if (all)
        return all;
    all = malloc(sizeof *all);
    if (!all)
        return NULL;
    *all = (parcel){.type = MPI_BYTE, .count = (int)bytes, .stretch = (size_t)bytes};
    if (typed)
        *all = (parcel){.type = pw_measure_vector(bytes, block, every), .count = 1, .stretch = (size_t)(bytes * every)};
    p->own = all;
    return all;
}

/* ---- exchanges --------------------------------------------------------------------------------------------------- */

typedef struct calls {
    int (*send)(const void *, int, MPI_Datatype, int, int, MPI_Comm);
    int (*recv)(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Status *);
    int (*isend)(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
    int (*irecv)(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
    int (*waitall)(int, MPI_Request[], MPI_Status *);
    int (*alltoall)(const void *, int, MPI_Datatype, void *, int, MPI_Datatype, MPI_Comm);
    int (*neighbours)(const void *, const int[], const MPI_Aint[], const MPI_Datatype[], void *, const int[],
                      const MPI_Aint[], const MPI_Datatype[], MPI_Comm);
} calls;

static const calls ours = {MPI_Send, MPI_Recv, MPI_Isend, MPI_Irecv, MPI_Waitall, MPI_Alltoall, MPI_Neighbor_alltoallw};
static const calls below = {
    PMPI_Send, PMPI_Recv, PMPI_Isend, PMPI_Irecv, PMPI_Waitall, PMPI_Alltoall, PMPI_Neighbor_alltoallw};

typedef struct buffers {
    char *send, *recv;
} buffers;

static void ping_pong(const calls *c, const pw_measure_messages *m, const parcel *x, buffers b)
{
    MPI_Status status;

    if (m->rank == 0)
        c->send(b.send, x->count, x->type, 1, 0, m->pair);
    c->recv(b.recv, x->count, x->type, 1 - m->rank, 0, m->pair, &status);
    if (m->rank == 1)
        c->send(b.send, x->count, x->type, 0, 0, m->pair);
}

static void in_flight(const calls *c, const pw_measure_messages *m, const parcel *x, buffers b)
{
    MPI_Request requests[2 * IN_FLIGHT];
    MPI_Status statuses[2 * IN_FLIGHT]; /* GCC 12 warns of MPICH's constant for none */

    for (int i = 0; i < IN_FLIGHT; i++)
        c->irecv(b.recv + (size_t)i * x->stretch, x->count, x->type, 1 - m->rank, i, m->pair, &requests[i]);
    for (int i = 0; i < IN_FLIGHT; i++)
        c->isend(b.send + (size_t)i * x->stretch, x->count, x->type, 1 - m->rank, i, m->pair, &requests[IN_FLIGHT + i]);
    c->waitall(2 * IN_FLIGHT, requests, statuses);
}

/* On a ring of two, each rank is both neighbours of the other. */
static void neighbours(const calls *c, const pw_measure_messages *m, const parcel *x, buffers b)
{
    const int counts[PAIR] = {x->count, x->count};
    const MPI_Aint displs[PAIR] = {0, (MPI_Aint)x->stretch};
    const MPI_Datatype types[PAIR] = {x->type, x->type};

    c->neighbours(b.send, counts, displs, types, b.recv, counts, displs, types, m->ring);
}

static void exchange(const calls *c, const pw_measure_messages *m, const parcel *x, buffers b, int kind)
{
    switch (kind) {
    case PW_CALL_BLOCKING: ping_pong(c, m, x, b); break;
    case PW_CALL_NONBLOCKING: in_flight(c, m, x, b); break;
    case PW_CALL_COLLECTIVE: c->alltoall(b.send, x->count, x->type, b.recv, x->count, x->type, m->pair); break;
    default: neighbours(c, m, x, b); break;
    }
}

/* Returns the strategy of a probe that takes the way of a program's call. PW_STRATEGY_NATIVE: it does not. */
static pw_strategy_id strategy_of(int way)
{
    switch (way) {
    case PACKED:
    case PACKED_FAR: return PW_STRATEGY_PACKED;
    case PIPELINE:
    case PIPELINE_FAR: return PW_STRATEGY_PIPELINE;
    default: return PW_STRATEGY_NATIVE;
    }
}

/* Times each run by itself and takes the median: a rank that loses its core in one run says nothing about the others.
 * The first runs do not count, since the caches have forgotten the message meanwhile; a long message leaves no cache
 * warm in any case. */
static double run(pw_probe *p, int runs)
{
    static const double per_message[PW_MODEL_KINDS] = {2, IN_FLIGHT, 1, PAIR};
    const pw_measure_messages *m = p->arg;
    pw_strategy_id strategy = strategy_of(p->kind % BY_MEMORY);
    const calls *c = strategy == PW_STRATEGY_NATIVE ? &below : &ours;
    const parcel *x = parcel_of(p);
    int memory = p->kind / BY_MEMORY % 2, kind = p->kind / BY_CALL;
    buffers b = {m->send[memory], m->recv[memory]};
    int warm_up = p->bytes < LEAVES_CACHES ? WARM_UP : 0;
    double *times = malloc((size_t)runs * sizeof *times), ns;

    if (!x || !times)
        MPI_Abort(m->pair, 1); /* the other rank would wait for ever */
    packwright_force_strategy(strategy);
    PMPI_Barrier(m->pair);
    for (int i = -warm_up; i < runs; i++) {
        int64_t begin = pw_clock_ns();

        exchange(c, m, x, b, kind);
        if (i >= 0)
            times[i] = (double)(pw_clock_ns() - begin);
    }
    ns = pw_samples_median(times, runs) / per_message[kind];
    free(times);
    return ns;
}

static double run_stores(pw_probe *p, int runs)
{
    const pw_measure_messages *m = p->arg;
    double *times = malloc((size_t)runs * sizeof *times), ns;

    if (!times)
        MPI_Abort(m->pair, 1);
    pw_measure_stores(m->pair, 1 - m->rank, times, runs);
    ns = pw_samples_median(times, runs);
    free(times);
    return ns;
}

int pw_measure_agree(void *pair, int value)
{
    PMPI_Bcast(&value, 1, MPI_INT, 0, *(MPI_Comm *)pair);
    return value;
}

/* Whether kernels can move messages in the MPI's pipeline, which shows when a type is committed. */
static bool has_pipeline(void)
{
    MPI_Datatype type = pw_measure_vector(64, 8, PW_MODEL_NEAR);

    MPI_Type_free(&type);
    return packwright_force_strategy(PW_STRATEGY_PIPELINE);
}

/* ---- the part ---------------------------------------------------------------------------------------------------- */

static bool all_have(bool here, MPI_Comm comm)
{
    int mine = here, all = 0;

    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, comm);
    return all;
}

static bool take_host(pw_measure_messages *m)
{
    m->send[0] = aligned_alloc(4096, buffer_bytes);
    m->recv[0] = aligned_alloc(4096, buffer_bytes);
    if (!m->send[0] || !m->recv[0])
        return false;
    memset(m->send[0], 1, buffer_bytes);
    memset(m->recv[0], 2, buffer_bytes);
    return true;
}

static bool take_device(pw_measure_messages *m)
{
    pw_diag diag;

    m->gpu = pw_measure_gpu_load(&diag) == PW_OK ? pw_gpu_get_primary(0) : NULL;
    if (!m->gpu || pw_gpu_take(m->gpu, PW_GPU_DEVICE_MEMORY, (int64_t)buffer_bytes, &m->blocks[0]) != PW_OK ||
        pw_gpu_take(m->gpu, PW_GPU_DEVICE_MEMORY, (int64_t)buffer_bytes, &m->blocks[1]) != PW_OK)
        return false;
    m->send[1] = (char *)(uintptr_t)m->blocks[0]->device;
    m->recv[1] = (char *)(uintptr_t)m->blocks[1]->device;
    return true;
}

/* Adds the other probes of host memory for which `native` is the pattern: far blocks, packed messages, and those that
 * kernels move in the MPI's pipeline, if it has a place for them. */
static void add_ways(pw_measure_messages *m, pw_probe_list *list, const pw_probe *native, unsigned kind)
{
    int64_t most_far = kind == PW_CALL_BLOCKING ? MOST_FAR : MOST_FAR_IN_FLIGHT;
    bool piped = m->pipeline && kind == PW_CALL_BLOCKING;
    const struct {
        int way, first;
        bool there;
        int64_t most;
    } ways[] = {{PACKED, PW_TABLE_PACKED_HOST, true, MOST_TYPED},
                {PIPELINE, PW_TABLE_PIPELINE_HOST, piped, MOST_TYPED},
                {NATIVE_FAR, PW_TABLE_NATIVE_HOST_FAR, true, most_far},
                {PACKED_FAR, PW_TABLE_PACKED_HOST_FAR, true, most_far},
                {PIPELINE_FAR, PW_TABLE_PIPELINE_HOST_FAR, piped, most_far}};

    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        pw_probe like = *native;

        like.kind += ways[i].way - NATIVE;
        if (ways[i].there)
            pw_probe_add(list, (pw_model_table_id)((unsigned)ways[i].first + kind), &sizes, &lengths, ways[i].most,
                         &like);
    }
}

static void add_stores(pw_measure_messages *m, pw_probe_list *list)
{
    static const int64_t bytes[] = {PW_MEASURE_STORED};
    static const pw_axis axis = {bytes, 1};

    /* A store's cost is the upper quartile: if the cores were apart for part of the measurement, so they were for some
     * of the messages. */
    pw_probe_add(list, PW_TABLE_STORES_HOST, &axis, NULL, PW_MEASURE_STORED,
                 &(pw_probe){.run = run_stores, .arg = m, .careful = true});
}

static void add_probes(pw_measure_messages *m, int memory, pw_probe_list *list)
{
    pw_model_table_id plain = memory ? PW_TABLE_SEND_DEVICE : PW_TABLE_SEND_HOST;
    pw_model_table_id typed = memory ? PW_TABLE_NATIVE_DEVICE : PW_TABLE_NATIVE_HOST;

    for (unsigned kind = 0; kind < PW_MODEL_KINDS; kind++) {
        pw_probe like = {.run = run, .arg = m, .kind = (int)kind * BY_CALL + memory * BY_MEMORY};

        pw_probe_add(list, plain + kind, &sizes, NULL, kind == PW_CALL_BLOCKING ? MOST_BLOCKING : MOST_IN_FLIGHT,
                     &like);
        like.kind += NATIVE - PLAIN;
        pw_probe_add(list, typed + kind, &sizes, &lengths, MOST_TYPED, &like);
        if (!memory)
            add_ways(m, list, &like, kind);
    }
}

pw_status pw_measure_messages_begin(pw_measure_messages *m, MPI_Comm pair, bool gpu, pw_probe_list *list)
{
    const int ranks = PAIR, round = true;

    *m = (pw_measure_messages){.pair = pair, .pipeline = has_pipeline()};
    MPI_Comm_rank(pair, &m->rank);
    PMPI_Cart_create(pair, 1, &ranks, &round, 0, &m->ring);
    if (!all_have(take_host(m), pair)) {
        pw_measure_messages_end(m, list);
        return PW_ERR_NOMEM;
    }
    add_probes(m, 0, list);
    add_stores(m, list);
    if (gpu && all_have(take_device(m), pair))
        add_probes(m, 1, list);
    return PW_OK;
}

void pw_measure_messages_end(pw_measure_messages *m, pw_probe_list *list)
{
    for (int i = 0; i < list->n; i++) {
        parcel *x = list->at[i].own;

        if (list->at[i].run != run || !x)
            continue;
        if (x->type != MPI_BYTE)
            MPI_Type_free(&x->type);
        free(x);
    }
    if (m->gpu) {
        pw_gpu_give(m->gpu, m->blocks[0]);
        pw_gpu_give(m->gpu, m->blocks[1]);
    }
    PMPI_Comm_free(&m->ring);
    free(m->send[0]);
    free(m->recv[0]);
}
