#include "runtime/mpi/strategy/staging.h"

#include "base/clock.h"
#include "runtime/engine/model/decide.h"
#include "runtime/engine/node/inbound.h"
#include "runtime/mpi/entry/gate.h"
#include "runtime/mpi/strategy/pipeline.h"
#include "runtime/mpi/types/registry.h"

/* ---- what the current call has staged ---------------------------------------------------------------------- */

enum { HELD = 4 }; /* enough for a call between two processes, and for a collective with one type on each side */

/* Copies of the records of the call, because a longjmp may remove those on the stack. */
static _Thread_local pw_staging held[HELD];

static void hold(const pw_staging *s)
{
    if (pw_gate_holds < HELD)
        held[pw_gate_holds++] = *s;
}

static pw_staging *held_as(const pw_staging *s)
{
    for (int i = 0; i < pw_gate_holds; i++)
        if (held[i].strategy && held[i].data == s->data)
            return &held[i];
    return NULL;
}

void pw_stagings_handed_over(void)
{
    pw_gate_holds = 0;
}

void pw_stagings_left(void)
{
    int n = pw_gate_holds;

    pw_gate_holds = 0;
    for (int i = 0; i < n; i++)
        pw_staging_close(&held[i]);
}

/* ---- opening ---------------------------------------------------------------------------------------------------- */

pw_status pw_staging_open_by(pw_staging *s, const pw_message *m, const pw_strategy *strategy)
{
    pw_status status;

    /* Field by field: a copy of the whole buffer would wait for the stores that have just filled it. */
    *s = (pw_staging){.strategy = strategy,
                      .buffer = {.layout = m->entry->layout,
                                 .place = m->buffer.place,
                                 .base = m->buffer.base,
                                 .offset = m->entry->offset,
                                 .count = m->buffer.count,
                                 .bytes = m->buffer.bytes},
                      .role = m->role,
                      .kind = m->kind,
                      .once = m->once,
                      .channel = m->channel};
    status = strategy->take(s);
    if (m->role != PW_SEND)
        s->ahead_ns = 0;
    if (status != PW_OK)
        *s = (pw_staging){.strategy = NULL};
    else if (s->buffer.layout)
        pw_layout_ref(s->buffer.layout);
    if (status == PW_OK)
        hold(s);
    return status;
}

bool pw_staging_open(pw_staging *s, const pw_message *m)
{
    unsigned refused = 0;
    pw_decision *record;
    const pw_strategy *strategy;
    pw_strategy_id id;

    while ((strategy = pw_strategy_of(id = pw_strategy_choose(m, refused, &record)))->take &&
           pw_staging_open_by(s, m, strategy) != PW_OK)
        refused |= 1U << id;
    pw_message_count(m, id);
    if (!strategy->take) {
        if (id == PW_STRATEGY_PIPELINE)
            pw_pipeline_want(m->role == PW_SEND ? PW_PACK : PW_UNPACK, m->entry, m->buffer.base, m->buffer.count);
        *s = (pw_staging){.strategy = NULL};
        return false;
    }
    s->decision = record;
    return true;
}

bool pw_staging_try(pw_staging *s, pw_message *m)
{
    s->strategy = NULL;
    return pw_message_describe(m) && pw_staging_open(s, m);
}

/* ---- what is observed ----------------------------------------------------------------------------------------- */

typedef struct watch {
    int id;
    bool timed, learn;
    int64_t begin;
} watch;

/* Whether the staging's kernel is ready: times of the interpreter say nothing about the kernel. */
static bool has_come(const pw_staging *s, pw_direction direction)
{
    pw_kernel *k = s->buffer.place.kind == PW_PLACE_HOST && s->buffer.layout && !s->buffer.layout->contiguous
                       ? s->buffer.layout->kernel
                       : NULL;

    return !k || atomic_load_explicit(direction == PW_PACK ? &k->pack : &k->unpack, memory_order_relaxed);
}

/* Begins to time packing or unpacking. With statistics on, all work is timed, but the times correct nothing, so that
 * statistics do not change what is chosen. The staging may be narrowed to a part of the message that the decision was
 * about. */
static watch begin(const pw_staging *s, pw_direction direction)
{
    watch w = {.timed = s->decision && pw_decision_size(s->buffer.bytes) == s->decision->key.size};

    if (!w.timed)
        return w;
    w.id = pw_strategy_id_of(s->strategy);
    w.learn = pw_decision_is_timed(s->decision, w.id, direction) && has_come(s, direction);
    w.timed = w.learn || pw_layout_use_is_timed();
    if (w.timed)
        w.begin = pw_clock_ns();
    return w;
}

static pw_status end(const watch *w, const pw_staging *s, pw_direction direction, pw_status status)
{
    if (w->timed && status == PW_OK)
        pw_decision_observe(s->decision, w->id, direction,
                            pw_clock_ns() - w->begin + (direction == PW_UNPACK ? s->ahead_ns : 0), w->learn);
    return status;
}

pw_status pw_staging_pack(pw_staging *s)
{
    watch w;

    if (s->under_way)
        return s->strategy->finish(s);
    w = begin(s, PW_PACK);
    return end(&w, s, PW_PACK, s->strategy->pack(s));
}

void pw_staging_expect(pw_staging *s)
{
    pw_staging *copy;

    if (!s->strategy || !s->strategy->expect)
        return;
    s->strategy->expect(s);
    copy = held_as(s);
    if (copy)
        copy->inbound = s->inbound;
}

pw_status pw_staging_unpack(pw_staging *s, int64_t received)
{
    watch w;

    if (received <= 0 || received > s->buffer.bytes)
        return PW_OK;
    if (s->under_way)
        return s->strategy->finish(s);
    if (received < s->buffer.bytes || (s->inbound && pw_inbound_is_late(s->inbound)))
        return s->strategy->unpack(s, received);
    w = begin(s, PW_UNPACK);
    return end(&w, s, PW_UNPACK, s->strategy->unpack(s, received));
}

bool pw_staging_is_watched(const pw_staging *s, pw_direction direction)
{
    int id;

    if (!s->decision || pw_decision_size(s->buffer.bytes) != s->decision->key.size)
        return false;
    id = pw_strategy_id_of(s->strategy);
    return pw_decision_is_timed(s->decision, id, direction) &&
           atomic_load_explicit(&s->decision->cells[id].timed[direction], memory_order_relaxed) < PW_DECIDE_TRUSTED;
}

bool pw_staging_begin_pack(pw_staging *s)
{
    if (!s->strategy || !s->strategy->begin || pw_staging_is_watched(s, PW_PACK))
        return true;
    return s->strategy->begin(s, PW_PACK, s->buffer.bytes);
}

bool pw_staging_is_fusable(const pw_staging *s)
{
    return s->strategy && s->strategy->is_fusable && !pw_staging_is_watched(s, PW_PACK) && s->strategy->is_fusable(s);
}

/* The bytes take what they take at the rate of a long message of this type. */
double pw_staging_fused_ns(const pw_staging *s, const pw_entry *entry)
{
    enum { LONG = 1 << 20 };
    const pw_message m = {.buffer = s->buffer, .entry = entry, .cost_bytes = LONG, .kind = s->kind, .role = s->role};
    double all = s->strategy->own_cost ? s->strategy->own_cost(&m, PW_PACK) : 0;
    double work = all - pw_model_launch(pw_model_now());

    return work > 0 ? work * (double)s->buffer.bytes / LONG : 0;
}

bool pw_staging_is_packed(const pw_staging *s)
{
    return s->under_way && s->strategy->is_over(s);
}

bool pw_staging_begin_unpack(pw_staging *s, int64_t received)
{
    if (!s->strategy || !s->strategy->begin || received <= 0 || received > s->buffer.bytes ||
        pw_staging_is_watched(s, PW_UNPACK))
        return true;
    return s->strategy->begin(s, PW_UNPACK, received);
}

/* Corrects the sender's estimate of what the receiver does. */
static void observe_peer(const pw_staging *s)
{
    int64_t ns = s->strategy->peer_ns && s->decision ? s->strategy->peer_ns(s) : 0;

    if (ns > 0 && pw_decision_size(s->buffer.bytes) == s->decision->key.size)
        pw_decision_observe(s->decision, pw_strategy_id_of(s->strategy), PW_UNPACK, ns, true);
}

void pw_staging_await(const pw_staging *s)
{
    if (s->strategy && s->strategy->await)
        s->strategy->await(s);
}

void pw_staging_close(pw_staging *s)
{
    pw_staging *copy;

    if (!s->strategy)
        return;
    pw_staging_await(s);
    observe_peer(s);
    copy = held_as(s);
    if (copy)
        copy->strategy = NULL;
    if (s->under_way)
        s->strategy->finish(s);
    s->strategy->give(s);
    s->strategy = NULL;
    pw_layout_unref(s->buffer.layout);
    s->buffer.layout = NULL;
}
