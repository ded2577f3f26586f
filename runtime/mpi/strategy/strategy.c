/*
 * The table of strategies, and the choice for a message: forced by name, by the site's trial, or afresh by cost. The
 * settings are set once at start; a site is changed only through runtime/choice.
 */
#include "runtime/mpi/strategy/strategy.h"

#include "base/env.h"
#include "runtime/choice/site.h"
#include "runtime/exchange/commons.h"
#include "runtime/exchange/gpu/lazy.h"
#include "runtime/exchange/sharing.h"
#include "runtime/mpi/entry/gate.h"
#include "runtime/mpi/strategy/is_native.h"
#include "runtime/mpi/strategy/judge.h"
#include "runtime/mpi/strategy/mpich_split.h"
#include "runtime/mpi/strategy/pipeline.h"

#include <pthread.h>

static const pw_strategy *const table[PW_STRATEGY_COUNT] = {
#define X(symbol, name, packed, help) &pw_strategy_##name,
    PW_STRATEGIES(X)
#undef X
};

_Static_assert((int)PW_STRATEGY_COUNT <= PW_SITE_WAYS, "sites have room for all strategies");
_Static_assert(sizeof(pw_board) <= PW_COMMONS_PART_BYTES, "the board has room in the memory that ranks have in common");

/* The singleton, set once at start. */
static struct {
    pw_strategy_id forced; /* PACKWRIGHT_STRATEGY, or PW_STRATEGY_COUNT for the model */
    bool counted;          /* uses are counted for PACKWRIGHT_STATS or PACKWRIGHT_TRACE */
    bool trials;           /* PACKWRIGHT_TRIALS */
} chosen_by = {PW_STRATEGY_COUNT, false, false};

void pw_strategy_start(void)
{
    /* The first word is "auto", and the others are the table's. */
    int word = pw_env_choice(PW_ENV_STRATEGY);

    if (word > 0)
        chosen_by.forced = (pw_strategy_id)(word - 1);
    chosen_by.counted = pw_layout_use_is_reported();
    chosen_by.trials = pw_env_bool(PW_ENV_TRIALS) && word <= 0;
    pw_split_start();
    pw_model_start(PW_MPI_IS_OPEN_MPI ? "openmpi" : "mpich");
}

const pw_strategy *pw_strategy_of(pw_strategy_id id)
{
    return table[id];
}

pw_strategy_id pw_strategy_id_of(const pw_strategy *strategy)
{
    int id = 0;

    while (table[id] != strategy)
        id++;
    return (pw_strategy_id)id;
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
    chosen_by.trials = false;
    pw_site_ask_all();
    pw_gate_count_death(); /* what is remembered of messages no longer holds */
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

/* Whether peers' GPUs may take the message from the memory of this rank's GPU. */
static bool may_go_directly(const pw_message *m)
{
    return m->buffer.place.kind == PW_PLACE_DEVICE && m->role == PW_SEND && m->channel && pw_strategy_direct.can(m);
}

pw_model_query pw_message_query(const pw_message *m)
{
    const pw_entry *entry = m->entry;
    pw_model_query q = {.kind = m->kind,
                        .memory = m->buffer.place.kind == PW_PLACE_DEVICE ? PW_MODEL_DEVICE : PW_MODEL_HOST,
                        .contiguous = !entry->layout,
                        .shared = pw_sharing_is_likely(),
                        .opened = may_go_directly(m) && pw_gpu_lazy_is_possible()};
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

/* Returns the cost of a strategy. Below 0: it cannot carry the message. */
static double cost(void *arg, int id)
{
    const pw_message *m = arg;

    return table[id]->can(m) ? table[id]->cost(m) : -1;
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

/* ---- sites ------------------------------------------------------------------------------------------------------ */

/* The strategies that trials compare, in the same order for all messages that may meet in a call. `contiguous` is
 * missing: it gives MPI the same bytes as native does. */
static const uint8_t on_host[] = {PW_STRATEGY_NATIVE, PW_STRATEGY_PACKED, PW_STRATEGY_DIRECT, PW_STRATEGY_JOINED,
                                  PW_STRATEGY_PIPELINE};
/* What a message to oneself takes in place of each strategy of `on_host`: where others are packed, it is joined. */
static const uint8_t to_oneself[] = {PW_STRATEGY_NATIVE, PW_STRATEGY_JOINED, PW_STRATEGY_DIRECT, PW_STRATEGY_JOINED,
                                     PW_STRATEGY_PIPELINE};
static const uint8_t on_device[] = {PW_STRATEGY_NATIVE,   PW_STRATEGY_DIRECT, PW_STRATEGY_DEVICE,
                                    PW_STRATEGY_ONE_SHOT, PW_STRATEGY_STAGED, PW_STRATEGY_PIPELINED};

static bool is_on_device(const pw_message *m)
{
    return m->buffer.place.kind == PW_PLACE_DEVICE;
}

static int octave(double x)
{
    return x < 1 ? 0 : 63 - __builtin_clzll((uint64_t)x);
}

/* A shape is what the cost of moving a message depends on besides its size: the length of its blocks and their
 * distance, by octaves. */
static uint64_t shape_of(const pw_message *m)
{
    pw_model_query q = pw_message_query(m);

    return q.contiguous ? 0 : (uint64_t)(1 + octave((double)q.shape.block)) << 8 | (uint64_t)octave(q.shape.spread);
}

enum { PLACES = 1 << 16, REACHED = PLACES, ONESELF = 2 * PLACES, VARIANT = 4 * PLACES };

/* Messages that `direct` can carry have sites of their own, as those of other devices, and those to oneself. */
static pw_site_key key_of(const pw_message *m)
{
    bool reached = m->channel && pw_strategy_direct.can(m);

    return (pw_site_key){.shape = m->to ? shape_of(m) << 32 | shape_of(m->to) : shape_of(m),
                         .size = pw_site_size(m->cost_bytes),
                         .kind = (uint8_t)m->kind,
                         .role = (uint8_t)m->role,
                         .place = (is_on_device(m) ? 1 + m->buffer.place.device : 0) + (reached ? REACHED : 0) +
                                  (m->to ? ONESELF : 0) + VARIANT * m->variant};
}

static pw_hash hash_of(const pw_message *m)
{
    return m->entry->layout ? m->entry->layout->hash : (pw_hash){0, 0};
}

/* Runs when a message is to be sent, so after MPI_Init. */
static void share_trials(void)
{
    pw_site_share(pw_commons_part_of(PW_COMMONS_TRIALS));
}

#define RIVALS(q, list) ((q)->rivals = sizeof(list), (q)->rival = (list))

static pw_site_question question_of(const pw_message *m)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pw_site_question q = {
        .ways = PW_STRATEGY_COUNT, .forced = chosen_by.forced, .example = hash_of(m), .cost = cost, .arg = (void *)m};

    if (!chosen_by.trials)
        return q;
    pthread_once(&once, share_trials);
    if (is_on_device(m))
        RIVALS(&q, on_device);
    else if (m->to)
        RIVALS(&q, to_oneself);
    else
        RIVALS(&q, on_host);
    return q;
}

/* An entry is shared and constant, except for its atomic fields. */
static void remember_in(const pw_message *m, pw_site *s)
{
    pw_entry *entry = (pw_entry *)m->entry;

    if (entry->layout && m->buffer.place.kind == PW_PLACE_HOST)
        atomic_store_explicit(m->to ? &entry->choices.to_oneself[m->kind]
                                    : &entry->choices.native[m->kind][pw_native_slot(m->cost_bytes)],
                              s, memory_order_release);
}

/* Lets the short path (runtime/mpi/strategy/is_native.h) find a site that left a message to MPI. */
static void remember_native(const pw_message *m, pw_site *s)
{
    pw_message to;

    if (!s || chosen_by.counted)
        return;
    remember_in(m, s);
    if (!m->to)
        return;
    to = *m->to;
    to.to = m->to;
    remember_in(&to, s);
}

/* Chooses for a message that `direct` has refused, as it may for thousands of messages of a channel. The choice is
 * remembered, as that for messages which `direct` cannot carry. */
static pw_strategy_id choose_indirect(const pw_message *m, pw_site **record)
{
    pw_message indirect = *m;

    indirect.channel = 0;
    return pw_strategy_choose(&indirect, 0, record);
}

pw_strategy_id pw_strategy_choose(const pw_message *m, unsigned refused, pw_site **record)
{
    pw_site_key key;
    pw_site_question question;
    int id;

    *record = NULL;
    if (!m->to && is_possible(PW_STRATEGY_PACKED, m, refused) && pw_split_needs_stage(m))
        return PW_STRATEGY_PACKED;
    if (is_possible(PW_STRATEGY_CONTIGUOUS, m, refused) && !pw_strategy_is_forced())
        return PW_STRATEGY_CONTIGUOUS;
    if (refused == 1U << PW_STRATEGY_DIRECT)
        return choose_indirect(m, record);
    if (refused)
        return choose_afresh(m, refused);
    key = key_of(m);
    question = question_of(m);
    id = pw_judge_take(&key, &question, record);
    if (table[id]->can(m)) {
        if (id == PW_STRATEGY_NATIVE)
            remember_native(m, *record);
        return (pw_strategy_id)id;
    }
    pw_judge_spoil();
    *record = NULL; /* a choice for an unusual message is not remembered */
    return choose_afresh(m, refused);
}

bool pw_message_is_left(const pw_message *m)
{
    pw_site *record;

    return pw_strategy_choose(m, 0, &record) == PW_STRATEGY_NATIVE;
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

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
    pw_entry_choices *choices = &((pw_entry *)m->entry)->choices;
    pw_transfer_kind of = m->kind == PW_CALL_IO          ? PW_TRANSFER_FILE
                          : m->kind == PW_CALL_ONE_SIDED ? PW_TRANSFER_WINDOW
                                                         : PW_TRANSFER_MESSAGE;

    if (!chosen_by.counted)
        return;
    if (m->role != PW_RECV)
        atomic_fetch_add_explicit(&choices->used[of][id][PW_SEND], 1, memory_order_relaxed);
    if (m->role != PW_SEND)
        atomic_fetch_add_explicit(&choices->used[of][id][PW_RECV], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&choices->moved, m->buffer.bytes, memory_order_relaxed);
}

/* A pair of layouts is joined when it comes back: that takes as long as some calls gain, and programs make types that
 * they use once. */
bool pw_message_is_joined(const pw_message *from, const pw_message *to)
{
    enum { OFTEN = 4 };
    pw_message m = *from;
    pw_site *record;

    m.role = PW_SEND;
    m.to = to;
    if (pw_strategy_choose(&m, 0, &record) != PW_STRATEGY_JOINED)
        return false;
    if (!from->entry->layout || !to->entry->layout || pw_strategy_is_forced() || from->left_wrong ||
        (record && atomic_load_explicit(&record->rounds, memory_order_relaxed) >= OFTEN))
        return true;
    pw_judge_spoil();
    return false;
}

static pw_site *remembered(const pw_message *m)
{
    return m->entry->layout ? atomic_load_explicit(&m->entry->choices.to_oneself[m->kind], memory_order_acquire) : NULL;
}

bool pw_message_is_left_again(const pw_message *from, const pw_message *to)
{
    pw_site *a = remembered(from), *b = remembered(to), *s = a ? a : b;

    return s && (!from->entry->layout || a == s) && (!to->entry->layout || b == s) && from->cost_bytes >= s->least &&
           from->cost_bytes <= s->most && s->key.place / VARIANT == from->variant &&
           pw_site_again(s, PW_STRATEGY_NATIVE);
}

bool pw_message_is_remote(const pw_message *m)
{
    return choose_afresh(m, 0) == PW_STRATEGY_REMOTE;
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

void pw_message_count_moved(const pw_message *from, const pw_entry *to, const pw_strategy *expected)
{
    pw_message m = {.entry = to, .role = PW_RECV};

    if (!chosen_by.counted)
        return;
    pw_message_count_joined(from, &m);
    atomic_fetch_sub_explicit(
        &((pw_entry *)to)->choices.used[PW_TRANSFER_MESSAGE][pw_strategy_id_of(expected)][PW_RECV], 1,
        memory_order_relaxed);
}
