#include "runtime/engine/model/decide.h"

#include "base/clock.h"
#include "runtime/engine/model/internal.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
    SLOTS_SHIFT = 5, /* log2 of the slots of a thread's table */
    BUCKETS = 2 * PW_DECIDE_RECORDS,
    OCTAVES = 64,
    TRUSTED = PW_DECIDE_TRUSTED,
    SEVERAL = 4,  /* so many observations are enough to doubt an estimate, if all of them do */
    AGAIN = 1024, /* uses after which a decision is made again */
    BURST = 24,   /* messages that make a round if all have one direction and do not block; it has many divisors */
    STALE_NS = 500000000 /* after so long without a use, a trial is over */
};

static const float most_correction = 2; /* the largest correction, as a logarithm of base 2 */
_Static_assert(PW_DECIDE_MOST_OFF == 1 << 2, "it is the same correction");

/* The singleton. Records are added under the lock, and stay until pw_decision_reset. */
static struct {
    pthread_mutex_t lock;
    pw_decision *buckets[BUCKETS];
    pw_decision *all[PW_DECIDE_RECORDS];
    int n;
    pw_correction corrections[PW_DECIDE_STRATEGIES][OCTAVES][PW_DIRECTIONS];
    _Atomic unsigned generation; /* goes up when records are removed */
} decisions = {.lock = PTHREAD_MUTEX_INITIALIZER};

typedef struct slot {
    pw_decision_key key;
    pw_decision *record;
    unsigned generation;
} slot;

static _Thread_local slot slots[1 << SLOTS_SHIFT];

/* The singleton: the trial that is going on. The lock guards all fields except the clock. */
static struct {
    pthread_mutex_t lock;
    pw_decision *decision; /* NULL: there is no trial */
    const slot *owner;     /* the table of the thread whose uses count in the trial */
    int64_t last;          /* use */
    pw_trial trial;
    int64_t (*_Atomic clock)(void);
} trying = {.lock = PTHREAD_MUTEX_INITIALIZER, .clock = pw_clock_ns};

int64_t pw_decision_most(uint16_t size)
{
    int top = size / 4 + 1;

    return size < 4 ? size + 1 : (int64_t)(((uint64_t)(4 + size % 4) + 1) << (top - 2));
}

static uint64_t hash_of(const pw_decision_key *k)
{
    uint64_t rest = (uint64_t)k->size << 48 ^ (uint64_t)k->kind << 40 ^ (uint64_t)k->memory << 32 ^ (uint32_t)k->device;

    return (k->layout.lo ^ rest * UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xbf58476d1ce4e5b9);
}

static bool same(const pw_decision_key *a, const pw_decision_key *b)
{
    return !memcmp(a, b, sizeof *a);
}

/* ---- corrections ---------------------------------------------------------------------------------------------- */

static pw_correction *correction_of(int strategy, uint16_t size, pw_direction direction)
{
    return &decisions.corrections[strategy][size / 4 % OCTAVES][direction];
}

static float limited(float log)
{
    return log < -most_correction ? -most_correction : log > most_correction ? most_correction : log;
}

double pw_decision_factor(int strategy, uint16_t size, pw_direction direction)
{
    pw_correction *c = correction_of(strategy, size, direction);

    if (atomic_load_explicit(&c->count, memory_order_relaxed) < TRUSTED)
        return 1;
    return exp2((double)atomic_load_explicit(&c->log, memory_order_relaxed));
}

/* Moves a mean. Interruptions make times longer and never shorter, so longer times count less. */
static float moved(float old, float log)
{
    return old + (log - old) / (log > old ? 4 * TRUSTED : TRUSTED);
}

/* Updates a correction: with the least observation until there are enough for a moving mean. */
static void update(pw_correction *c, float log)
{
    int count = atomic_load_explicit(&c->count, memory_order_relaxed);
    float old = atomic_load_explicit(&c->log, memory_order_relaxed), next = limited(log);

    if (count >= TRUSTED)
        next = moved(old, next);
    else if (count > 0 && old < next)
        next = old;
    atomic_store_explicit(&c->log, next, memory_order_relaxed);
    if (count < TRUSTED)
        atomic_store_explicit(&c->count, count + 1, memory_order_relaxed);
}

static void relax(int strategy, uint16_t size)
{
    for (int direction = 0; direction < PW_DIRECTIONS; direction++) {
        pw_correction *c = correction_of(strategy, size, (pw_direction)direction);

        atomic_store_explicit(&c->log, atomic_load_explicit(&c->log, memory_order_relaxed) / 2, memory_order_relaxed);
    }
}

void pw_decision_observe(pw_decision *d, int strategy, pw_direction direction, int64_t ns, bool learn)
{
    pw_decision_cell *cell = d ? &d->cells[strategy] : NULL;
    float estimate = cell ? atomic_load_explicit(&cell->own[direction], memory_order_relaxed) : 0;

    if (estimate <= 0 || ns <= 0)
        return;
    atomic_fetch_add_explicit(&cell->timed[direction], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&cell->observed[direction], ns, memory_order_relaxed);
    atomic_fetch_add_explicit(&cell->estimated[direction], (int64_t)estimate, memory_order_relaxed);
    if (learn)
        update(d->key.memory == PW_MODEL_HOST ? &cell->seen[direction]
                                              : correction_of(strategy, d->key.size, direction),
               log2f((float)ns / estimate));
}

/* ---- deciding --------------------------------------------------------------------------------------------------- */

static double corrected(const pw_estimate *e, int strategy, uint16_t size)
{
    double total = e->total;

    for (int direction = 0; direction < PW_DIRECTIONS; direction++)
        if (e->own[direction] > 0)
            total += e->own[direction] * (pw_decision_factor(strategy, size, (pw_direction)direction) - 1);
    return total > 0 ? total : 0;
}

static void note(pw_decision *d, int strategy, const pw_estimate *e, double total)
{
    pw_decision_cell *cell = &d->cells[strategy];

    atomic_store_explicit(&cell->total, (float)total, memory_order_relaxed);
    for (int direction = 0; direction < PW_DIRECTIONS; direction++)
        atomic_store_explicit(&cell->own[direction], (float)e->own[direction], memory_order_relaxed);
}

/* Returns what to take: the result of a trial, as long as the estimates are as they were then. */
static int settled(pw_decision *d, int guess)
{
    int verdict = atomic_load_explicit(&d->verdict, memory_order_relaxed);

    if (verdict >= 0 && guess == atomic_load_explicit(&d->guess, memory_order_relaxed) && d->cells[verdict].total >= 0)
        return verdict;
    atomic_store_explicit(&d->guess, guess, memory_order_relaxed);
    atomic_store_explicit(&d->verdict, -1, memory_order_relaxed);
    return guess;
}

/* Makes a decision by asking for all costs. `d` may be NULL. */
static int make(const pw_decision_key *key, const pw_question *q, pw_decision *d)
{
    int best = 0;
    double best_total = 0;

    for (int id = 0; id < q->strategies; id++) {
        pw_estimate e = q->fn(q->arg, id);
        double total = e.total < 0 ? -1 : key->memory == PW_MODEL_HOST ? e.total : corrected(&e, id, key->size);

        if (d)
            note(d, id, &e, total);
        if (id == 0 || (total >= 0 && (id == q->forced || (best != q->forced && total < best_total)))) {
            best = id;
            best_total = total;
        }
    }
    if (d) {
        best = settled(d, best);
        atomic_store_explicit(&d->chosen, best, memory_order_relaxed);
    }
    return best;
}

static void remake(pw_decision *d, const pw_question *q)
{
    int best = make(&d->key, q, d);

    for (int id = 0; id < d->strategies; id++)
        if (id != best)
            relax(id, d->key.size);
}

static bool is_due(int64_t uses)
{
    return uses == 8 || uses == 64 || uses == 512 || (uses & (AGAIN - 1)) == 0;
}

/* Finds the bucket of a key. The caller holds the lock. */
static pw_decision **bucket_of(const pw_decision_key *key)
{
    uint64_t i = hash_of(key) >> 40;

    for (;; i++) {
        pw_decision **at = &decisions.buckets[i % BUCKETS];

        if (!*at || same(&(*at)->key, key))
            return at;
    }
}

static pw_decision *look_up(const pw_decision_key *key)
{
    pw_decision *d;

    pthread_mutex_lock(&decisions.lock);
    d = *bucket_of(key);
    pthread_mutex_unlock(&decisions.lock);
    return d;
}

/* Adds a record, and takes it over. Returns the record to use: another thread's if that was faster. NULL: there is no
 * room. */
static pw_decision *add(pw_decision *mine)
{
    pw_decision **at, *d;

    pthread_mutex_lock(&decisions.lock);
    at = bucket_of(&mine->key);
    if (!*at && decisions.n < PW_DECIDE_RECORDS) {
        decisions.all[decisions.n++] = *at = mine;
        mine = NULL;
    }
    d = *at;
    pthread_mutex_unlock(&decisions.lock);
    free(mine);
    return d;
}

static pw_decision *create(const pw_decision_key *key, const pw_question *q)
{
    size_t align = _Alignof(pw_decision),
           bytes = sizeof(pw_decision) + (size_t)q->strategies * sizeof(pw_decision_cell);
    pw_decision *d = aligned_alloc(align, (bytes + align - 1) / align * align);

    if (d) {
        memset(d, 0, bytes);
        d->key = *key;
        d->least = key->size > 0 ? pw_decision_most((uint16_t)(key->size - 1)) + 1 : 1;
        d->most = pw_decision_most(key->size);
        d->strategies = q->strategies;
        d->first_direction = q->direction;
        d->verdict = -1;
        d->next_trial = PW_DECIDE_FIRST;
    }
    return d;
}

/* Returns the record, and makes it with its first decision if there is none; costs are asked for without the lock.
 * NULL: there is no room, and *chosen is the decision. */
static pw_decision *find(const pw_decision_key *key, const pw_question *q, int *chosen)
{
    pw_decision *d = look_up(key);

    if (d)
        return d;
    d = create(key, q);
    *chosen = make(key, q, d);
    return d ? add(d) : NULL;
}

/* ---- trials ------------------------------------------------------------------------------------------------------ */

static int64_t uses_of(const pw_decision *d)
{
    int64_t uses = 0;

    for (int id = 0; id < d->strategies; id++)
        uses += atomic_load_explicit(&d->cells[id].uses, memory_order_relaxed);
    return uses;
}

static bool has_own(const pw_decision_cell *cell)
{
    return cell->own[PW_PACK] > 0 || cell->own[PW_UNPACK] > 0;
}

/* Returns the logarithm of observed over estimated time in one direction of a cell. 0: there are too few observations.
 */
static float seen_log(const pw_decision_cell *cell, int direction)
{
    const pw_correction *c = &cell->seen[direction];

    return atomic_load_explicit(&c->count, memory_order_relaxed) < SEVERAL
               ? 0
               : atomic_load_explicit(&c->log, memory_order_relaxed);
}

static bool is_wrong(const pw_decision_cell *cell)
{
    return fabsf(seen_log(cell, PW_PACK)) > 1 || fabsf(seen_log(cell, PW_UNPACK)) > 1;
}

/* Returns an estimate in which the rank's own work is as observed. */
static double expected(const pw_decision_cell *cell)
{
    double total = (double)cell->total;

    for (int direction = 0; direction < PW_DIRECTIONS; direction++)
        total += (double)cell->own[direction] * (exp2((double)seen_log(cell, direction)) - 1);
    return total > 0 ? total : 0;
}

/* Returns the cheapest other strategy that can carry the message. -1: there is none. */
static int challenger_of(const pw_decision *d, int incumbent)
{
    int best = -1;

    for (int id = 0; id < d->strategies; id++)
        if (id != incumbent && d->cells[id].total >= 0 &&
            (best < 0 || expected(&d->cells[id]) < expected(&d->cells[best])))
            best = id;
    return best;
}

static bool is_in_doubt(const pw_decision *d, int incumbent, int challenger, int64_t uses)
{
    const pw_decision_cell *cell = &d->cells[incumbent];

    if (uses < atomic_load_explicit(&d->next_trial, memory_order_relaxed) || expected(cell) < pw_decide_least_ns)
        return false;
    if (atomic_load_explicit(&d->verdict, memory_order_relaxed) >= 0)
        return true;
    return has_own(cell) && expected(&d->cells[challenger]) < 2 * expected(cell) &&
           (is_wrong(cell) || uses >= PW_DECIDE_CLOSE);
}

/* Returns the most uses in a round. Messages in flight in one direction come in bursts of unknown length; a blocking
 * message is a round of its own. */
static int longest_round(const pw_decision *d)
{
    unsigned directions = atomic_load_explicit(&d->directions, memory_order_relaxed);

    return directions & (directions - 1) ? PW_TRIAL_MIXED : d->key.kind == PW_CALL_NONBLOCKING ? BURST : 1;
}

/* Returns whether a trial may begin. A trial that got stuck ends without a result. The caller holds the lock. */
static bool is_free(int64_t now)
{
    if (trying.decision && now - trying.last < STALE_NS)
        return false;
    if (trying.decision)
        atomic_store_explicit(&trying.decision->chosen, trying.trial.strategies[PW_TRIAL_INCUMBENT],
                              memory_order_relaxed);
    return true;
}

static bool begin_trial(pw_decision *d, int incumbent, int challenger)
{
    int64_t now = trying.clock();
    bool begun;

    pthread_mutex_lock(&trying.lock);
    begun = is_free(now);
    if (begun) {
        trying.decision = d;
        trying.owner = slots;
        trying.last = now;
        trying.trial = pw_trial_of(incumbent, challenger, d->first_direction, longest_round(d));
        atomic_store_explicit(&d->chosen, PW_DECIDE_ON_TRIAL, memory_order_relaxed);
    }
    pthread_mutex_unlock(&trying.lock);
    return begun;
}

/* Ends the trial, and returns the better strategy. The caller holds the lock. */
static int end_trial(pw_decision *d)
{
    int verdict = pw_trial_verdict(&trying.trial);

    for (int side = 0; side < PW_TRIAL_SIDES; side++)
        atomic_store_explicit(&d->cells[trying.trial.strategies[side]].tried,
                              (float)pw_trial_time(&trying.trial, (pw_trial_side)side), memory_order_relaxed);
    atomic_store_explicit(&d->verdict, verdict, memory_order_relaxed);
    atomic_store_explicit(&d->next_trial, PW_DECIDE_LATER * uses_of(d), memory_order_relaxed);
    atomic_store_explicit(&d->chosen, verdict, memory_order_relaxed);
    trying.decision = NULL;
    return verdict;
}

/* Takes the strategy whose turn it is in the trial. Messages of other threads take no part in it. */
static int try(pw_decision *d, int direction)
{
    int id;

    pthread_mutex_lock(&trying.lock);
    if (trying.decision != d) {
        id = atomic_load_explicit(&d->chosen, memory_order_relaxed);
    } else if (trying.owner != slots) {
        id = trying.trial.strategies[PW_TRIAL_INCUMBENT];
    } else {
        trying.last = trying.clock();
        if (!pw_trial_use(&trying.trial, direction, trying.last, &id))
            id = end_trial(d);
    }
    pthread_mutex_unlock(&trying.lock);
    return id < 0 ? 0 : id;
}

/* ---- using ------------------------------------------------------------------------------------------------------- */

static bool is_forced(const pw_question *q)
{
    return q->forced >= 0 && q->forced < q->strategies;
}

/* Returns whether the decision is to be tried; called when a strategy has been used a power of two times. */
static bool is_to_be_tried(pw_decision *d, const pw_question *q, int chosen)
{
    int challenger;

    if (d->key.memory != PW_MODEL_HOST || d->key.kind > PW_CALL_NEIGHBOUR || is_forced(q))
        return false;
    challenger = challenger_of(d, chosen);
    return challenger >= 0 && is_in_doubt(d, chosen, challenger, uses_of(d)) && begin_trial(d, chosen, challenger);
}

/* Counts a use. Threads may lose some uses, which does no harm; an addition that loses none would take longer than all
 * the rest. */
static int64_t count(pw_decision_cell *cell)
{
    int64_t uses = atomic_load_explicit(&cell->uses, memory_order_relaxed) + 1;

    atomic_store_explicit(&cell->uses, uses, memory_order_relaxed);
    return uses;
}

static int use(pw_decision *d, const pw_question *q)
{
    unsigned direction = 1U << q->direction, before = atomic_load_explicit(&d->directions, memory_order_relaxed);
    int chosen = atomic_load_explicit(&d->chosen, memory_order_relaxed);
    int64_t uses;

    if (chosen == PW_DECIDE_ON_TRIAL) {
        chosen = try(d, q->direction);
        count(&d->cells[chosen]);
        return chosen;
    }
    if (!(before & direction))
        atomic_store_explicit(&d->directions, before | direction, memory_order_relaxed);
    if (is_forced(q) && chosen != q->forced && d->cells[q->forced].total >= 0) {
        chosen = q->forced; /* another one was when the decision was made */
        atomic_store_explicit(&d->chosen, chosen, memory_order_relaxed);
    }
    uses = count(&d->cells[chosen]);
    if (is_due(uses)) {
        remake(d, q);
        chosen = atomic_load_explicit(&d->chosen, memory_order_relaxed);
    }
    if (uses >= PW_DECIDE_FIRST && (uses & (uses - 1)) == 0 && is_to_be_tried(d, q, chosen))
        try(d, q->direction); /* the trial begins with the strategy that was used so far */
    return chosen;
}

int pw_decide(const pw_decision_key *key, const pw_question *q, pw_decision **record)
{
    slot *s = &slots[hash_of(key) >> (64 - SLOTS_SHIFT)];
    unsigned generation = atomic_load_explicit(&decisions.generation, memory_order_relaxed);
    pw_decision *d = s->record;
    int chosen = 0;

    if (!d || s->generation != generation || !same(&s->key, key)) {
        d = find(key, q, &chosen);
        if (d)
            *s = (slot){*key, d, generation};
    }
    if (record)
        *record = d;
    return d ? use(d, q) : chosen;
}

/* ---- all of them ---------------------------------------------------------------------------------------------- */

void pw_decision_each(void (*fn)(void *arg, const pw_decision *d), void *arg)
{
    int n;

    pthread_mutex_lock(&decisions.lock);
    n = decisions.n;
    pthread_mutex_unlock(&decisions.lock);
    for (int i = 0; i < n; i++)
        fn(arg, decisions.all[i]);
}

void pw_decision_reset(void)
{
    pthread_mutex_lock(&decisions.lock);
    for (int i = 0; i < decisions.n; i++)
        free(decisions.all[i]);
    memset(decisions.buckets, 0, sizeof decisions.buckets);
    memset(decisions.corrections, 0, sizeof decisions.corrections);
    decisions.n = 0;
    pthread_mutex_unlock(&decisions.lock);
    trying.decision = NULL;
    atomic_fetch_add(&decisions.generation, 1);
}

void pw_decision_set_clock(int64_t (*clock)(void))
{
    trying.clock = clock ? clock : pw_clock_ns;
}
