#include "runtime/mpi/strategy/direct.h"

#include "base/env.h"
#include "runtime/engine/node/board.h"
#include "runtime/engine/node/direct.h"
#include "runtime/engine/node/heap.h"
#include "runtime/engine/node/sharing.h"
#include "runtime/engine/node/stand_in.h"
#include "runtime/mpi/strategy/strategy.h"
#include "runtime/mpi/types/registry.h"

/* MPICH reads no shorter messages in the sender's memory. */
enum { LEAST = 32 << 10, SHARED = 1 };

bool pw_direct_is_meant(void)
{
    return pw_env_choice(PW_ENV_HEAP) == SHARED;
}

void pw_direct_start(void)
{
    pw_stand_in_start(pw_registry_engine);
}

void pw_direct_leave(void)
{
    pw_board_forget();
}

void pw_direct_forget_comms(void)
{
    if (pw_heap_is_used())
        pw_direct_forget_channels();
}

static int64_t least(void)
{
    return pw_strategy_is_named(PW_STRATEGY_DIRECT) ? 1 : LEAST;
}

/* A message with a channel is one that a call between two processes sends. */
static bool direct_can(const pw_message *m)
{
    return m->channel && pw_heap_is_used() && m->buffer.bytes >= least() &&
           m->buffer.bytes <= PW_SEGMENT_STAND_IN_BYTES && pw_strategy_packed.can(m) &&
           pw_direct_reaches(m->buffer.layout, m->buffer.base, m->buffer.count) && pw_direct_is_possible();
}

static double direct_cost(const pw_message *m)
{
    pw_model_query q = pw_message_query(m);

    return pw_model_cost_direct(pw_model_now(), &q);
}

static int number_of(const pw_staging *s)
{
    return (int)(intptr_t)s->own;
}

static pw_status direct_take(pw_staging *s)
{
    int number = pw_direct_take(s->channel, s->buffer.bytes);

    if (number < 0)
        return PW_ERR_NOMEM;
    s->own = (void *)(intptr_t)number;
    s->data = pw_direct_data(number);
    return PW_OK;
}

static pw_status direct_pack(pw_staging *s)
{
    pw_direct_begin(number_of(s), s->buffer.layout, s->buffer.base, s->buffer.count);
    pw_sharing_note_message(s->buffer.bytes);
    return PW_OK;
}

/* Only messages that are sent take this strategy. */
static pw_status direct_unpack(pw_staging *s, int64_t received)
{
    (void)s;
    (void)received;
    return PW_OK;
}

static void direct_give(pw_staging *s)
{
    pw_direct_give(number_of(s));
}

const pw_strategy pw_strategy_direct = {.can = direct_can,
                                        .cost = direct_cost,
                                        .take = direct_take,
                                        .pack = direct_pack,
                                        .unpack = direct_unpack,
                                        .give = direct_give};
