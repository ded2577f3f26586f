#include "runtime/mpi/strategy/strategy.h"

#include "base/clock.h"
#include "base/env.h"
#include "codegen/target.h"
#include "runtime/engine/memory/outbound.h"
#include "runtime/engine/model/cost.h"
#include "runtime/engine/model/decide.h"
#include "runtime/engine/node/sharing.h"
#include "runtime/mpi/entry/gate.h"
#include "runtime/mpi/strategy/is_native.h"
#include "runtime/mpi/strategy/mpich_split.h"
#include "runtime/mpi/strategy/pipeline.h"
#include "runtime/mpi/types/registry.h"

enum { WATCHED = 8 }; /* a factor counts from its eighth observation on (runtime/engine/model/decide.h) */

static const pw_strategy *const table[PW_STRATEGY_COUNT] = {
#define X(symbol, name, packed, help) &pw_strategy_##name,
    PW_STRATEGIES(X)
#undef X
};

_Static_assert((int)PW_STRATEGY_COUNT <= PW_DECIDE_STRATEGIES, "decisions have room for all strategies");

/* The singleton, set once at start. */
static struct {
    pw_strategy_id forced; /* PACKWRIGHT_STRATEGY, or PW_STRATEGY_COUNT for the model */
    bool stats;
    bool counted; /* uses are counted for PACKWRIGHT_STATS or PACKWRIGHT_TRACE */
} chosen_by = {PW_STRATEGY_COUNT, false, false};

void pw_strategy_start(void)
{
    /* The first word is "auto", and the others are the table's. */
    int word = pw_env_choice(PW_ENV_STRATEGY);

    if (word > 0)
        chosen_by.forced = (pw_strategy_id)(word - 1);
    chosen_by.stats = pw_layout_use_is_timed();
    chosen_by.counted = pw_layout_use_is_reported();
    pw_split_start();
    pw_cost_start(PW_MPI_IS_OPEN_MPI, pw_cost_cores_of(pw_target_host()->cpu));
    pw_model_start(PW_MPI_IS_OPEN_MPI ? "openmpi" : "mpich");
}

bool pw_strategy_is_named(pw_strategy_id id)
{
    return chosen_by.forced == id;
}

bool pw_strategy_is_forced(void)
{
    return chosen_by.forced != PW_STRATEGY_COUNT;
}

bool packwright_force_strategy(pw_strategy_id id)
{
    if (id == PW_STRATEGY_PIPELINE && !pw_pipeline_is_there())
        return false;
    chosen_by.forced = id;
    return true;
}

/* ---- choosing ------------------------------------------------------------------------------------------------- */

/* Returns how many bytes the objects of a message, or of one of its blocks, stretch over, from the first to the last.
 */
static int64_t stretch_of(const pw_message *m)
{
    const pw_layout *layout = m->entry->layout;
    int64_t one = layout->nest->hi - layout->nest->lo, all;
    int64_t count = m->cost_bytes == m->buffer.bytes ? (int64_t)m->buffer.count : m->cost_bytes / m->entry->size;

    if (__builtin_mul_overflow(count > 0 ? count - 1 : 0, layout->extent, &all))
        return INT64_MAX;
    all = all < 0 ? -all : all;
    return __builtin_add_overflow(all, one, &all) ? INT64_MAX : all;
}

pw_model_query pw_message_query(const pw_message *m)
{
    const pw_entry *entry = m->entry;
    pw_model_query q = {.kind = m->kind,
                        .memory = m->buffer.place.kind == PW_PLACE_DEVICE ? PW_MODEL_DEVICE : PW_MODEL_HOST,
                        .contiguous = !entry->layout,
                        .shared = pw_sharing_is_likely(),
                        .apart = pw_outbound_is_apart(),
                        .near = pw_outbound_is_near()};
    /* Counts the blocks by bytes and not by `count`: the staging buffer of a collective has the bytes of many blocks.
     */
    double block = entry->blocks > 0 ? (double)entry->size / (double)entry->blocks : (double)m->cost_bytes;
    double blocks = (double)m->cost_bytes / block;

    q.shape = pw_model_shape_of(m->cost_bytes, blocks < 1 ? 1 : (int64_t)blocks,
                                q.contiguous ? m->cost_bytes : stretch_of(m));
    return q;
}

bool pw_message_is_one_block(const pw_message *m)
{
    const pw_layout *layout = m->entry->layout;

    return layout && m->buffer.count == 1 && m->entry->blocks == 1 &&
           layout->nest->hi - layout->nest->lo == m->buffer.bytes;
}

bool pw_message_may_be_contiguous(const pw_message *m)
{
    return m->buffer.bytes < PW_LEAST_READ || m->kind == PW_CALL_IO || !pw_sharing_is_refused();
}

static bool is_possible(int id, const pw_message *m, unsigned refused)
{
    return !(refused >> id & 1) && table[id]->can(m);
}

static pw_estimate estimate(void *arg, int id)
{
    const pw_message *m = arg;
    const pw_strategy *s = table[id];
    pw_estimate e = {.total = -1};

    if (id != PW_STRATEGY_NATIVE && !s->can(m))
        return e;
    e.total = s->cost(m);
    for (int direction = 0; s->own_cost && direction < PW_DIRECTIONS; direction++)
        e.own[direction] = s->own_cost(m, (pw_direction)direction);
    return e;
}

/* Chooses for a message that is not like others of its class, so the choice is not remembered. */
static pw_strategy_id choose_afresh(const pw_message *m, unsigned refused)
{
    pw_strategy_id best = PW_STRATEGY_NATIVE;
    double best_cost = table[best]->cost(m);

    if (chosen_by.forced != PW_STRATEGY_COUNT && is_possible(chosen_by.forced, m, refused))
        return chosen_by.forced;
    for (int id = PW_STRATEGY_NATIVE + 1; id < PW_STRATEGY_COUNT; id++) {
        double cost = is_possible(id, m, refused) ? table[id]->cost(m) : best_cost;

        if (cost < best_cost) {
            best = (pw_strategy_id)id;
            best_cost = cost;
        }
    }
    return best;
}

static pw_hash hash_of(const pw_message *m)
{
    return m->entry->layout ? m->entry->layout->hash : (pw_hash){0, 0};
}

enum { REACHED = 1 << 16 };

/* Messages that `direct` can carry have decisions of their own, as for other devices. */
static pw_decision_key key_of(const pw_message *m)
{
    bool device = m->buffer.place.kind == PW_PLACE_DEVICE;
    bool reached = m->channel && pw_strategy_direct.can(m);

    return (pw_decision_key){.layout = m->to ? pw_hash_mix(hash_of(m), hash_of(m->to)) : hash_of(m),
                             .size = pw_decision_size(m->cost_bytes),
                             .kind = (uint8_t)m->kind,
                             .memory = device ? PW_MODEL_DEVICE : PW_MODEL_HOST,
                             .device = (device ? m->buffer.place.device : 0) + (reached ? REACHED : 0)};
}

/* Lets the short path (runtime/mpi/strategy/is_native.h) find a decision that was native. */
static void remember_native(const pw_message *m, pw_decision *d)
{
    /* An entry is shared and constant, except for its atomic fields. */
    pw_entry *entry = (pw_entry *)m->entry;

    if (d && !chosen_by.counted && entry->layout && m->buffer.place.kind == PW_PLACE_HOST)
        atomic_store_explicit(&entry->choices.native[m->kind][pw_native_slot(m->cost_bytes)], d, memory_order_release);
}

static pw_strategy_id choose(const pw_message *m, unsigned refused, pw_decision **record)
{
    pw_decision_key key = key_of(m);
    const pw_question question = {.strategies = PW_STRATEGY_COUNT,
                                  .forced = chosen_by.forced,
                                  .direction = m->role,
                                  .fn = estimate,
                                  .arg = (void *)m};
    int id;

    *record = NULL;
    if (!m->to && is_possible(PW_STRATEGY_PACKED, m, refused) && pw_split_needs_stage(m))
        return PW_STRATEGY_PACKED;
    if (refused)
        return choose_afresh(m, refused);
    id = pw_decide(&key, &question, record);
    if (table[id]->can(m)) {
        if (id == PW_STRATEGY_NATIVE && !m->to)
            remember_native(m, *record);
        return (pw_strategy_id)id;
    }
    *record = NULL; /* a decision for an unusual message is not remembered */
    return choose_afresh(m, refused);
}

pw_strategy_id pw_strategy_choose(const pw_message *m, unsigned refused)
{
    pw_decision *record;

    return choose(m, refused, &record);
}

/* ---- messages and stagings ------------------------------------------------------------------------------------ */

bool pw_message_describe(pw_message *m)
{
    const pw_entry *entry = m->entry;
    pw_buffer *b = &m->buffer;

    if (b->count <= 0 || pw_entry_is_left(entry) || __builtin_mul_overflow(b->count, entry->size, &b->bytes) ||
        b->bytes == 0 || (b->base == MPI_BOTTOM && entry->touches_origin))
        return false;
    m->cost_bytes = b->bytes;
    b->layout = entry->layout;
    b->offset = entry->offset;
    /* Asks about the first object's lowest byte, since the base itself need not be part of the buffer. */
    b->place = pw_memory_place_of((char *)b->base + (b->layout ? b->layout->nest->lo : b->offset));
    return b->place.kind == PW_PLACE_HOST ? b->layout && !entry->gpu_only : b->place.kind != PW_PLACE_UNKNOWN;
}

/* Must be called before MPI: once a message is under way, another thread may free the type and its entry. */
void pw_message_count(const pw_message *m, pw_strategy_id id)
{
    pw_entry *entry = (pw_entry *)m->entry;

    if (!chosen_by.counted)
        return;
    if (m->role != PW_RECV)
        atomic_fetch_add_explicit(&entry->choices.used[id][PW_SEND], 1, memory_order_relaxed);
    if (m->role != PW_SEND)
        atomic_fetch_add_explicit(&entry->choices.used[id][PW_RECV], 1, memory_order_relaxed);
}

/* A pair of layouts is joined when it comes back: that takes as long as some calls gain, and programs make types that
 * they use once. */
bool pw_message_is_joined(const pw_message *from, const pw_message *to)
{
    enum { OFTEN = 4 };
    pw_message m = *from;
    pw_decision *record;

    m.role = PW_SEND;
    m.to = to;
    if (choose(&m, 0, &record) != PW_STRATEGY_JOINED)
        return false;
    return !from->entry->layout || !to->entry->layout || pw_strategy_is_forced() ||
           (record && atomic_load_explicit(&record->cells[PW_STRATEGY_JOINED].uses, memory_order_relaxed) >= OFTEN);
}

void pw_message_count_joined(const pw_message *from, const pw_message *to)
{
    pw_message m = *from;

    m.role = PW_SEND;
    pw_message_count(&m, PW_STRATEGY_JOINED);
    m = *to;
    m.role = PW_RECV;
    pw_message_count(&m, PW_STRATEGY_JOINED);
}

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
    pw_strategy_id id;

    while (table[id = choose(m, refused, &record)]->take && pw_staging_open_by(s, m, table[id]) != PW_OK)
        refused |= 1U << id;
    pw_message_count(m, id);
    if (!table[id]->take) {
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

static int id_of(const pw_strategy *strategy)
{
    int id = 0;

    while (table[id] != strategy)
        id++;
    return id;
}

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
    w.id = id_of(s->strategy);
    w.learn = pw_decision_is_timed(s->decision, w.id, direction) && has_come(s, direction);
    w.timed = w.learn || chosen_by.stats;
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
    if (received < s->buffer.bytes)
        return s->strategy->unpack(s, received);
    w = begin(s, PW_UNPACK);
    return end(&w, s, PW_UNPACK, s->strategy->unpack(s, received));
}

/* Whether this work must be done alone and timed. Work that overlaps with other work cannot be timed, so the first few
 * messages of a class, which are done alone, correct the estimates. */
static bool is_watched(const pw_staging *s, pw_direction direction)
{
    int id;

    if (!s->decision || pw_decision_size(s->buffer.bytes) != s->decision->key.size)
        return false;
    id = id_of(s->strategy);
    return pw_decision_is_timed(s->decision, id, direction) &&
           atomic_load_explicit(&s->decision->cells[id].timed[direction], memory_order_relaxed) < WATCHED;
}

bool pw_staging_begin_pack(pw_staging *s)
{
    if (!s->strategy || !s->strategy->begin || is_watched(s, PW_PACK))
        return true;
    return s->strategy->begin(s, PW_PACK, s->buffer.bytes);
}

bool pw_staging_is_fusable(const pw_staging *s)
{
    return s->strategy && s->strategy->is_fusable && !is_watched(s, PW_PACK) && s->strategy->is_fusable(s);
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
    if (!s->strategy || !s->strategy->begin || received <= 0 || received > s->buffer.bytes || is_watched(s, PW_UNPACK))
        return true;
    return s->strategy->begin(s, PW_UNPACK, received);
}

void pw_staging_close(pw_staging *s)
{
    pw_staging *copy;

    if (!s->strategy)
        return;
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
