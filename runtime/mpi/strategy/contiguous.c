/*
 * contiguous: the message is one block, so MPI gets that memory as bytes, and nothing is copied here. Types that are
 * longer than their data, as the rows of an array made by MPI_Type_create_subarray, are walked over by MPICH all the
 * same, in the pieces of a non-contiguous message; Open MPI sees that they are contiguous.
 *
 * Point to point only: a collective has many blocks.
 */
#include "runtime/mpi/strategy/mpich_split.h"
#include "runtime/mpi/strategy/strategy.h"
#include "runtime/mpi/types/registry.h"

#include <limits.h>
#include <math.h>

static bool can(const pw_message *m)
{
    return !PW_MPI_IS_OPEN_MPI && m->buffer.place.kind == PW_PLACE_HOST &&
           (m->sort == PW_CALL_BLOCKING || m->sort == PW_CALL_NONBLOCKING) && pw_message_is_one_block(m) &&
           (m->buffer.bytes <= INT_MAX || PW_MPI_LARGE) && !pw_split_needs_native(m) && pw_message_may_be_contiguous(m);
}

/* It spares either of the other ways its copies or its walk, whatever a model says of contiguous messages that were not
 * measured with these. */
static double cost(const pw_message *m)
{
    const pw_model *model = pw_model_now();
    pw_model_query q = pw_message_query(m);
    double others = fmin(pw_model_cost_native(model, &q), pw_model_cost(model, PW_MODEL_HOST, &q));

    return fmin(pw_model_send(model, PW_MODEL_HOST, q.sort, m->buffer.bytes), 0.95 * others);
}

static pw_status take(pw_staging *s)
{
    s->data = (char *)s->buffer.base + s->buffer.layout->nest->lo;
    return PW_OK;
}

static pw_status pack(pw_staging *s)
{
    (void)s;
    return PW_OK;
}

static pw_status unpack(pw_staging *s, int64_t received)
{
    (void)s;
    (void)received;
    return PW_OK;
}

static void give(pw_staging *s)
{
    (void)s;
}

const pw_strategy pw_strategy_contiguous = {
    .name = "contiguous", .can = can, .cost = cost, .take = take, .pack = pack, .unpack = unpack, .give = give};
