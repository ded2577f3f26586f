/*
 * The strategies for buffers in GPU memory. `own` of what they stage is a block of the GPU's pools; NULL stands for
 * pageable host memory. For a message that MPI reads, a pinned block lies where other processes can read it.
 */
#include "base/log.h"
#include "runtime/engine/gpu/transfer.h"
#include "runtime/engine/memory/pool.h"
#include "runtime/exchange/gpu/foreign.h"
#include "runtime/exchange/gpu/lazy.h"
#include "runtime/exchange/gpu/replica.h"
#include "runtime/exchange/inbound.h"
#include "runtime/exchange/late.h"
#include "runtime/exchange/segment.h"
#include "runtime/mpi/strategy/aware.h"
#include "runtime/mpi/strategy/staging.h"

static char *base_of(const pw_gpu_block *block)
{
    return block->host ? block->host : (char *)(uintptr_t)block->device;
}

/* The data of a part lies inside the block of the whole message. Without a block it is pageable host memory. */
static pw_gpu_packed packed_of(const pw_staging *s)
{
    const pw_gpu_block *block = s->own;

    if (!block)
        return (pw_gpu_packed){.host = s->data};
    return pw_gpu_packed_at(pw_gpu_is_lazy(block) ? (pw_gpu_packed){.device = pw_gpu_replica_address(block)}
                                                  : pw_gpu_packed_in(block),
                            (char *)s->data - base_of(block));
}

static pw_gpu_memory memory_of(const pw_staging *s)
{
    pw_gpu_memory memory = (pw_gpu_memory)s->strategy->memory;

    return memory == PW_GPU_PINNED_MEMORY && s->role != PW_RECV ? PW_GPU_OUTBOUND_MEMORY : memory;
}

/* Memory of a message that perhaps only a peer's GPU reads. NULL: of another one. An MPI that takes GPU memory may have
 * the driver read lazy memory, and the driver would wait for itself. */
static pw_gpu_block *take_lazy(const pw_staging *s, pw_gpu_memory memory)
{
    return memory == PW_GPU_OUTBOUND_MEMORY && s->once && !pw_gpu_mpi_is_aware()
               ? pw_gpu_lazy_take(s->buffer.place.gpu, s->buffer.bytes, s->channel)
               : NULL;
}

static pw_status gpu_take(pw_staging *s)
{
    pw_gpu_memory memory = memory_of(s);
    pw_gpu_block *block = take_lazy(s, memory);
    pw_status status = block ? PW_OK : pw_gpu_take(s->buffer.place.gpu, memory, s->buffer.bytes, &block);

    if (status == PW_OK) {
        s->own = block;
        s->data = base_of(block);
        s->single = pw_gpu_is_lazy(block);
        return PW_OK;
    }
    pw_warn_once("no memory for staging of %s memory on GPU %d (%s); slower paths are taken",
                 memory == PW_GPU_DEVICE_MEMORY ? "device" : "pinned", s->buffer.place.device, pw_status_text(status));
    return status;
}

/* The order that tells runtime/engine/gpu to move a staged message, or a part of one. */
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

static bool is_awaited(const pw_staging *s)
{
    return (s->once && !pw_call_is_collective(s->kind)) || s->awaited;
}

/* Records the message before MPI gets it, so before another process reads it, which it may do late if the sender waits
 * for it. A lazy block is recorded when it is packed. */
static void note_packing(const pw_staging *s, bool replicated)
{
    const pw_gpu_block *block = s->own;

    if (block && block->shared && !s->announced && !pw_gpu_is_lazy(block))
        pw_segment_note(s->data, (size_t)s->buffer.bytes, replicated ? PW_OFFER_REPLICA : PW_OFFER_BLOCK,
                        is_awaited(s));
}

static pw_status note_packed(const pw_staging *s, pw_status status)
{
    if (status == PW_OK && pw_gpu_is_lazy(s->own) && !s->announced)
        pw_gpu_lazy_hold(s->own, s->buffer.bytes, is_awaited(s));
    return status;
}

/* The replica of a message that a peer's GPU may read (gpu_expect), at this part of it. 0: there is none. */
static pw_cu_ptr replica_of(const pw_staging *s)
{
    pw_gpu_block *block = s->own;

    if (s->announced)
        return s->replicated ? pw_gpu_replica_address(block) + (pw_cu_ptr)((char *)s->data - base_of(block)) : 0;
    return block && (s->kind == PW_CALL_BLOCKING || s->kind == PW_CALL_NONBLOCKING)
               ? pw_gpu_replica_of(s->buffer.place.gpu, block, s->buffer.bytes)
               : 0;
}

static pw_gpu_order packing_of(const pw_staging *s)
{
    pw_gpu_order order = order_of(s, PW_PACK, s->buffer.bytes);

    if (pw_gpu_is_lazy(s->own))
        order.path = PW_GPU_DIRECT;
    else
        order.replica = replica_of(s);
    return order;
}

/* Blocks that only their receivers read are packed to the replica, too. */
static void gpu_announce(pw_staging *s)
{
    pw_gpu_block *block = s->own;

    s->announced = s->replicated = false;
    if (pw_gpu_is_lazy(block)) {
        pw_gpu_lazy_hold(block, s->buffer.bytes, false);
    } else {
        s->replicated = block && s->role == PW_SEND && s->channel && is_in_host_memory(s) &&
                        pw_gpu_replica_of(s->buffer.place.gpu, block, s->buffer.bytes);
        note_packing(s, s->replicated);
    }
    s->announced = true;
}

static pw_status gpu_pack(pw_staging *s)
{
    pw_gpu_order order = packing_of(s);

    note_packing(s, order.replica);
    return note_packed(s, pw_gpu_carry_out(&order));
}

/* ---- out of a peer's memory -------------------------------------------------------------------------------------- */

/* A taker's argument is the order to unpack the whole message. */
_Static_assert(sizeof(pw_gpu_order) <= PW_INBOUND_ARG, "it goes with a receive");

/* Only where others are expected, too, is there anything to gain by a late read. */
static void **late_of(void **late)
{
    return pw_inbound_takers() > 1 ? late : NULL;
}

static bool take_foreign(const void *arg, const void *from, int64_t bytes, const pw_peer_block *block, void **late)
{
    pw_gpu_order order = *(const pw_gpu_order *)arg;

    order.bytes = bytes;
    return pw_gpu_foreign_unpack(&order, from, block, late_of(late));
}

static bool take_shown(const void *arg, const pw_stand_in *from, void **late)
{
    return pw_gpu_foreign_move(arg, from, late_of(late), NULL);
}

static const pw_inbound_taker taker = {.unpack = take_foreign, .move = take_shown, .finish = pw_gpu_foreign_finish};

/* Lets the GPU unpack a message straight from the memory of another process of the node. Open MPI may read more of a
 * message than a receive has room for, and what is expected has an end; MPICH reads no short messages. */
static void gpu_expect(pw_staging *s)
{
    bool may_be_read = PW_MPI_IS_OPEN_MPI || s->buffer.bytes >= PW_LEAST_READ_BY_MPICH;
    pw_gpu_order order;

    if (s->inbound) {
        pw_inbound_expect_again(s->inbound);
    } else if (may_be_read && is_in_host_memory(s)) {
        order = order_of(s, PW_UNPACK, s->buffer.bytes);
        order.in_call = pw_call_is_collective(s->kind) && pw_gpu_foreign_gathers() == PW_GATHER_BLOCKS;
        s->inbound = pw_inbound_expect_by(s->data, s->buffer.bytes, pw_call_is_collective(s->kind), &taker, &order,
                                          sizeof order);
    }
}

static bool is_in_place(pw_staging *s)
{
    return s->inbound && pw_inbound_in_place(s->inbound) > 0;
}

/* ---- unpacking --------------------------------------------------------------------------------------------------- */

static pw_status gpu_unpack(pw_staging *s, int64_t received)
{
    pw_gpu_order order = order_of(s, PW_UNPACK, received);

    if (is_in_place(s)) {
        if (s->buffer.layout)
            atomic_fetch_add_explicit(&s->buffer.layout->stats.shared, 1, memory_order_relaxed);
        return pw_inbound_finish(s->inbound);
    }
    return pw_gpu_carry_out(&order);
}

static bool gpu_begin(pw_staging *s, pw_direction direction, int64_t received)
{
    pw_gpu_order order = direction == PW_PACK ? packing_of(s) : order_of(s, direction, received);

    if (direction == PW_UNPACK && is_in_place(s))
        return true; /* gpu_unpack then has nothing to do */
    s->under_way = pw_gpu_begin(&order);
    if (s->under_way && direction == PW_PACK)
        note_packing(s, order.replica);
    return s->under_way;
}

static pw_status gpu_finish(pw_staging *s)
{
    pw_gpu_transfer *t = s->under_way;

    s->under_way = NULL;
    return note_packed(s, pw_gpu_finish(t));
}

static bool gpu_is_fusable(const pw_staging *s)
{
    const pw_gpu_order order = packing_of(s);

    return pw_gpu_is_fusable(&order);
}

static bool gpu_is_over(const pw_staging *s)
{
    return pw_gpu_is_over(s->under_way);
}

static void gpu_await(const pw_staging *s)
{
    pw_segment_offer *offer = is_awaited(s) && is_in_host_memory(s) ? pw_segment_offer_at(s->data) : NULL;

    if (offer)
        pw_late_await(&offer->late);
}

static void gpu_give(pw_staging *s)
{
    pw_inbound_forget(s->inbound);
    s->inbound = NULL;
    if (pw_call_is_collective(s->kind)) {
        pw_inbound_forget_blocks(s->data, s->buffer.bytes);
        pw_late_await_parts(s->data, s->buffer.bytes);
    }
    if (pw_gpu_is_lazy(s->own))
        pw_gpu_lazy_give(s->buffer.place.gpu, s->own, s->channel);
    else if (s->own)
        pw_gpu_give(s->buffer.place.gpu, s->own);
    else
        pw_pool_give(s->data, s->buffer.bytes);
}

/* ---- the three strategies ---------------------------------------------------------------------------------------- */

/* The functions that the strategies for GPU memory have in common. `memory` (a pw_gpu_memory) and `path` (a
 * pw_gpu_path) say how they differ. */
#define ALIKE                                                                                                 \
    .announce = gpu_announce, .pack = gpu_pack, .unpack = gpu_unpack, .give = gpu_give, .expect = gpu_expect, \
    .begin = gpu_begin, .finish = gpu_finish, .await = gpu_await, .is_fusable = gpu_is_fusable, .is_over = gpu_is_over

/* A kernel packs into device memory, which goes to an MPI that takes such buffers. */
const pw_strategy pw_strategy_device = {.take = gpu_take, ALIKE, .memory = PW_GPU_DEVICE_MEMORY, .path = PW_GPU_DIRECT};

/* The kernel writes to (and reads from) mapped pinned host memory, which MPI sends. */
const pw_strategy pw_strategy_one_shot = {
    .take = gpu_take, ALIKE, .memory = PW_GPU_PINNED_MEMORY, .path = PW_GPU_DIRECT};

/* The driver copies from pageable host memory, too, but slower. */
static pw_status staged_take(pw_staging *s)
{
    if (gpu_take(s) == PW_OK)
        return PW_OK;
    s->own = NULL;
    s->data = pw_pool_take(s->buffer.bytes);
    return s->data ? PW_OK : PW_ERR_NOMEM;
}

/* A kernel packs into device memory, one copy takes that to pinned host memory, which MPI sends. Contiguous buffers
 * need no kernel. This is the last resort for an MPI that does not take GPU memory: ordinary host memory will do. */
const pw_strategy pw_strategy_staged = {
    .take = staged_take, ALIKE, .memory = PW_GPU_PINNED_MEMORY, .path = PW_GPU_STAGED};
