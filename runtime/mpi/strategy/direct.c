/*
 * The strategy direct: takes a stand-in, shows the buffer under its number, and waits at the end for whoever reads
 * it. The staging of a message that leaves keeps the number of its stand-in. A message that cannot have a stand-in goes
 * by another strategy.
 */
#include "runtime/mpi/strategy/direct.h"

#include "base/env.h"
#include "runtime/exchange/direct.h"
#include "runtime/exchange/gpu/shown.h"
#include "runtime/exchange/inbound.h"
#include "runtime/exchange/segment.h"
#include "runtime/exchange/stand_in.h"
#include "runtime/exchange/xpmem.h"
#include "runtime/mpi/types/registry.h"

/* Messages of more than MOST_ON_HOST are slower than packed ones between cores that share no cache. */
enum { MOST_ON_HOST = 8 << 20 };

/*
 * The costs of reading another GPU's memory by default are those of compute capability MEASURED. Of any other GPU it is
 * assumed only that blocks of LEAST_WHOLE bytes and more cross the link as packed bytes do: nearly nothing between them
 * does.
 */
enum { MEASURED = 9, LEAST_WHOLE = 512 };

const pw_strategy_id pw_direct_id = PW_STRATEGY_DIRECT;

bool pw_direct_is_meant(void)
{
    return pw_env_bool(PW_ENV_ONE_COPY);
}

void pw_direct_start(void)
{
    pw_stand_in_start(pw_registry_engine);
    if (pw_direct_is_meant())
        pw_xpmem_show();
}

int64_t pw_direct_least(void)
{
    return pw_strategy_is_named(PW_STRATEGY_DIRECT) ? 1 : PW_DIRECT_LEAST;
}

/* A message with a channel that is no exchange is one of a call between two processes. In GPU memory, an MPI that
 * copies short messages itself is known by evidence. */
static bool has_stand_in(const pw_message *m)
{
    bool device = pw_buffer_is_on_device(&m->buffer);
    int64_t least = device ? 1 : pw_direct_least(), most = device ? PW_SEGMENT_STAND_IN_BYTES : MOST_ON_HOST;

    return m->channel && (m->kind == PW_CALL_BLOCKING || m->kind == PW_CALL_NONBLOCKING) && m->buffer.bytes >= least &&
           m->buffer.bytes <= most;
}

/* A receive is staged as by `packed`. It is for messages that `packed` would leave to MPI, which takes them out of
 * stand-ins more slowly. Where the sender's memory lies is not known: as the receiver's does, most likely. */
static bool serves_on_host(const pw_message *m, unsigned set)
{
    static const unsigned can_be_packed = PW_IF_LAYOUT | PW_IF_BYTES | PW_IF_SHORT;

    return pw_direct_is_meant() && (set & can_be_packed) == can_be_packed && pw_direct_is_possible() &&
           pw_direct_is_mapped(&m->buffer);
}

bool pw_direct_is_whole(const pw_message *m)
{
    return !m->entry->layout || m->entry->size >= m->entry->blocks * LEAST_WHOLE;
}

bool pw_direct_is_modelled(const pw_message *m)
{
    return m->buffer.place.gpu->major == MEASURED || pw_model_has(pw_model_now(), PW_FACT_peer_launch) ||
           pw_direct_is_whole(m);
}

/* A message may go directly without being told to where a peer's GPU has opened or would open memory of this process. A
 * receiver that does not is known after its first message (runtime/exchange/direct.h). Receives are those of the other
 * strategies for GPU memory, which take messages of stand-ins, too. */
static bool serves_on_device(const pw_message *m, unsigned set)
{
    return m->role == PW_SEND && m->once &&
           (pw_strategy_is_named(PW_STRATEGY_DIRECT) || (pw_segment_wants_replicas() && pw_direct_is_modelled(m))) &&
           set & PW_IF_NOT_TAKEN && pw_gpu_may_show();
}

bool pw_direct_serves(const pw_message *m, unsigned set)
{
    return has_stand_in(m) && (pw_buffer_is_on_device(&m->buffer) ? serves_on_device : serves_on_host)(m, set);
}

/* Receives are carried out by this one. */
static const pw_strategy *const packed = &pw_strategy_packed;

static int number_of(const pw_staging *s)
{
    return (int)(intptr_t)s->own;
}

static pw_status take_stand_in(pw_staging *s)
{
    int number = pw_direct_take(s->channel, s->buffer.layout, s->buffer.bytes);

    if (number < 0)
        return PW_ERR_NOMEM;
    if (pw_buffer_is_on_device(&s->buffer) && !pw_gpu_show(number, &s->buffer)) {
        pw_direct_give(number);
        return PW_ERR_UNSUPPORTED;
    }
    s->own = (void *)(intptr_t)number;
    s->data = pw_direct_data(number);
    return PW_OK;
}

static bool direct_again(pw_staging *s)
{
    if (s->role != PW_SEND || !pw_buffer_is_on_device(&s->buffer))
        return true;
    return pw_direct_again(number_of(s), s->buffer.bytes) && pw_gpu_show(number_of(s), &s->buffer);
}

static pw_status direct_take(pw_staging *s)
{
    if (s->role == PW_SEND)
        return take_stand_in(s);
    return pw_channel_may(s->channel, s->buffer.bytes) ? packed->take(s) : PW_ERR_NOMEM;
}

static pw_status direct_pack(pw_staging *s)
{
    const pw_direct_message message = {.objects = s->buffer};

    if (pw_buffer_is_on_device(&s->buffer))
        return pw_gpu_show_begin(number_of(s));
    pw_direct_begin(number_of(s), &message);
    return PW_OK;
}

static void direct_expect(pw_staging *s)
{
    if (s->role == PW_RECV)
        packed->expect(s);
}

static pw_status direct_unpack(pw_staging *s, int64_t received)
{
    pw_channel_note(s->channel, s->buffer.bytes, s->inbound && pw_inbound_in_place(s->inbound) == received);
    return packed->unpack(s, received);
}

/* Messages that are shown in one call wait for the program's work once. Longer ones leave at once. */
static bool direct_is_fusable(const pw_staging *s)
{
    enum { MOST_TOGETHER = 1 << 20 };

    return pw_buffer_is_on_device(&s->buffer) && s->buffer.bytes <= MOST_TOGETHER;
}

static void direct_give(pw_staging *s)
{
    if (s->role == PW_RECV)
        packed->give(s);
    else if (pw_buffer_is_on_device(&s->buffer))
        pw_gpu_show_end(number_of(s));
    else
        pw_direct_give(number_of(s));
}

static void direct_await(const pw_staging *s)
{
    if (s->role == PW_SEND)
        pw_direct_await(number_of(s));
}

const pw_strategy pw_strategy_direct = {.take = direct_take,
                                        .again = direct_again,
                                        .pack = direct_pack,
                                        .unpack = direct_unpack,
                                        .is_fusable = direct_is_fusable,
                                        .await = direct_await,
                                        .give = direct_give,
                                        .expect = direct_expect};
