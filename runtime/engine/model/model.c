/* Purpose: costs of strategies, as sums of facts. Those in host memory are in runtime/choice/guess.c. */
#include "runtime/engine/model/model.h"

#include "runtime/choice/guess.h"

#include <math.h>
#include <string.h>

enum {
    SHARED_LEAST = 16 << 10, /* shorter messages in GPU memory are copied by MPI (runtime/mpi/strategy/gpu.c) */
    BY_ENGINE = 64 << 10,    /* longer copies to and from the host are done by copy engines, not by the front end */
    GRANULE = 64             /* DRAM of a GPU moves granules of so many bytes */
};

static int64_t at_least_one(int64_t v)
{
    return v > 0 ? v : 1;
}

pw_model_shape pw_model_shape_of(int64_t bytes, int64_t blocks, int64_t extent)
{
    int64_t block = at_least_one(bytes / at_least_one(blocks));
    double spread = fabs((double)extent) / (double)at_least_one(bytes);

    return (pw_model_shape){bytes, block, fmax(spread, 2)};
}

static int64_t blocks_of(pw_model_shape s)
{
    return (s.bytes + s.block - 1) / at_least_one(s.block);
}

static pw_model_shape dense_shape(const pw_model_query *q)
{
    return (pw_model_shape){.bytes = q->shape.bytes, .block = q->shape.bytes, .spread = 2};
}

/* ---- kernels and copies of GPUs ---------------------------------------------------------------------------------- */

/* Returns the bytes of all granules that hold a part of a block, at most those from the first block to the last. */
static double touched(pw_model_shape s)
{
    double bytes = (double)s.bytes;
    double alone = bytes / (double)s.block * (double)((s.block + GRANULE - 1) / GRANULE * GRANULE);

    return fmin(alone, s.spread * bytes);
}

static double traffic(const pw_facts *f, pw_direction direction, pw_model_shape s)
{
    double granules = touched(s), bytes = granules + (double)s.bytes;

    /* Granules that are written in part are read first. */
    if (direction == PW_UNPACK && s.block % GRANULE)
        bytes += granules;
    return bytes / f->gpu_memory;
}

/* Pages of the GPU memory of two processes that lie out of the reach of its TLB are waited for. On an H200, columns of
 * doubles in 512 MiB took 140 us more than packed ones, and in 128 MiB as long. */
static double wait_for_pages(pw_model_shape s)
{
    enum { PAGE = 2 << 20, REACH = 128 };
    double blocks = (double)s.bytes / (double)s.block;
    double pages = fmin(blocks * (double)((s.block + PAGE - 1) / PAGE), ceil(s.spread * (double)s.bytes / PAGE));

    return pages > REACH ? 550 * pages : 0;
}

/* The kernel of a receiver that moves a message from the memory of another GPU. Whole granules cross the link, whatever
 * is read of them. */
static double across(const pw_facts *f, pw_model_shape s)
{
    return f->peer_launch + fmax((double)s.bytes / f->peer_bytes, touched(s) / f->peer_granules) + wait_for_pages(s);
}

static double copy_to_host(const pw_facts *f, int64_t bytes)
{
    return f->host_copy + (double)bytes / f->host_link;
}

/*
 * What a copy adds to a kernel in the same stream: the time for its bytes, and part of a launch, as seen on an H100. A
 * copy after the kernel adds nearly half a launch, since it waits for the kernel's end; one before it adds a third; and
 * a copy engine adds more than half a launch to either.
 */
static double copy_beside(const pw_facts *f, pw_direction direction, int64_t bytes)
{
    double launches = (direction == PW_PACK ? 0.4 : 0.3) + (bytes > BY_ENGINE ? 0.6 : 0);

    return (double)bytes / f->host_link + launches * f->launch;
}

static double to_device(const pw_facts *f, pw_direction direction, pw_model_shape s)
{
    return f->launch + traffic(f, direction, s);
}

static double to_mapped(const pw_facts *f, pw_direction direction, pw_model_shape s)
{
    return f->launch + (direction == PW_PACK ? 0 : f->mapped_read) +
           fmax(traffic(f, direction, s), (double)s.bytes / f->mapped);
}

static double staged(const pw_facts *f, pw_direction direction, pw_model_shape s)
{
    return to_device(f, direction, s) + copy_beside(f, direction, s.bytes);
}

/* Kernel and copy engine work at the same time, each on its own chunk. The first chunk takes as long as alone. Each
 * other one takes the time of the slower of the two, and a quarter of a launch, since launches overlap with work, too.
 */
static double pipelined(const pw_facts *f, pw_direction direction, pw_model_shape s, int64_t chunk)
{
    pw_model_shape part = s;
    double chunks, slower;

    if (s.bytes <= chunk)
        return staged(f, direction, s);
    part.bytes = chunk;
    chunks = (double)((s.bytes + chunk - 1) / chunk);
    slower = fmax(traffic(f, direction, part), (double)chunk / f->host_link) + f->launch / 4;
    return staged(f, direction, part) + (chunks - 1) * slower;
}

static double move(const pw_facts *f, pw_model_memory packed, pw_direction direction, const pw_model_query *q)
{
    switch (packed) {
    case PW_MODEL_DEVICE: return to_device(f, direction, q->shape);
    case PW_MODEL_MAPPED: return to_mapped(f, direction, q->shape);
    case PW_MODEL_STAGED: return staged(f, direction, q->shape);
    case PW_MODEL_PIPELINED: return pipelined(f, direction, q->shape, at_least_one(q->chunk));
    default: return pw_guess_move(f, q->shape.bytes, blocks_of(q->shape));
    }
}

/* ---- what a rank does itself ------------------------------------------------------------------------------------- */

/* Whether a message that is packed stays in the sender's GPU memory, from where the receiver's GPU unpacks it. */
static bool stays_in_gpu(pw_model_memory packed, const pw_model_query *q)
{
    return q->opened && packed > PW_MODEL_DEVICE && q->shape.bytes >= PW_MODEL_OPENED_LEAST;
}

/* Unpacking waits for the link or for the receiver's memory. */
static double own_in_gpu(const pw_facts *f, const pw_model_query *q, pw_direction direction)
{
    double moved = q->contiguous ? f->device_copy + (double)q->shape.bytes / (f->gpu_memory / 2)
                                 : to_device(f, direction, q->shape);

    return direction == PW_PACK ? moved : fmax(moved, across(f, dense_shape(q)));
}

double pw_model_own(const pw_model *m, pw_model_memory packed, const pw_model_query *q, pw_direction direction)
{
    if (stays_in_gpu(packed, q))
        return own_in_gpu(&m->facts, q, direction);
    if (!q->contiguous || packed == PW_MODEL_HOST)
        return move(&m->facts, packed, direction, q);
    return packed == PW_MODEL_DEVICE ? 0 : copy_to_host(&m->facts, q->shape.bytes);
}

/* ---- whole strategies -------------------------------------------------------------------------------------------- */

/*
 * An MPI that takes GPU memory opens the sender's memory and copies once: between two H200s Open MPI needs 10 us and
 * 380 bytes a nanosecond. The bandwidth here is that of PCI Express 5, since not all GPUs of a node are linked by
 * NVLink.
 */
static double send_device(int64_t bytes)
{
    return 10e3 + (double)bytes / 50;
}

/* Most MPIs move such a message block by block. */
static double native_device(int64_t bytes, int64_t blocks)
{
    return 20e3 + 1500 * (double)blocks + (double)bytes / 12;
}

static bool is_passed_on(pw_call_kind kind)
{
    return kind > PW_CALL_NEIGHBOUR;
}

double pw_model_cost_native(const pw_model *m, const pw_model_query *q)
{
    int64_t bytes = q->shape.bytes, blocks = blocks_of(q->shape);

    if (q->memory == PW_MODEL_DEVICE)
        return q->contiguous ? send_device(bytes) : native_device(bytes, blocks);
    if (q->contiguous)
        return pw_guess_contiguous(&m->facts, bytes);
    return (is_passed_on(q->kind) ? pw_guess_passed : pw_guess_native)(&m->facts, bytes, blocks);
}

static double cost_on_host(const pw_facts *f, const pw_model_query *q)
{
    int64_t bytes = q->shape.bytes, blocks = blocks_of(q->shape);

    return is_passed_on(q->kind) ? pw_guess_passed_packed(f, bytes, blocks)
                                 : pw_guess_packed(f, bytes, blocks, q->shared);
}

/* The cost of a packed message from pinned memory to pinned memory. If the receiver's GPU reads the sender's memory,
 * MPI copies nothing, and the message takes no longer than the shortest one. */
static double pinned_send(const pw_facts *f, const pw_model_query *q)
{
    return pw_guess_contiguous(f, q->shared && q->shape.bytes > SHARED_LEAST ? SHARED_LEAST : q->shape.bytes);
}

double pw_model_cost(const pw_model *m, pw_model_memory packed, const pw_model_query *q)
{
    double send;

    if (packed == PW_MODEL_HOST)
        return cost_on_host(&m->facts, q);
    send = packed == PW_MODEL_DEVICE ? send_device(q->shape.bytes) : pinned_send(&m->facts, q);
    return pw_model_own(m, packed, q, PW_PACK) + send + pw_model_own(m, packed, q, PW_UNPACK);
}

double pw_model_cost_direct(const pw_model *m, const pw_model_query *q)
{
    if (q->memory == PW_MODEL_DEVICE)
        return pinned_send(&m->facts, q) + across(&m->facts, q->contiguous ? dense_shape(q) : q->shape);
    return pw_guess_direct(&m->facts, q->shape.bytes, blocks_of(q->shape));
}

/* ---- blocks that are read over a network ------------------------------------------------------------------------- */

/* Whether blocks are read by default over these transports: all of them shared memory, where that was measured, or what
 * reads remote memory in hardware. Over TCP, UCX sends each piece by messages, and loses. */
static bool gains_by_default(const char *transports)
{
    static const char *const known[] = {"posix", "sysv", "cma", "knem", "xpmem", "self", "rc_", "dc_"};
    bool all = *transports;

    for (const char *name = transports; name && *name; name = strchr(name, ',')) {
        bool found = false;

        name += *name == ',';
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
            found |= strncmp(name, known[i], strlen(known[i])) == 0;
        all &= found;
    }
    return all;
}

/* Returns the facts that hold over these transports. NULL: nothing gains. Measured over other transports, they do not
 * count. */
static const pw_facts *facts_over(const pw_model *m, const char *transports)
{
    if (pw_model_has(m, PW_FACT_remote_least) && !strcmp(m->origin.network, transports))
        return isinf(m->facts.remote_least) ? NULL : &m->facts;
    return gains_by_default(transports) ? &pw_facts_default : NULL;
}

double pw_model_remote_part(const pw_model *m, const char *transports, int64_t bytes, int64_t block)
{
    static const double part = 0.8;
    const pw_facts *f = facts_over(m, transports);

    return f && (double)bytes >= f->remote_least && (double)block >= f->remote_block ? part : INFINITY;
}

int64_t pw_model_remote_least(const pw_model *m, const char *transports)
{
    const pw_facts *f = facts_over(m, transports);

    return f ? (int64_t)f->remote_least : INT64_MAX;
}
