/* The strategies for buffers in host memory; native is one for buffers in GPU memory, too. */
#include "base/env.h"
#include "runtime/engine/memory/outbound.h"
#include "runtime/engine/memory/pool.h"
#include "runtime/exchange/inbound.h"
#include "runtime/exchange/segment.h"
#include "runtime/exchange/sharing.h"
#include "runtime/mpi/strategy/aware.h"
#include "runtime/mpi/strategy/direct.h"
#include "runtime/mpi/strategy/mpich_split.h"
#include "runtime/mpi/strategy/pipeline.h"
#include "runtime/mpi/strategy/strategy.h"
#include "runtime/mpi/types/registry.h"

#include <limits.h>
#include <math.h>

/* ---- messages to oneself ----------------------------------------------------------------------------------------- */

/* What strategies cost for a message whose both sides are this process's, of which one may be contiguous. */

static double move_cost(const pw_message *m, pw_direction direction)
{
    pw_model_query q;

    if (!m->entry->layout)
        return 0;
    q = pw_message_query(m);
    return pw_model_own(pw_model_now(), PW_MODEL_HOST, &q, direction);
}

/* Half of what the MPI needs for a message that has this layout on both sides. */
static double walk_cost(const pw_message *m)
{
    pw_model_query q;

    if (!m->entry->layout)
        return 0;
    q = pw_message_query(m);
    return pw_model_cost_native(pw_model_now(), &q) / 2;
}

static double packed_to_oneself(const pw_message *m)
{
    return move_cost(m, PW_PACK) + pw_model_send(pw_model_now(), PW_MODEL_HOST, m->kind, m->buffer.bytes) +
           move_cost(m->to, PW_UNPACK);
}

/* ---- native ------------------------------------------------------------------------------------------------------ */

/*
 * native: the MPI below gets the caller's own arguments, and nothing is staged. It is impossible only for a buffer in
 * GPU memory with an MPI that does not take GPU memory, and for what an MPI is known to do wrongly.
 */

static bool native_can(const pw_message *m)
{
    return !m->left_wrong && (m->buffer.place.kind != PW_PLACE_DEVICE || pw_gpu_mpi_is_aware());
}

static double native_cost(const pw_message *m)
{
    pw_model_query q;

    if (m->to)
        return walk_cost(m) + walk_cost(m->to);
    q = pw_message_query(m);
    return native_can(m) ? pw_model_cost_native(pw_model_now(), &q) : pw_impossible_ns;
}

const pw_strategy pw_strategy_native = {.can = native_can, .cost = native_cost};

/* ---- packed ------------------------------------------------------------------------------------------------------ */

/*
 * packed: the kernel packs into a staging buffer of host memory, which MPI sends as a contiguous message; a receiver
 * unpacks from such a buffer.
 */

static bool packed_can(const pw_message *m)
{
    return m->buffer.place.kind == PW_PLACE_HOST && m->entry->layout &&
           m->buffer.bytes <= pw_env_size(PW_ENV_STAGING) && (m->buffer.bytes <= INT_MAX || PW_MPI_LARGE) &&
           !pw_split_needs_native(m) && pw_message_may_be_contiguous(m);
}

/* Open MPI sends one block as a contiguous message, for which a model of messages of several blocks does not hold. */
static double packed_cost(const pw_message *m)
{
    pw_model_query q = pw_message_query(m);
    double packed = m->to ? packed_to_oneself(m) : pw_model_cost(pw_model_now(), PW_MODEL_HOST, &q);

    return PW_MPI_IS_OPEN_MPI && !m->to && pw_message_is_one_block(m)
               ? fmax(packed, pw_model_cost_native(pw_model_now(), &q))
               : packed;
}

static pw_pool_side side_of(const pw_staging *s)
{
    return s->role == PW_RECV ? PW_POOL_OWN : PW_POOL_OUTBOUND;
}

static bool is_collective(const pw_staging *s)
{
    return s->kind == PW_CALL_COLLECTIVE || s->kind == PW_CALL_NEIGHBOUR;
}

/* MPI may read again what a collective has received, so such a message is unpacked after the call. */
static pw_status packed_take(pw_staging *s)
{
    s->data = pw_pool_take_from(side_of(s), s->buffer.bytes);
    if (!s->data)
        return PW_ERR_NOMEM;
    if (is_collective(s) && s->role != PW_SEND && s->buffer.bytes >= PW_LEAST_READ)
        s->inbound = pw_inbound_expect_copies(s->data, s->buffer.bytes);
    return PW_OK;
}

/* A message that is to be streamed is packed first into memory that this core has in its caches and no other has seen.
 */
static pw_status packed_pack(pw_staging *s)
{
    pw_outbound_path path = pw_outbound_path_of(s->buffer.bytes);
    void *scratch = path == PW_OUTBOUND_DIRECT ? NULL : pw_pool_take(s->buffer.bytes);

    pw_layout_pack(s->buffer.layout, s->buffer.base, s->buffer.count, scratch ? scratch : s->data);
    if (scratch) {
        pw_outbound_write(path, s->data, scratch, s->buffer.bytes);
        pw_pool_give(scratch, s->buffer.bytes);
        if (path == PW_OUTBOUND_STREAMED)
            atomic_fetch_add_explicit(&s->buffer.layout->stats.streamed, 1, memory_order_relaxed);
    }
    if (s->buffer.bytes >= PW_LEAST_READ) {
        pw_segment_note_message(s->data, (size_t)s->buffer.bytes);
        pw_sharing_note_message(s->buffer.bytes);
    }
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

    if (s->inbound && !is_collective(s)) {
        bytes = pw_inbound_in_place(s->inbound, &s->ahead_ns);
        pw_sharing_note_message(s->buffer.bytes);
    }
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

const pw_strategy pw_strategy_packed = {.can = packed_can,
                                        .cost = packed_cost,
                                        .take = packed_take,
                                        .pack = packed_pack,
                                        .unpack = packed_unpack,
                                        .give = packed_give,
                                        .expect = packed_expect};

/* ---- contiguous -------------------------------------------------------------------------------------------------- */

/*
 * contiguous: the message is one block, so MPI gets that memory as bytes, and nothing is copied here. MPICH walks over
 * types whose extent is longer than their data, such as rows of an array made by MPI_Type_create_subarray, in the
 * pieces of a non-contiguous message; Open MPI sees that they are contiguous. The strategy serves point-to-point
 * messages only, since a collective has many blocks.
 */

static bool contiguous_can(const pw_message *m)
{
    return !PW_MPI_IS_OPEN_MPI && m->buffer.place.kind == PW_PLACE_HOST &&
           (m->kind == PW_CALL_BLOCKING || m->kind == PW_CALL_NONBLOCKING) && pw_message_is_one_block(m) &&
           (m->buffer.bytes <= INT_MAX || PW_MPI_LARGE) && !pw_split_needs_native(m) && pw_message_may_be_contiguous(m);
}

/* This strategy saves the copy of packed and the walk of native, so it must come out cheaper than these, also by a
 * model whose contiguous messages were measured at another time. */
static double contiguous_cost(const pw_message *m)
{
    const pw_model *model = pw_model_now();
    pw_model_query q = pw_message_query(m);
    double others = fmin(pw_model_cost_native(model, &q), pw_model_cost(model, PW_MODEL_HOST, &q));

    others = fmin(others, pw_model_cost_pipeline(model, &q));
    return fmin(pw_model_send(model, PW_MODEL_HOST, q.kind, m->buffer.bytes), 0.95 * others);
}

static pw_status contiguous_take(pw_staging *s)
{
    s->data = (char *)s->buffer.base + s->buffer.layout->nest->lo;
    return PW_OK;
}

static pw_status contiguous_pack(pw_staging *s)
{
    (void)s;
    return PW_OK;
}

static pw_status contiguous_unpack(pw_staging *s, int64_t received)
{
    (void)s;
    (void)received;
    return PW_OK;
}

static void contiguous_give(pw_staging *s)
{
    (void)s;
}

const pw_strategy pw_strategy_contiguous = {.can = contiguous_can,
                                            .cost = contiguous_cost,
                                            .take = contiguous_take,
                                            .pack = contiguous_pack,
                                            .unpack = contiguous_unpack,
                                            .give = contiguous_give};

/* ---- joined ------------------------------------------------------------------------------------------------------ */

/*
 * joined: the message goes from this process to itself, so one kernel copies it from the user's memory to the user's
 * (runtime/mpi/collective/self.h). MPI gets nothing of it. The other strategies cost both sides of such a message.
 */

static bool joined_can(const pw_message *m)
{
    return m->to;
}

/* One pass waits for the memory of the slower side only. */
static double joined_cost(const pw_message *m)
{
    return fmax(move_cost(m, PW_PACK), move_cost(m->to, PW_UNPACK));
}

const pw_strategy pw_strategy_joined = {.can = joined_can, .cost = joined_cost};

/* ---- remote ------------------------------------------------------------------------------------------------------ */

/* remote: the receiver reads the message over a network (runtime/mpi/collective/remote.h). Both ranks agree on that
 * before other strategies are asked. */

static bool remote_can(const pw_message *m)
{
    return m->transports && m->buffer.place.kind == PW_PLACE_HOST;
}

static double remote_cost(const pw_message *m)
{
    pw_model_query q = pw_message_query(m);

    return native_cost(m) *
           pw_model_remote_part(pw_model_over(m->transports), m->transports, m->buffer.bytes, q.shape.block);
}

const pw_strategy pw_strategy_remote = {.can = remote_can, .cost = remote_cost};

/* ---- pipeline ---------------------------------------------------------------------------------------------------- */

/*
 * pipeline: the MPI gets the caller's own arguments, and asks the layout's kernel for the pieces of the message
 * (pipeline.h). Nothing is staged. Both ranks work at the same time, if both do so. It serves messages between two
 * processes, and pieces may end within basic elements.
 */

/* A message of one piece is moved at once, with or without a pipeline. */
enum { PIECE = 8 << 10 };

/* A message that is sent by `direct` gains only if it is received as a packed one. */
static bool may_come_directly(const pw_message *m)
{
    return m->role == PW_RECV && pw_direct_is_meant() && !pw_strategy_is_named(PW_STRATEGY_PIPELINE);
}

static bool pipeline_can(const pw_message *m)
{
    return pw_pipeline_is_there() && m->buffer.bytes > PIECE && m->buffer.place.kind == PW_PLACE_HOST &&
           m->entry->layout && m->role != PW_BOTH && (m->kind == PW_CALL_BLOCKING || m->kind == PW_CALL_NONBLOCKING) &&
           !pw_split_needs_native(m) && !may_come_directly(m);
}

static double pipeline_cost(const pw_message *m)
{
    pw_model_query q = pw_message_query(m);

    return pw_model_cost_pipeline(pw_model_now(), &q);
}

const pw_strategy pw_strategy_pipeline = {.can = pipeline_can, .cost = pipeline_cost};
