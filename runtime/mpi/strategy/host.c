/*
 * Purpose: carries out the ways for buffers in host memory: native and contiguous (for GPU memory, too), packed, joined
 * and remote. Data: none but the staging of each message. Invariant: a way without a function `take` stages nothing, so
 * MPI gets the caller's own arguments, or nothing at all.
 */
#include "runtime/engine/memory/outbound.h"
#include "runtime/engine/memory/pool.h"
#include "runtime/engine/memory/view.h"
#include "runtime/exchange/inbound.h"
#include "runtime/exchange/segment.h"
#include "runtime/mpi/strategy/strategy.h"

/* ---- native ------------------------------------------------------------------------------------------------------ */

/* native: the MPI below gets the caller's own arguments, and nothing is staged. */

const pw_strategy pw_strategy_native = {.take = NULL};

/* ---- packed ------------------------------------------------------------------------------------------------------ */

/*
 * packed: the kernel packs into a staging buffer of host memory, which MPI sends as a contiguous message; a receiver
 * unpacks from such a buffer.
 */

static pw_pool_side side_of(const pw_staging *s)
{
    return s->role == PW_RECV || s->kind == PW_CALL_IO ? PW_POOL_OWN : PW_POOL_OUTBOUND;
}

/* MPI may read again what a collective has received, so such a message is unpacked after the call. */
static pw_status packed_take(pw_staging *s)
{
    s->data = pw_pool_take_from(side_of(s), s->buffer.bytes);
    if (!s->data)
        return PW_ERR_NOMEM;
    if (pw_call_is_collective(s->kind) && s->role != PW_SEND && s->buffer.bytes >= PW_LEAST_READ)
        s->inbound = pw_inbound_expect(s->data, s->buffer.bytes, NULL, NULL);
    return PW_OK;
}

static pw_status packed_pack(pw_staging *s)
{
    const pw_buffer *b = &s->buffer;

    if (side_of(s) == PW_POOL_OUTBOUND)
        pw_outbound_pack(b->layout, b->base, b->count, b->bytes, s->data);
    else
        pw_layout_pack(b->layout, b->base, b->count, s->data);
    if (b->bytes >= PW_LEAST_READ) /* lets the process that reads the message know of it */
        pw_segment_note(s->data, (size_t)b->bytes, PW_OFFER_BLOCK, false);
    return PW_OK;
}

/* MPICH shortens a message that is longer than the receive before it reads it; Open MPI does not (single_copy.c). */
static void packed_expect(pw_staging *s)
{
    if (s->buffer.bytes < PW_LEAST_READ && !PW_MPI_IS_OPEN_MPI)
        return;
    if (s->inbound)
        pw_inbound_expect_again(s->inbound);
    else
        s->inbound = pw_inbound_expect(s->data, s->buffer.bytes, s->buffer.layout, s->buffer.base);
}

/* Returns how many bytes are in the user's buffer already. */
static int64_t in_place(pw_staging *s)
{
    int64_t bytes = 0;

    if (s->inbound && !pw_call_is_collective(s->kind))
        bytes = pw_inbound_in_place(s->inbound);
    if (bytes > 0)
        atomic_fetch_add_explicit(&s->buffer.layout->stats.shared, 1, memory_order_relaxed);
    return bytes;
}

static pw_status packed_unpack(pw_staging *s, int64_t received)
{
    int64_t done = in_place(s);

    if (done == 0 && received == s->buffer.bytes)
        pw_layout_unpack(s->buffer.layout, s->buffer.base, s->buffer.count, s->data);
    else
        pw_layout_unpack_part(s->buffer.layout, s->buffer.base, done, received, (char *)s->data + done);
    return PW_OK;
}

static void packed_give(pw_staging *s)
{
    pw_inbound_forget(s->inbound);
    pw_pool_give_to(side_of(s), s->data, s->buffer.bytes);
}

const pw_strategy pw_strategy_packed = {
    .take = packed_take, .pack = packed_pack, .unpack = packed_unpack, .give = packed_give, .expect = packed_expect};

/* ---- contiguous -------------------------------------------------------------------------------------------------- */

/*
 * contiguous: the message is one block, so MPI gets that memory as bytes, and nothing is copied here. MPICH walks over
 * types whose extent is longer than their data, such as rows of an array made by MPI_Type_create_subarray, in the
 * pieces of a non-contiguous message; Open MPI sees that they are contiguous. The strategy serves point-to-point
 * messages only, since a collective has many blocks.
 */

static pw_status contiguous_take(pw_staging *s)
{
    s->data = pw_view_first(&s->buffer);
    return PW_OK;
}

const pw_strategy pw_strategy_contiguous = {.take = contiguous_take};

/* ---- joined and remote ------------------------------------------------------------------------------------------- */

/*
 * joined: the message goes from this process to itself, so one kernel copies it from the user's memory to the user's
 * (runtime/mpi/collective/self.h). remote: the receiver reads the message over a network
 * (runtime/mpi/collective/remote.h), on which both ranks agree before other ways are asked. MPI gets nothing of either.
 */

const pw_strategy pw_strategy_joined = {.take = NULL};
const pw_strategy pw_strategy_remote = {.take = NULL};
