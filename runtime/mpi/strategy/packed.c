/*
 * packed: the kernel packs into a staging buffer of host memory, which goes as an ordinary contiguous message; and the
 * other way round.
 */
#include "base/env.h"
#include "runtime/engine/memory/outbound.h"
#include "runtime/engine/memory/pool.h"
#include "runtime/engine/node/inbound.h"
#include "runtime/engine/node/segment.h"
#include "runtime/engine/node/sharing.h"
#include "runtime/mpi/strategy/mpich_split.h"
#include "runtime/mpi/strategy/strategy.h"
#include "runtime/mpi/types/registry.h"

#include <limits.h>
#include <math.h>

static bool can(const pw_message *m)
{
    return m->buffer.place.kind == PW_PLACE_HOST && m->entry->layout && m->buffer.bytes <= pw_env_int(PW_ENV_STAGING) &&
           (m->buffer.bytes <= INT_MAX || PW_MPI_LARGE) && !pw_split_needs_native(m) && pw_message_may_be_contiguous(m);
}

/* To Open MPI one block is a contiguous message, which models of messages of several blocks do not know. */
static double cost(const pw_message *m)
{
    pw_model_query q = pw_message_query(m);
    double packed = pw_model_cost(pw_model_now(), PW_MODEL_HOST, &q);

    return PW_MPI_IS_OPEN_MPI && pw_message_is_one_block(m) ? fmax(packed, pw_model_cost_native(pw_model_now(), &q))
                                                            : packed;
}

static double own_cost(const pw_message *m, pw_direction direction)
{
    pw_model_query q = pw_message_query(m);

    return pw_model_own(pw_model_now(), PW_MODEL_HOST, &q, direction);
}

static pw_pool_side side_of(const pw_staging *s)
{
    return s->role == PW_RECV ? PW_POOL_OWN : PW_POOL_OUTBOUND;
}

static bool is_collective(const pw_staging *s)
{
    return s->sort == PW_CALL_COLLECTIVE || s->sort == PW_CALL_NEIGHBOUR;
}

/* What a collective receives may be read again by MPI, so it is copied to the stage and unpacked afterwards. */
static pw_status take(pw_staging *s)
{
    s->data = pw_pool_take_from(side_of(s), s->buffer.bytes);
    if (!s->data)
        return PW_ERR_NOMEM;
    if (is_collective(s) && s->role != PW_SEND && s->buffer.bytes >= PW_LEAST_READ)
        s->inbound = pw_inbound_expect_copies(s->data, s->buffer.bytes);
    return PW_OK;
}

/* What is to be streamed is packed into memory that no other core has seen, and that is still in this one's caches. */
static pw_status pack(pw_staging *s)
{
    pw_outbound_way way = pw_outbound_way_of(s->buffer.bytes);
    void *scratch = way == PW_OUTBOUND_DIRECT ? NULL : pw_pool_take(s->buffer.bytes);

    pw_layout_pack(s->buffer.layout, s->buffer.base, s->buffer.count, scratch ? scratch : s->data);
    if (scratch) {
        pw_outbound_write(way, s->data, scratch, s->buffer.bytes);
        pw_pool_give(scratch, s->buffer.bytes);
        if (way == PW_OUTBOUND_STREAMED)
            atomic_fetch_add_explicit(&s->buffer.layout->stats.streamed, 1, memory_order_relaxed);
    }
    if (s->buffer.bytes >= PW_LEAST_READ) {
        pw_segment_note_message(s->data, (size_t)s->buffer.bytes);
        pw_sharing_note_message(s->buffer.bytes);
    }
    return PW_OK;
}

/* MPICH cuts a message off that is longer than was posted before it reads it; Open MPI does not (single_copy.c). */
static void expect(pw_staging *s)
{
    if (s->buffer.bytes < PW_LEAST_READ && !PW_MPI_IS_OPEN_MPI)
        return;
    if (s->inbound)
        pw_inbound_expect_again(s->inbound);
    else
        s->inbound = pw_inbound_expect(s->data, s->buffer.bytes, s->buffer.layout, s->buffer.base);
}

/* What is in the user's buffer already. */
static int64_t in_place(pw_staging *s)
{
    bool expected = s->inbound && !is_collective(s);
    int64_t bytes = expected ? pw_inbound_in_place(s->inbound, &s->ahead_ns) : 0;

    if (expected)
        pw_sharing_note_message(s->buffer.bytes);
    if (bytes > 0)
        atomic_fetch_add_explicit(&s->buffer.layout->stats.shared, 1, memory_order_relaxed);
    return bytes;
}

static pw_status unpack(pw_staging *s, int64_t received)
{
    int64_t first = in_place(s);

    if (first == 0 && received == s->buffer.bytes)
        pw_layout_unpack(s->buffer.layout, s->buffer.base, s->buffer.count, s->data);
    else
        pw_layout_unpack_part(s->buffer.layout, s->buffer.base, first, received, (char *)s->data + first);
    return PW_OK;
}

static void give(pw_staging *s)
{
    pw_inbound_forget(s->inbound);
    pw_pool_give_to(side_of(s), s->data, s->buffer.bytes);
}

const pw_strategy pw_strategy_packed = {.name = "packed",
                                        .can = can,
                                        .cost = cost,
                                        .own_cost = own_cost,
                                        .take = take,
                                        .pack = pack,
                                        .unpack = unpack,
                                        .give = give,
                                        .expect = expect};
