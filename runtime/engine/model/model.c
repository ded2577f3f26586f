#include "runtime/engine/model/model.h"

#include "runtime/engine/memory/outbound.h"
#include "runtime/engine/model/cost.h"
#include "runtime/engine/model/internal.h"
#include "runtime/engine/model/tables.h"

#include <math.h>

enum {
    DEFAULT_CHUNK = 4 << 20,
    SHARED_LEAST = 16 << 10, /* shorter messages in GPU memory are copied by MPI (runtime/mpi/strategy/gpu.c) */
    DIRECT_LINE = 64,        /* bytes of a line of memory */
    DIRECT_BLOCK = 32,       /* bytes of the shortest blocks for which one copy gains */
    DIRECT_FAR = 512 << 10,  /* longer messages between ranks that share no cache gain less from one copy */
    SPARSE_BLOCK = 32,
    SPARSE_LEAST = 16 << 10,
    SPARSE_MOST = 256 << 10,
    BY_ENGINE = 64 << 10 /* longer copies to and from the host are done by copy engines, not by the front end */
};

static int64_t at_least_one(int64_t v)
{
    return v > 0 ? v : 1;
}

pw_model_shape pw_model_shape_of(int64_t bytes, int64_t blocks, int64_t extent)
{
    int64_t block = at_least_one(bytes / at_least_one(blocks));
    double spread = fabs((double)extent) / (double)at_least_one(bytes);

    return (pw_model_shape){bytes, block, fmax(spread, PW_MODEL_NEAR)};
}

static int64_t blocks_of(pw_model_shape s)
{
    return (s.bytes + s.block - 1) / at_least_one(s.block);
}

/* ---- parts --------------------------------------------------------------------------------------------------- */

/* Returns the time from a table. NaN: the table has no measurements for such a message, and the caller takes a default.
 */
static double ask(const pw_model *m, pw_model_table_id id, int64_t bytes, int64_t block)
{
    if (id == PW_TABLE_COUNT || !pw_model_has(m, id))
        return NAN;
    return pw_model_table_at(&m->tables[id], (double)at_least_one(bytes), (double)at_least_one(block));
}

static double first_known(double measured, double otherwise)
{
    return isnan(measured) ? otherwise : measured;
}

/* Returns the table of a move for near blocks; that for far blocks follows it. */
static pw_model_table_id table_of_move(pw_model_memory packed, pw_direction direction)
{
    static const pw_model_table_id near[PW_MODEL_MEMORIES][PW_DIRECTIONS] = {
        [PW_MODEL_HOST] = {PW_TABLE_PACK_HOST_NEAR, PW_TABLE_UNPACK_HOST_NEAR},
        [PW_MODEL_DEVICE] = {PW_TABLE_PACK_DEVICE_NEAR, PW_TABLE_UNPACK_DEVICE_NEAR},
        [PW_MODEL_MAPPED] = {PW_TABLE_PACK_MAPPED_NEAR, PW_TABLE_UNPACK_MAPPED_NEAR},
        [PW_MODEL_STAGED] = {PW_TABLE_PACK_STAGED_NEAR, PW_TABLE_UNPACK_STAGED_NEAR},
        [PW_MODEL_PIPELINED] = {PW_TABLE_PACK_PIPELINED_NEAR, PW_TABLE_UNPACK_PIPELINED_NEAR},
    };

    return near[packed][direction];
}

/* Interpolates between the tables for near and far blocks. Blocks farther apart count as far. */
static double by_spread(const pw_model *m, pw_model_table_id near, pw_model_table_id far, pw_model_shape s)
{
    static const double range = (double)PW_MODEL_FAR / PW_MODEL_NEAR;
    double t = ask(m, near, s.bytes, s.block), ratio;

    if (s.spread <= PW_MODEL_NEAR)
        return t;
    ratio = ask(m, far, s.bytes, s.block) / t;
    return s.spread >= PW_MODEL_FAR ? t * ratio : t * pow(ratio, log2(s.spread / PW_MODEL_NEAR) / log2(range));
}

/* Returns the wait for pages and lines that measured times do not include: blocks as far apart as measured ones have
 * waited during the measurement, farther ones wait longer. */
static double wait_beyond(pw_model_shape s)
{
    pw_model_shape measured = s;

    measured.spread = fmin(s.spread, PW_MODEL_FAR);
    return pw_touch_wait(s) - pw_touch_wait(measured);
}

static double measured_move(const pw_model *m, pw_model_memory packed, pw_direction direction, pw_model_shape s)
{
    pw_model_table_id near = table_of_move(packed, direction), far = near + 1;

    if (!pw_model_has(m, near) || !pw_model_has(m, far))
        return ask(m, pw_model_has(m, near) ? near : far, s.bytes, s.block);
    return by_spread(m, near, far, s);
}

static pw_model_copy_way way_of(pw_direction direction)
{
    return direction == PW_PACK ? PW_MODEL_D2H : PW_MODEL_H2D;
}

/*
 * What a copy adds to a kernel in the same stream: the time for its bytes, and part of a launch, as seen on an H100. A
 * copy after the kernel adds nearly half a launch, since it waits for the kernel's end; one before it adds a third; and
 * a copy engine adds more than half a launch to either.
 */
static double copy_beside(const pw_model *m, pw_direction direction, int64_t bytes)
{
    pw_model_copy_way way = way_of(direction);
    double more = pw_model_copy(m, way, bytes) - pw_model_copy(m, way, 1);
    double launches = (direction == PW_PACK ? 0.4 : 0.3) + (bytes > BY_ENGINE ? 0.6 : 0);

    return (more > 0 ? more : 0) + launches * pw_model_launch(m);
}

static double staged(const pw_model *m, pw_direction direction, pw_model_shape s)
{
    return pw_model_move(m, PW_MODEL_DEVICE, direction, s) + copy_beside(m, direction, s.bytes);
}

/* Kernel and copy engine work at the same time, each on its own chunk. The first chunk takes as long as alone. Each
 * other one takes the time of the slower of the two, and a quarter of a launch, since launches overlap with work, too.
 */
static double pipelined(const pw_model *m, pw_direction direction, pw_model_shape s, int64_t chunk)
{
    pw_model_shape part = s;
    double chunks, kernel, copy, launch = pw_model_launch(m), first;

    if (s.bytes <= chunk)
        return staged(m, direction, s);
    part.bytes = chunk;
    chunks = (double)((s.bytes + chunk - 1) / chunk);
    first = staged(m, direction, part);
    kernel = pw_model_move(m, PW_MODEL_DEVICE, direction, part) - launch * 3 / 4;
    copy = pw_model_copy(m, way_of(direction), chunk) - pw_model_copy(m, way_of(direction), 1) + launch / 4;
    return first + (chunks - 1) * (kernel > copy ? kernel : copy);
}

double pw_model_move(const pw_model *m, pw_model_memory packed, pw_direction direction, pw_model_shape s)
{
    double measured = measured_move(m, packed, direction, s);

    if (!isnan(measured))
        return measured + (packed == PW_MODEL_HOST ? wait_beyond(s) : 0);
    switch (packed) {
    case PW_MODEL_HOST: return pw_model_default_move(packed, direction, s) + pw_touch_wait(s);
    case PW_MODEL_STAGED: return staged(m, direction, s);
    case PW_MODEL_PIPELINED: return pipelined(m, direction, s, DEFAULT_CHUNK);
    default: return pw_model_default_move(packed, direction, s);
    }
}

/* Returns the table for a kind of call in a group of tables that begins at `first`; the one for blocking calls if that
 * kind was not measured. PW_TABLE_COUNT: there is neither. */
static pw_model_table_id of_kind(const pw_model *m, pw_model_table_id first, pw_call_kind kind)
{
    pw_model_table_id id = first + (unsigned)kind;

    if ((int)kind < PW_MODEL_KINDS && pw_model_has(m, id))
        return id;
    return pw_model_has(m, first) ? first : PW_TABLE_COUNT;
}

double pw_model_send(const pw_model *m, pw_model_memory from, pw_call_kind kind, int64_t bytes)
{
    bool device = from == PW_MODEL_DEVICE;
    pw_model_table_id id = of_kind(m, device ? PW_TABLE_SEND_DEVICE : PW_TABLE_SEND_HOST, kind);

    return first_known(ask(m, id, bytes, 1), pw_model_default_send(device, bytes));
}

/* What far blocks add to times that were measured for near blocks only. They add about as much to the walk of an MPI as
 * to packing and unpacking. */
static double of_spread(const pw_model *m, pw_model_memory memory, pw_model_shape s)
{
    pw_model_shape near = s;
    double more = 0;

    near.spread = PW_MODEL_NEAR;
    s.spread = fmin(s.spread, PW_MODEL_FAR);
    for (int direction = 0; s.spread > PW_MODEL_NEAR && direction < PW_DIRECTIONS; direction++) {
        double extra = pw_model_move(m, memory, (pw_direction)direction, s) -
                       pw_model_move(m, memory, (pw_direction)direction, near);

        more += extra > 0 ? extra : 0;
    }
    return more;
}

/* Returns the time of a whole message in host memory, of one kind of call. The tables for far blocks may be missing. */
static double whole_message(const pw_model *m, pw_model_table_id near, pw_model_table_id far, pw_model_shape s)
{
    if (pw_model_has(m, far))
        return by_spread(m, near, far, s);
    return ask(m, near, s.bytes, s.block) + of_spread(m, PW_MODEL_HOST, s);
}

static double measured_packed(const pw_model *m, pw_call_kind kind, pw_model_shape s)
{
    pw_model_table_id near = PW_TABLE_PACKED_HOST + (unsigned)kind;

    if (pw_model_has(m, near))
        return whole_message(m, near, PW_TABLE_PACKED_HOST_FAR + (unsigned)kind, s) + 2 * wait_beyond(s);
    return pw_model_move(m, PW_MODEL_HOST, PW_PACK, s) + pw_model_send(m, PW_MODEL_HOST, kind, s.bytes) +
           pw_model_move(m, PW_MODEL_HOST, PW_UNPACK, s);
}

/* The costs of a message in host memory, left to MPI and packed. If either was not measured, both come from cost.h:
 * measured times are never compared with default ones. */
typedef struct host_times {
    double native, packed; /* NaN: not measured */
} host_times;

static host_times measured_host(const pw_model *m, pw_call_kind kind, pw_model_shape s)
{
    static const host_times none = {NAN, NAN};
    host_times t = none;

    if ((int)kind >= PW_MODEL_KINDS || !pw_model_has(m, PW_TABLE_NATIVE_HOST + (unsigned)kind))
        return none;
    t.native = whole_message(m, PW_TABLE_NATIVE_HOST + (unsigned)kind, PW_TABLE_NATIVE_HOST_FAR + (unsigned)kind, s);
    t.packed = measured_packed(m, kind, s);
    return isnan(t.native) || isnan(t.packed) ? none : t;
}

/* Returns the measured time of a message whose pieces kernels move in the MPI's pipeline. NaN: it was not measured, or
 * native and packed were not, with which it is compared. */
static double measured_pipeline(const pw_model *m, pw_call_kind kind, pw_model_shape s)
{
    if (kind != PW_CALL_BLOCKING || !pw_model_has(m, PW_TABLE_PIPELINE_HOST) || isnan(measured_host(m, kind, s).native))
        return NAN;
    return whole_message(m, PW_TABLE_PIPELINE_HOST, PW_TABLE_PIPELINE_HOST_FAR, s);
}

double pw_model_native(const pw_model *m, pw_model_memory memory, pw_call_kind kind, pw_model_shape s)
{
    double measured;

    if (memory != PW_MODEL_DEVICE)
        return first_known(measured_host(m, kind, s).native, pw_cost_native(kind, s.bytes, blocks_of(s)));
    measured = ask(m, of_kind(m, PW_TABLE_NATIVE_DEVICE, kind), s.bytes, s.block);
    if (isnan(measured))
        return pw_model_default_native_device(s.bytes, blocks_of(s));
    return measured + of_spread(m, PW_MODEL_DEVICE, s);
}

double pw_model_copy(const pw_model *m, pw_model_copy_way way, int64_t bytes)
{
    pw_model_table_id id = PW_TABLE_COPY_D2H + (unsigned)way;

    return first_known(ask(m, id, bytes, 1), pw_model_default_copy(way, bytes));
}

bool pw_model_has_across(const pw_model *m)
{
    return pw_model_has(m, PW_TABLE_DIRECT_DEVICE_NEAR) && pw_model_has(m, PW_TABLE_DIRECT_DEVICE_FAR);
}

double pw_model_move_across(const pw_model *m, pw_model_shape s)
{
    double measured =
        pw_model_has_across(m) ? by_spread(m, PW_TABLE_DIRECT_DEVICE_NEAR, PW_TABLE_DIRECT_DEVICE_FAR, s) : NAN;

    return first_known(measured, pw_model_default_across(s)) + pw_touch_wait_across(s);
}

double pw_model_launch(const pw_model *m)
{
    return pw_model_has(m, PW_TABLE_LAUNCH) ? m->tables[PW_TABLE_LAUNCH].t[0] : pw_model_default_launch();
}

/* ---- what a rank does itself ------------------------------------------------------------------------------------- */

static double own_pipelined(const pw_model *m, const pw_model_query *q, pw_direction direction)
{
    double measured = measured_move(m, PW_MODEL_PIPELINED, direction, q->shape);

    return isnan(measured) ? pipelined(m, direction, q->shape, q->chunk) : measured;
}

static pw_model_shape dense_shape(const pw_model_query *q)
{
    return (pw_model_shape){.bytes = q->shape.bytes, .block = q->shape.bytes, .spread = PW_MODEL_NEAR};
}

/* Whether a message that is packed stays in the sender's GPU memory, from where the receiver's GPU unpacks it. */
static bool stays_in_gpu(pw_model_memory packed, const pw_model_query *q)
{
    return q->opened && packed > PW_MODEL_DEVICE && q->shape.bytes >= PW_MODEL_OPENED_LEAST;
}

/* Unpacking waits for the link or for the receiver's memory. */
static double own_in_gpu(const pw_model *m, const pw_model_query *q, pw_direction direction)
{
    double moved = q->contiguous ? pw_model_copy(m, PW_MODEL_D2D, q->shape.bytes)
                                 : pw_model_move(m, PW_MODEL_DEVICE, direction, q->shape);

    return direction == PW_PACK ? moved : fmax(moved, pw_model_move_across(m, dense_shape(q)));
}

double pw_model_own(const pw_model *m, pw_model_memory packed, const pw_model_query *q, pw_direction direction)
{
    if (stays_in_gpu(packed, q))
        return own_in_gpu(m, q, direction);
    if (!q->contiguous || packed == PW_MODEL_HOST)
        return packed == PW_MODEL_PIPELINED ? own_pipelined(m, q, direction)
                                            : pw_model_move(m, packed, direction, q->shape);
    return packed == PW_MODEL_DEVICE ? 0 : pw_model_copy(m, way_of(direction), q->shape.bytes);
}

/* ---- whole strategies ----------------------------------------------------------------------------------------- */

/* Returns how long one walk waits for what is out of reach, as far as the other numbers for a message do not include
 * it. */
static double wait_of(const pw_model *m, const pw_model_query *q)
{
    if (q->memory == PW_MODEL_DEVICE)
        return 0;
    return isnan(measured_host(m, q->kind, q->shape).native) ? pw_touch_wait(q->shape) : wait_beyond(q->shape);
}

/*
 * How many walks over a message's blocks a native message waits for, one after the other. The MPI sends a message in
 * pieces, so that both ranks walk at the same time. Ranks that share no cache wait for the pieces themselves, and ranks
 * that both send and receive wait for two walks.
 */
static double native_walks(const pw_model_query *q)
{
    return q->kind == PW_CALL_BLOCKING && !q->apart ? 1 : 2;
}

double pw_model_cost_native(const pw_model *m, const pw_model_query *q)
{
    if (q->contiguous)
        return pw_model_send(m, q->memory, q->kind, q->shape.bytes);
    return pw_model_native(m, q->memory, q->kind, q->shape) + native_walks(q) * wait_of(m, q);
}

/* Returns whether the blocks are so short that any MPI's walk costs more than packing. The answer is no for few blocks,
 * and for so many that both wait for memory. */
static bool is_sparse(pw_model_shape s)
{
    return s.block < SPARSE_BLOCK && s.bytes >= SPARSE_LEAST && s.bytes <= SPARSE_MOST;
}

static pw_cost_way way_of_sharing(const pw_model_query *q)
{
    return !q->shared ? PW_COST_COPIED : q->apart ? PW_COST_SHARED_APART : PW_COST_SHARED;
}

/*
 * Between cores that share a cache, native messages are up to four times as fast as between other cores, while packing
 * is not. So tables that were measured between other cores promise too much of packing, unless the defaults, which hold
 * for both, agree.
 */
static bool promises_too_much(const pw_model *m, const pw_model_query *q)
{
    int64_t blocks = blocks_of(q->shape);

    return !q->apart && !is_sparse(q->shape) && pw_model_has(m, PW_TABLE_STORES_HOST) &&
           m->tables[PW_TABLE_STORES_HOST].t[0] > PW_OUTBOUND_DEAR_NS &&
           pw_cost_native(q->kind, q->shape.bytes, blocks) <=
               pw_cost_packed(q->kind, q->shape.bytes, blocks, way_of_sharing(q));
}

static double cost_on_host(const pw_model *m, const pw_model_query *q)
{
    host_times t = measured_host(m, q->kind, q->shape);

    if (isnan(t.packed))
        return pw_cost_packed(q->kind, q->shape.bytes, blocks_of(q->shape), way_of_sharing(q)) + 2 * wait_of(m, q);
    return promises_too_much(m, q) ? fmax(t.packed, pw_model_cost_native(m, q)) : t.packed;
}

/* The cost of a packed message from pinned memory to pinned memory. If the receiver's GPU reads the sender's memory,
 * MPI copies nothing, and the message takes no longer than the shortest one. */
static double pinned_send(const pw_model *m, const pw_model_query *q)
{
    int64_t copied = q->shared && q->shape.bytes > SHARED_LEAST ? SHARED_LEAST : q->shape.bytes;

    return pw_model_send(m, PW_MODEL_HOST, q->kind, copied);
}

double pw_model_cost(const pw_model *m, pw_model_memory packed, const pw_model_query *q)
{
    double send;

    if (packed == PW_MODEL_HOST)
        return cost_on_host(m, q);
    send = packed == PW_MODEL_DEVICE ? pw_model_send(m, PW_MODEL_DEVICE, q->kind, q->shape.bytes) : pinned_send(m, q);
    return pw_model_own(m, packed, q, PW_PACK) + send + pw_model_own(m, packed, q, PW_UNPACK);
}

double pw_model_own_across(const pw_model *m, const pw_model_query *q)
{
    return pw_model_move_across(m, q->contiguous ? dense_shape(q) : q->shape);
}

double pw_model_cost_across(const pw_model *m, const pw_model_query *q)
{
    return pinned_send(m, q) + pw_model_own_across(m, q);
}

/* Returns whether tables of the MPI's pipeline hold for this rank: the pipeline gains most between cores that share a
 * cache. Which cores were measured, and which these are, shows in stores; it does not matter where the MPI copies. */
static bool is_as_measured(const pw_model *m, const pw_model_query *q)
{
    if (!q->shared || !pw_model_has(m, PW_TABLE_STORES_HOST))
        return true;
    return m->tables[PW_TABLE_STORES_HOST].t[0] > PW_OUTBOUND_DEAR_NS ? q->apart : q->near;
}

/*
 * Kernels in the MPI's pipeline wait for what is out of reach as the MPI's own walk does. Where that pipeline was not
 * measured, its work takes a part of that of the better one of native and packed.
 */
double pw_model_cost_pipeline(const pw_model *m, const pw_model_query *q)
{
    double wait = wait_of(m, q), walks = native_walks(q) * wait, measured = measured_pipeline(m, q->kind, q->shape);
    double others = fmin(pw_model_cost_native(m, q) - walks, pw_model_cost(m, PW_MODEL_HOST, q) - 2 * wait);

    if (!isnan(measured) && is_as_measured(m, q))
        return measured + walks;
    return walks + others * pw_cost_pipeline_part(q->kind, q->shape.bytes, q->shape.block, way_of_sharing(q), q->near);
}

/* What one copy takes at most. It is not slower than the MPI's own copy of as many contiguous bytes where blocks are
 * whole lines of memory (docs/results/2026-11-23-direct-bounds.md). */
static double single_copy(const pw_model *m, const pw_model_query *q)
{
    return q->shape.block < DIRECT_LINE ? INFINITY
                                        : pw_model_send(m, PW_MODEL_HOST, q->kind, q->shape.bytes) + 2 * wait_of(m, q);
}

/*
 * One pass in place of two takes half of the time where lines of memory come from a cache, and less is gained where
 * ranks that share no cache move more than their own caches have. No gain was clear with shorter blocks
 * (docs/results/2026-11-23-direct.md). On a tie `packed` is taken.
 */
double pw_model_cost_direct(const pw_model *m, const pw_model_query *q)
{
    double packed = pw_model_cost(m, PW_MODEL_HOST, q), part;

    if (q->shape.block < DIRECT_BLOCK)
        return packed;
    part = (q->apart && q->shape.bytes > DIRECT_FAR ? 0.75 : 0.55) * packed;
    return fmin(part, single_copy(m, q));
}
