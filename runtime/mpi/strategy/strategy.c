/*
 * The table of strategies, and the choice for a message: forced by name, by the site's trial, or afresh by cost. The
 * settings are set once at start; a site is changed only through runtime/choice.
 */
#include "runtime/mpi/strategy/strategy.h"

#include "base/env.h"
#include "runtime/engine/memory/view.h"
#include "runtime/exchange/commons.h"
#include "runtime/mpi/entry/gate.h"
#include "runtime/mpi/strategy/aware.h"
#include "runtime/mpi/strategy/conditions.h"
#include "runtime/mpi/strategy/is_native.h"
#include "runtime/mpi/strategy/judge.h"
#include "runtime/mpi/strategy/mpich_split.h"

#include <limits.h>
#include <pthread.h>

static const pw_strategy *const table[PW_STRATEGY_COUNT] = {
#define X(symbol, name, packed, help) &pw_strategy_##name,
    PW_STRATEGIES(X)
#undef X
};

/* The strategy of a message to oneself that is moved. */
static const pw_strategy_id joined = PW_STRATEGY_JOINED;

_Static_assert((int)PW_CALL_KINDS *(PW_STRATEGY_COUNT + 1) <= UINT8_MAX, "a kind says what is forced, too (key_of)");
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

bool pw_joining_is_forced(void)
{
    return pw_strategy_is_named(joined);
}

bool pw_joining_is_barred(void)
{
    return pw_strategy_is_forced() && !pw_joining_is_forced();
}

bool packwright_force_strategy(pw_strategy_id id)
{
    if (id < PW_STRATEGY_COUNT && table[id]->is_there && !table[id]->is_there())
        return false;
    chosen_by.forced = id;
    pw_site_ask_all();
    pw_epoch_end(); /* what is remembered of messages no longer holds */
    return true;
}

/* ---- choosing ------------------------------------------------------------------------------------------------- */

/* Returns the cost of a strategy. Below 0: it cannot carry the message. */
static double cost(void *asked, int id)
{
    return pw_way_cost(id, &pw_model_now()->facts, pw_ask_all(asked));
}

static double first_cost(void *asked, int id)
{
    return pw_way_first_cost(id, &pw_model_now()->facts, pw_ask_all(asked));
}

/* Chooses for a message that is not like others of its class, so the choice is not remembered. */
static pw_strategy_id choose_afresh(pw_asked *a, unsigned refused)
{
    return (pw_strategy_id)pw_way_choose(&pw_model_now()->facts, pw_ask_all(a), refused, chosen_by.forced);
}

pw_strategy_id pw_message_guess(const pw_message *m)
{
    pw_asked a;

    pw_ask(&a, m);
    return choose_afresh(&a, 0);
}

/* ---- sites ------------------------------------------------------------------------------------------------------ */

static int octave(double x)
{
    return x < 1 ? 0 : 63 - __builtin_clzll((uint64_t)x);
}

/* By octaves: the length of the blocks, and their distance. */
static uint64_t shape_of(const pw_conditions *c)
{
    return c->set & PW_IF_LAYOUT
               ? (uint64_t)(1 + octave((double)c->shape.block)) << 8 | (uint64_t)octave(c->shape.spread)
               : 0;
}

enum { PLACES = 1 << 16, REACHED = PLACES, ONESELF = 2 * PLACES, VARIANT = 4 * PLACES, FETCHED = INT_MIN };

/* Stands for the memory of a message. */
static int32_t place_of(const pw_message *m)
{
    return pw_buffer_is_on_device(&m->buffer) ? 1 + m->buffer.place.device + (m->is_followed ? ONESELF : 0) : 0;
}

/* Messages that receivers may move have sites of their own, as those of other devices, and those to oneself. What one
 * kind of call sends between two processes the other kind may receive, started or not, so these are ends of one; gets
 * are no other end of puts, nor reads of writes. A way that is forced for a while leaves no trace in what trials have
 * found. */
static pw_site_key key_of(const pw_asked *a)
{
    const pw_message *m = a->message;
    unsigned set = a->now.set, later = m->kind == PW_CALL_NONBLOCKING;

    return (pw_site_key){.shape = m->to ? shape_of(&a->now) << 32 | shape_of(&a->to) : shape_of(&a->now),
                         .size = pw_site_size(m->cost_bytes),
                         .kind = (uint8_t)(m->kind - later + PW_CALL_KINDS * chosen_by.forced),
                         .role = (uint8_t)(m->role + PW_SITE_LATER * later + PW_SITE_STARTED * m->is_started),
                         .place = place_of(m) + (set & PW_IF_SHOWN ? REACHED : 0) + (m->to ? ONESELF : 0) +
                                  (pw_call_is_passed_on(m->kind) && m->role == PW_RECV ? FETCHED : 0) +
                                  VARIANT * m->variant};
}

static void share_trials(void)
{
    pw_site_share(pw_commons_part_of(PW_COMMONS_TRIALS));
}

void pw_strategy_share_trials(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    if (chosen_by.trials)
        pthread_once(&once, share_trials);
}

static pw_site_question question_of(pw_asked *a)
{
    const pw_layout *layout = a->message->entry->layout;
    pw_site_question q = {.ways = PW_STRATEGY_COUNT,
                          .forced = chosen_by.forced,
                          .example = layout ? layout->hash : (pw_hash){0, 0},
                          .ignored = a->message->is_ignored,
                          .cost = cost,
                          .first = first_cost,
                          .arg = a};

    if (!chosen_by.trials || pw_strategy_is_forced())
        return q;
    pw_strategy_share_trials();
    q.rivals = pw_way_rivals(a->now.set, &q.rival);
    return q;
}

/* Whether short paths may find the site of a message with this way. Unless it is left to MPI, nothing but layouts, a
 * size, the kind of call and the memory may tell it from others. Persistent requests remember a site of their own. */
static bool is_findable(const pw_message *m, const pw_site *s, int way)
{
    return !m->is_started &&
           (way == pw_way_left || (m->kind <= (m->to ? PW_CALL_NEIGHBOUR : PW_CALL_NONBLOCKING) && m->variant == 0 &&
                                   s->key.place == place_of(m) + (m->to ? ONESELF : 0)));
}

/* An entry is shared and constant, except for its atomic fields. */
static _Atomic(pw_site *) *slot_of(const pw_message *m)
{
    pw_entry_choices *c = &((pw_entry *)m->entry)->choices;

    return m->to ? &c->to_oneself[m->kind][m->role != PW_SEND]
                 : &c->native[m->kind][pw_native_slot(m->cost_bytes, m->role)];
}

static void remember_in(const pw_message *m, pw_site *s)
{
    _Atomic(pw_site *) *slot = slot_of(m);

    /* Short paths of native calls do not look at the memory of a site, so it must not become native in a GPU's. */
    if (!m->entry->layout || (pw_buffer_is_on_device(&m->buffer) && pw_gpu_mpi_is_aware()))
        return;
    atomic_store(slot, s);
    /* It may be known only since now: types/entries.c clears the slots before or after this. */
    if (pw_split_conditions(m) & PW_IF_CUT_HERE)
        atomic_store(slot, NULL);
}

/* Lets the short paths (runtime/mpi/strategy/is_native.h, and pw_strategy_again) find the site of a message. */
static void remember(const pw_message *m, pw_site *s, int way)
{
    pw_message to;

    if (!s || chosen_by.counted || !is_findable(m, s, way))
        return;
    remember_in(m, s);
    if (!m->to)
        return;
    to = *m->to;
    to.to = m->to;
    to.role = PW_RECV;
    remember_in(&to, s);
}

pw_strategy_id pw_strategy_choose(pw_asked *a, unsigned refused, pw_site **record)
{
    int id = pw_way_certain(a->now.set, refused, pw_strategy_is_forced());
    pw_site_key key;
    pw_site_question question;

    *record = NULL;
    if (id >= 0)
        return (pw_strategy_id)id;
    if (refused)
        return choose_afresh(a, refused);
    key = key_of(a);
    question = question_of(a);
    id = pw_judge_take(&key, &question, record);
    if (pw_way_can(id, a->now.set)) {
        remember(a->message, *record, id);
        return (pw_strategy_id)id;
    }
    pw_judge_spoil();
    *record = NULL; /* a choice for an unusual message is not remembered */
    return choose_afresh(a, refused);
}

pw_site *pw_strategy_again(const pw_message *m, int *way)
{
    pw_site *s = atomic_load_explicit(slot_of(m), memory_order_acquire);
    unsigned set;

    *way = s ? atomic_load_explicit(&s->chosen, memory_order_relaxed) : (int)pw_way_left;
    if (*way == pw_way_left || pw_gate_judged || m->cost_bytes < s->least || m->cost_bytes > s->most ||
        !is_findable(m, s, *way) || (m->to && m->to->entry->choices.to_oneself[m->kind][1] != s))
        return NULL;
    set = pw_message_conditions(m);
    if (set & PW_IF_SHOWN || pw_way_certain(set, 0, pw_strategy_is_forced()) >= 0 || !pw_way_can(*way, set))
        return NULL;
    return pw_site_again(s, *way, 1) ? s : NULL;
}

bool pw_staging_again(pw_staging *s)
{
    int way = s->strategy ? (int)pw_strategy_id_of(s->strategy) : (int)pw_way_left;

    if (!s->site || s->single || pw_gate_judged || chosen_by.counted || !pw_site_again(s->site, way, 1))
        return false;
    if (!s->strategy || !s->strategy->again || s->strategy->again(s))
        return true;
    pw_site_again(s->site, way, -1);
    return false;
}

bool pw_message_is_left(const pw_message *m)
{
    pw_asked a;
    pw_site *record;

    pw_ask(&a, m);
    return pw_strategy_choose(&a, 0, &record) == pw_way_left;
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

bool pw_message_find(pw_message *m)
{
    const pw_entry *entry = m->entry;
    pw_buffer *b = &m->buffer;

    if (b->count <= 0 || pw_entry_is_left(entry) || __builtin_mul_overflow(b->count, entry->size, &b->bytes) ||
        b->bytes == 0 || (b->base == MPI_BOTTOM && entry->touches_origin))
        return false;
    m->cost_bytes = b->bytes;
    b->layout = entry->layout;
    b->offset = entry->lowest;
    /* Asks about the first object's lowest byte, since the base itself need not be part of the buffer. */
    b->place = pw_memory_place_of(pw_view_first(b));
    return true;
}

bool pw_message_describe(pw_message *m)
{
    const pw_buffer *b = &m->buffer;

    return pw_message_find(m) &&
           (b->place.kind == PW_PLACE_HOST ? b->layout && !m->entry->gpu_only : b->place.kind != PW_PLACE_UNKNOWN);
}

/* Statistics count what was carried out, so while they are on a site is not asked in vain. */
void pw_message_leave(pw_message *m)
{
    m->is_ignored = true;
    if (!chosen_by.counted && pw_message_describe(m))
        pw_message_is_left(m);
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
    atomic_fetch_add_explicit(&choices->moved, m->kind == PW_CALL_IO ? m->cost_bytes : m->buffer.bytes,
                              memory_order_relaxed);
}

/* A pair of layouts is joined when it comes back: it takes as long as some calls gain, and some types are used once. */
bool pw_message_is_joined(const pw_message *from, const pw_message *to, pw_site **site)
{
    enum { OFTEN = 4 };
    pw_message m = *from;
    pw_asked a;
    pw_site *record;
    int way;

    m.role = PW_SEND;
    m.to = to;
    record = pw_strategy_again(&m, &way);
    if (!record) {
        pw_ask(&a, &m);
        way = (int)pw_strategy_choose(&a, 0, &record);
    }
    *site = chosen_by.counted ? NULL : record;
    if (way != (int)joined)
        return false;
    if (!from->entry->layout || !to->entry->layout || pw_strategy_is_forced() ||
        (record && atomic_load_explicit(&record->rounds, memory_order_relaxed) >= OFTEN))
        return true;
    *site = NULL;
    pw_judge_spoil();
    return false;
}

pw_again pw_message_joins_again(pw_site *site)
{
    static const pw_site_question known = {.rivals = 1}; /* only sites that are new or have no trial ask for the rest */
    bool in_window = pw_gate_judged || pw_site_is_due(site);
    pw_site *same;

    if (in_window && site->has_trial)
        return pw_judge_take(&site->key, &known, &same) == joined ? PW_AGAIN_JOINED : PW_AGAIN_LEFT;
    return !in_window && pw_site_again(site, joined, 1) ? PW_AGAIN_JOINED : PW_AGAIN_UNKNOWN;
}

void pw_message_count_joined(const pw_message *from, const pw_message *to)
{
    pw_message m = *from;

    m.role = PW_SEND;
    pw_message_count(&m, joined);
    m = *to;
    m.role = PW_RECV;
    pw_message_count(&m, joined);
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
