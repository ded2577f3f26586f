#include "runtime/engine/model/model.h"

#include "runtime/choice/guess.h"
#include "runtime/engine/model/internal.h"
#include "runtime/engine/model/tables.h"

#include <math.h>

enum {
    DEFAULT_CHUNK = 4 << 20,
    SHARED_LEAST = 16 << 10, /* shorter messages in GPU memory are copied by MPI (runtime/mpi/strategy/gpu.c) */
    BY_ENGINE = 64 << 10     /* longer copies to and from the host are done by copy engines, not by the front end */
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
        return measured;
    switch (packed) {
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
        return whole_message(m, near, PW_TABLE_PACKED_HOST_FAR + (unsigned)kind, s);
    return pw_model_move(m, PW_MODEL_HOST, PW_PACK, s) + pw_model_send(m, PW_MODEL_HOST, kind, s.bytes) +
           pw_model_move(m, PW_MODEL_HOST, PW_UNPACK, s);
}

/* The costs of a message in host memory, left to MPI and packed. If either was not measured, both are guessed: measured
 * times are never compared with guesses. */
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

static bool is_passed_on(pw_call_kind kind)
{
    return kind > PW_CALL_NEIGHBOUR;
}

static double guess_native(pw_call_kind kind, pw_model_shape s)
{
    return (is_passed_on(kind) ? pw_guess_passed : pw_guess_native)(&pw_facts_default, s.bytes, blocks_of(s));
}

static double guess_packed(pw_call_kind kind, pw_model_shape s, bool shared)
{
    return is_passed_on(kind) ? pw_guess_passed_packed(&pw_facts_default, s.bytes, blocks_of(s))
                              : pw_guess_packed(&pw_facts_default, s.bytes, blocks_of(s), shared);
}

double pw_model_native(const pw_model *m, pw_model_memory memory, pw_call_kind kind, pw_model_shape s)
{
    double measured;

    if (memory != PW_MODEL_DEVICE)
        return first_known(measured_host(m, kind, s).native, guess_native(kind, s));
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

    return first_known(measured, pw_model_default_across(s));
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

double pw_model_cost_native(const pw_model *m, const pw_model_query *q)
{
    if (q->contiguous)
        return pw_model_send(m, q->memory, q->kind, q->shape.bytes);
    return pw_model_native(m, q->memory, q->kind, q->shape);
}

static double cost_on_host(const pw_model *m, const pw_model_query *q)
{
    return first_known(measured_host(m, q->kind, q->shape).packed, guess_packed(q->kind, q->shape, q->shared));
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

/* Where kernels in the MPI's pipeline were not measured, they are expected to take what the MPI's own walk takes. */
double pw_model_cost_pipeline(const pw_model *m, const pw_model_query *q)
{
    return first_known(measured_pipeline(m, q->kind, q->shape), pw_model_cost_native(m, q));
}

double pw_model_cost_direct(const pw_model *m, const pw_model_query *q)
{
    (void)m;
    return pw_guess_direct(&pw_facts_default, q->shape.bytes, blocks_of(q->shape));
}
