#include "runtime/mpi/strategy/gpu.h"

#include "base/env.h"
#include "base/log.h"
#include "runtime/engine/gpu/peer/foreign.h"
#include "runtime/engine/gpu/peer/replica.h"
#include "runtime/engine/memory/pool.h"
#include "runtime/engine/node/inbound.h"
#include "runtime/engine/node/segment.h"
#include "runtime/engine/node/sharing.h"
#include "runtime/mpi/strategy/aware.h"
#include "runtime/mpi/types/registry.h"

#include <limits.h>

/*
 * Shorter messages are copied, and unpacked with others by one launch (runtime/engine/gpu/batch.c). Eight in flight
 * each way between two ranks on an H100 take a tenth longer so at 64 KiB than unpacked one by one from where they are,
 * and a tenth less at 32 KiB; one alone of 16 KiB gains a seventh from it (docs/gpu.md).
 */
enum { FOREIGN_ALONE = 16 << 10, FOREIGN_AMONG_OTHERS = 48 << 10 };

/* An MPI that takes GPU memory is given messages beyond PACKWRIGHT_STAGING; another would not know what to do. */
bool pw_strategy_gpu_can(const pw_message *m)
{
    return m->buffer.place.kind == PW_PLACE_DEVICE && (m->buffer.bytes <= INT_MAX || PW_MPI_LARGE) &&
           (!pw_gpu_mpi_is_aware() || m->buffer.bytes <= pw_env_int(PW_ENV_STAGING));
}

static char *base_of(const pw_gpu_block *block)
{
    return block->host ? block->host : (char *)(uintptr_t)block->device;
}

/* A part of a stage has its data behind the stage's. Without a block the data is ordinary host memory. */
static pw_gpu_packed packed_of(const pw_staging *s)
{
    const pw_gpu_block *block = s->own;

    if (!block)
        return (pw_gpu_packed){.host = s->data};
    return pw_gpu_packed_at(pw_gpu_packed_in(block), (char *)s->data - base_of(block));
}

static pw_gpu_memory memory_of(const pw_staging *s)
{
    pw_gpu_memory memory = (pw_gpu_memory)s->strategy->memory;

    return memory == PW_GPU_PINNED_MEMORY && s->role != PW_RECV ? PW_GPU_OUTBOUND_MEMORY : memory;
}

pw_status pw_strategy_gpu_take(pw_staging *s)
{
    pw_gpu_memory memory = memory_of(s);
    pw_gpu_block *block = NULL;
    pw_status status = pw_gpu_take(s->buffer.place.gpu, memory, s->buffer.bytes, &block);

    if (status == PW_OK) {
        s->own = block;
        s->data = base_of(block);
        return PW_OK;
    }
    pw_warn_once("no memory for staging of %s memory on GPU %d (%s); slower ways are taken",
                 memory == PW_GPU_DEVICE_MEMORY ? "device" : "pinned", s->buffer.place.device, pw_status_text(status));
    return status;
}

/* The message of a stage, or of a part of one, as runtime/engine/gpu has it. */
static pw_gpu_order order_of(const pw_staging *s, pw_direction direction, int64_t bytes)
{
    return (pw_gpu_order){.buffer = s->buffer,
                          .packed = packed_of(s),
                          .bytes = bytes,
                          .direction = direction,
                          .path = (pw_gpu_path)s->strategy->path};
}

static bool is_in_host_memory(const pw_staging *s)
{
    const pw_gpu_block *block = s->own;

    return !block || block->host;
}

/* Before MPI is told of the message, so before anybody reads it. */
static void note_packing(const pw_staging *s, bool replicated)
{
    const pw_gpu_block *block = s->own;

    if (!is_in_host_memory(s))
        return;
    if (replicated)
        pw_segment_note_replicated(s->data, (size_t)s->buffer.bytes);
    else if (block && block->shared)
        pw_segment_note_message(s->data, (size_t)s->buffer.bytes);
    pw_sharing_note_message(s->buffer.bytes);
}

/* Messages that a peer's GPU may read (pw_strategy_gpu_expect), those from point to point, are in the replica, too. */
static pw_gpu_order packing_of(const pw_staging *s)
{
    pw_gpu_order order = order_of(s, PW_PACK, s->buffer.bytes);
    pw_gpu_block *block = s->own;

    if (block && (s->sort == PW_CALL_BLOCKING || s->sort == PW_CALL_NONBLOCKING))
        order.replica = pw_gpu_replica_of(s->buffer.place.gpu, block, s->buffer.bytes);
    return order;
}

pw_status pw_strategy_gpu_pack(pw_staging *s)
{
    pw_gpu_order order = packing_of(s);

    note_packing(s, order.replica);
    return pw_gpu_carry_out(&order);
}

/* ---- out of a peer's memory -------------------------------------------------------------------------------------- */

static bool take_foreign(const void *arg, const void *from, int64_t bytes, const pw_peer_block *block)
{
    pw_gpu_order order = *(const pw_gpu_order *)arg;

    order.bytes = bytes;
    return bytes >= (pw_inbound_takers() > 1 ? FOREIGN_AMONG_OTHERS : FOREIGN_ALONE) &&
           pw_gpu_foreign_unpack(&order, from, block);
}

_Static_assert(sizeof(pw_gpu_order) <= PW_INBOUND_ARG, "an order goes with a receive");

void pw_strategy_gpu_expect(pw_staging *s)
{
    pw_gpu_order order = order_of(s, PW_UNPACK, s->buffer.bytes);

    if (s->inbound)
        pw_inbound_expect_again(s->inbound);
    else if (is_in_host_memory(s))
        s->inbound = pw_inbound_expect_by(s->data, s->buffer.bytes, take_foreign, &order, sizeof order);
}

static bool is_in_place(pw_staging *s)
{
    return s->inbound && pw_inbound_in_place(s->inbound, &s->ahead_ns) > 0;
}

/* ---- unpacking --------------------------------------------------------------------------------------------------- */

pw_status pw_strategy_gpu_unpack(pw_staging *s, int64_t received)
{
    pw_gpu_order order = order_of(s, PW_UNPACK, received);

    if (s->inbound)
        pw_sharing_note_message(s->buffer.bytes);
    if (is_in_place(s)) {
        if (s->buffer.layout)
            atomic_fetch_add_explicit(&s->buffer.layout->stats.shared, 1, memory_order_relaxed);
        return PW_OK;
    }
    s->ahead_ns = 0;
    return pw_gpu_carry_out(&order);
}

bool pw_strategy_gpu_begin(pw_staging *s, pw_direction direction, int64_t received)
{
    pw_gpu_order order = direction == PW_PACK ? packing_of(s) : order_of(s, direction, received);

    if (direction == PW_UNPACK && is_in_place(s))
        return true; /* and nothing is left to be done by pw_strategy_gpu_unpack */
    s->under_way = pw_gpu_begin(&order);
    if (s->under_way && direction == PW_PACK)
        note_packing(s, order.replica);
    return s->under_way;
}

pw_status pw_strategy_gpu_finish(pw_staging *s)
{
    pw_gpu_transfer *t = s->under_way;

    s->under_way = NULL;
    return pw_gpu_finish(t);
}

void pw_strategy_gpu_give(pw_staging *s)
{
    pw_inbound_forget(s->inbound);
    s->inbound = NULL;
    if (s->own)
        pw_gpu_give(s->buffer.place.gpu, s->own);
    else
        pw_pool_give(s->data, s->buffer.bytes);
}
