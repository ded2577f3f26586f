/*
 * Transfers between a buffer and its packed copy: which path (kernel to the other end, or a copy behind the
 * kernel), and what to do when kernels fail. A transfer owns its lane and scratch from pw_gpu_begin
 * to pw_gpu_finish, and leaves the caller's context current.
 */
#include "runtime/engine/gpu/transfer.h"

#include "base/log.h"
#include "runtime/engine/gpu/under_way.h"

enum {
    ODD_BYTES = 128 << 10, /* up to here a copy takes longer than writing single bytes across the bus */
    AHEAD_BYTES = 4 << 20  /* longer transfers gain little from being begun before another is finished */
};

typedef struct pw_gpu_transfer transfer;

_Static_assert(sizeof(transfer) <= PW_GPU_WORK_BYTES, "a lane has room for a transfer");

static pw_gpu *gpu_of(const transfer *t)
{
    return t->order.buffer.place.gpu;
}

static pw_status need(pw_gpu *gpu, int64_t bytes, pw_gpu_block **block)
{
    return *block ? PW_OK : pw_gpu_take(gpu, PW_GPU_DEVICE_MEMORY, bytes, block);
}

/* Makes sure that the transfer has device memory for the packed copy. False: there is none. */
static bool has_scratch(transfer *t)
{
    return t->order.replica || need(gpu_of(t), t->order.bytes, &t->scratch) == PW_OK;
}

static pw_gpu_packed scratch_of(const transfer *t)
{
    return t->order.replica ? (pw_gpu_packed){.device = t->order.replica} : pw_gpu_packed_in(t->scratch);
}

/* ---- kernels and what they cannot do ----------------------------------------------------------------------------- */

/* Puts one move into the stream. `last`: it is the last work of the transfer. */
static pw_status move(transfer *t, int64_t first, int64_t n, pw_gpu_packed packed, pw_direction direction, bool last)
{
    const pw_gpu_move m = {
        .first = first, .n = n, .packed = packed, .direction = direction, .plainly = t->plainly, .last = last};

    return pw_gpu_move_objects(t->lane, &t->order.buffer, &m);
}

/* Unpacks the first `bytes` bytes of an object, for a message that was shorter than the receive. Packs the object as it
 * is, overwrites the beginning of the packed form, and unpacks all of it: the rest of the object keeps its bytes. */
static pw_status unpack_beginning(transfer *t, int64_t object, pw_gpu_packed packed, int64_t bytes)
{
    pw_gpu *gpu = gpu_of(t);
    pw_gpu_packed whole;
    pw_status status = need(gpu, t->order.buffer.layout->size, &t->part);

    if (status != PW_OK)
        return status;
    whole = pw_gpu_packed_in(t->part);
    status = move(t, object, 1, whole, PW_PACK, false);
    if (status == PW_OK)
        status =
            pw_gpu_move_bytes(t->lane, whole.device, packed.host ? pw_cu_address(packed.host) : packed.device, bytes);
    return status == PW_OK ? move(t, object, 1, whole, PW_UNPACK, true) : status;
}

/* Whether a kernel moves bytes to or from a packed copy. Its launch takes half of the caller's time that a copy of the
 * driver takes, and others can wait for it; but a copy that the caller waits for reads another GPU sooner, and a long
 * one crosses the bus sooner. */
static bool is_for_kernel(const transfer *t, pw_gpu_packed packed)
{
    enum { MOST_ACROSS_BUS = 1 << 20, MOST = 64 << 20 };
    const pw_gpu_order *o = &t->order;

    if (!packed.device || t->plainly)
        return false;
    if (packed.host)
        return o->alone && o->direction == PW_UNPACK && o->bytes <= MOST_ACROSS_BUS;
    return (o->ahead || o->direction == PW_PACK) && o->bytes <= MOST;
}

/* Moves bytes without a layout: by a copy of the driver, which others cannot wait for, or else by a kernel. */
static pw_status move_bytes(transfer *t, pw_gpu_packed packed, bool last)
{
    pw_cu_ptr here = pw_cu_address(t->order.buffer.base) + (pw_cu_ptr)t->order.buffer.offset;
    bool by_kernel = last && is_for_kernel(t, packed), unpack = t->order.direction == PW_UNPACK;
    pw_cu_ptr there = packed.host && !by_kernel ? pw_cu_address(packed.host) : packed.device;
    pw_cu_ptr to = unpack ? here : there, from = unpack ? there : here;

    if (by_kernel && pw_gpu_launch_bytes(t->lane, to, from, t->order.bytes))
        return PW_OK;
    return pw_gpu_move_bytes(t->lane, to, from, t->order.bytes);
}

/* Moves the first order.bytes bytes between the buffer and `packed`. */
static pw_status move_all(transfer *t, pw_gpu_packed packed, bool last)
{
    const pw_layout *layout = t->order.buffer.layout;
    int64_t whole, rest;
    pw_status status = PW_OK;

    if (!layout)
        return move_bytes(t, packed, last);
    whole = t->order.bytes / layout->size;
    rest = t->order.bytes % layout->size;
    if (whole > 0)
        status = move(t, 0, whole, packed, t->order.direction, last && rest == 0);
    if (status == PW_OK && rest > 0)
        status = unpack_beginning(t, whole, pw_gpu_packed_at(packed, whole * layout->size), rest);
    return status;
}

/* ---- paths ------------------------------------------------------------------------------------------------------- */

/* Without device memory for the packed copy, kernels access the packed copy in host memory if they can reach it. */
static pw_status move_staged(transfer *t)
{
    pw_cu_ptr host = pw_cu_address(t->order.packed.host);
    pw_status status;

    if ((!t->order.buffer.layout && !t->order.replica) || !t->order.packed.host || !has_scratch(t))
        return move_all(t, t->order.packed, true);
    if (t->order.direction == PW_UNPACK) {
        status = pw_gpu_move_bytes(t->lane, scratch_of(t).device, host, t->order.bytes);
        return status == PW_OK ? move_all(t, scratch_of(t), true) : status;
    }
    status = move_all(t, scratch_of(t), false);
    return status == PW_OK ? pw_gpu_move_bytes(t->lane, host, scratch_of(t).device, t->order.bytes) : status;
}

pw_status pw_gpu_enqueue(transfer *t)
{
    bool staged = t->order.path == PW_GPU_STAGED || t->order.replica;

    return staged ? move_staged(t) : move_all(t, t->order.packed, true);
}

/* ---- the two steps ---------------------------------------------------------------------------------------------- */

static bool is_lost(const pw_gpu *gpu)
{
    return atomic_load_explicit(&gpu->lost, memory_order_relaxed);
}

/* The GPU's context must be current. */
static transfer *begin_in(pw_gpu_lane *lane, const pw_gpu_order *o)
{
    transfer *t = (transfer *)(void *)lane->work;

    *t = (transfer){.order = *o, .lane = lane};
    t->begun = pw_gpu_enqueue(t);
    return t;
}

/* The GPU's context must be current. Repeats a transfer whose kernel failed, by copies. */
static pw_status finish(transfer *t)
{
    pw_gpu *gpu = gpu_of(t);
    pw_status status = pw_gpu_lane_end(t->lane, t->begun);

    if (status != PW_OK && pw_gpu_judge(gpu, status) != PW_OK && !is_lost(gpu)) {
        pw_warn_once("a kernel failed on GPU %d (%s); buffers are copied block by block", gpu->ordinal,
                     pw_status_text(status));
        t->plainly = true;
        t->order.path = PW_GPU_DIRECT;
        status = pw_gpu_lane_end(t->lane, pw_gpu_enqueue(t));
    }
    pw_gpu_lane_reach(t->lane, t->lane->value); /* others may wait for a launch that has failed */
    pw_gpu_give(gpu, t->scratch);
    pw_gpu_give(gpu, t->part);
    pw_gpu_lane_give(t->lane);
    return status;
}

pw_gpu_transfer *pw_gpu_begin(const pw_gpu_order *order)
{
    pw_gpu *gpu = order->buffer.place.gpu;
    PW_GPU_SCOPE(scope);
    pw_gpu_lane *lane;
    transfer *t;

    if ((order->bytes > AHEAD_BYTES && !order->ahead) || is_lost(gpu))
        return NULL;
    if (order->alone)
        pw_gpu_launch_begun();
    t = order->alone ? NULL : pw_gpu_batch_add(order);
    if (t || pw_gpu_enter(gpu, &scope) != PW_OK)
        return t;
    lane = pw_gpu_lane_take_kept(gpu);
    return lane ? begin_in(lane, order) : NULL;
}

pw_status pw_gpu_finish(pw_gpu_transfer *t)
{
    PW_GPU_SCOPE(scope);

    if (t->batch)
        return pw_gpu_batch_finish(t);
    pw_gpu_launch_begun();
    /* If the context has ended, there is no work to wait for, and its lanes cannot be used again. */
    if (pw_gpu_enter(gpu_of(t), &scope) != PW_OK) {
        pw_gpu_lane_reach(t->lane, t->lane->value);
        return pw_gpu_judge(gpu_of(t), PW_ERR_IO);
    }
    return finish(t);
}

bool pw_gpu_signals(const pw_gpu_transfer *t, uint32_t *number, uint64_t *value)
{
    if (t->batch)
        return pw_gpu_batch_signals(t->batch, number, value);
    if (t->begun != PW_OK || !t->lane->flagged || t->lane->signal < 0)
        return false;
    *number = (uint32_t)t->lane->signal;
    *value = t->lane->value;
    return true;
}

/* A kernel that fails never sets its flag: pw_gpu_finish finds that out. */
static bool is_lane_done(const pw_gpu_lane *lane)
{
    if (lane->flagged)
        return atomic_load_explicit(lane->flag, memory_order_acquire) == lane->value;
    return pw_cu.stream_query(lane->stream) != PW_CU_NOT_READY;
}

bool pw_gpu_is_over(const pw_gpu_transfer *t)
{
    PW_GPU_SCOPE(scope);

    if (t->batch && !pw_gpu_batch_is_launched(t->batch))
        return false;
    /* Where the context cannot be entered, pw_gpu_finish returns the failure. */
    return pw_gpu_enter(gpu_of(t), &scope) != PW_OK || is_lane_done(t->lane);
}

bool pw_gpu_is_fusable(const pw_gpu_order *order)
{
    return !is_lost(order->buffer.place.gpu) && order->bytes <= AHEAD_BYTES && pw_gpu_batch_takes(order);
}

pw_status pw_gpu_carry_out(const pw_gpu_order *order)
{
    pw_gpu *gpu = order->buffer.place.gpu;
    PW_GPU_SCOPE(scope);
    pw_gpu_lane *lane;
    pw_status status;

    pw_gpu_launch_begun();
    if (is_lost(gpu) || pw_gpu_enter(gpu, &scope) != PW_OK)
        return pw_gpu_judge(gpu, PW_ERR_IO);
    status = pw_gpu_lane_take(gpu, &lane);
    return status == PW_OK ? finish(begin_in(lane, order)) : status;
}

/* ---- the rest ---------------------------------------------------------------------------------------------------- */

bool pw_gpu_is_odd(pw_layout *layout, int64_t bytes)
{
    const pw_gpu_layout *l = bytes > ODD_BYTES ? pw_gpu_layout_of(layout) : NULL;

    return l && l->odd;
}
