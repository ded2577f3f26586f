#include "runtime/model/decide.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
    SLOTS_SHIFT = 5, /* of a thread's table */
    BUCKETS = 2 * PW_DECIDE_RECORDS,
    OCTAVES = 64,
    TRUSTED = 8, /* observations from which on a factor counts */
    AGAIN = 1024 /* uses after which a decision is made again */
};

static const float most_correction = 2; /* of the logarithm, base 2 */

/* A correction: a low moving mean of log2(observed / estimated). Updates of several threads may get lost. */
typedef struct correction {
    _Atomic float log;
    _Atomic int count;
} correction;

/* The singleton. Records are added under the lock and never go. */
static struct {
    pthread_mutex_t lock;
    pw_decision *buckets[BUCKETS];
    pw_decision *all[PW_DECIDE_RECORDS];
    int n;
    correction corrections[PW_DECIDE_STRATEGIES][OCTAVES][PW_MODEL_ACTIONS];
    _Atomic unsigned generation; /* goes up when records go */
} decisions = {.lock = PTHREAD_MUTEX_INITIALIZER};

typedef struct slot {
    pw_decision_key key;
    pw_decision *record;
    unsigned generation;
} slot;

static _Thread_local slot slots[1 << SLOTS_SHIFT];

int64_t pw_decision_most(uint16_t size)
{
    int top = size / 4 + 1;

    return size < 4 ? size + 1 : (int64_t)(((uint64_t)(4 + size % 4) + 1) << (top - 2));
}

static uint64_t hash_of(const pw_decision_key *k)
{
    uint64_t rest = (uint64_t)k->size << 48 ^ (uint64_t)k->sort << 40 ^ (uint64_t)k->memory << 32 ^ (uint32_t)k->device;

    return (k->layout.lo ^ rest * UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xbf58476d1ce4e5b9);
}

static bool same(const pw_decision_key *a, const pw_decision_key *b)
{
    return !memcmp(a, b, sizeof *a);
}

/* ---- corrections ---------------------------------------------------------------------------------------------- */

static correction *correction_of(int strategy, uint16_t size, pw_model_action action)
{
    return &decisions.corrections[strategy][size / 4 % OCTAVES][action];
}

static float limited(float log)
{
    return log < -most_correction ? -most_correction : log > most_correction ? most_correction : log;
}

double pw_decision_factor(int strategy, uint16_t size, pw_model_action action)
{
    correction *c = correction_of(strategy, size, action);

    if (atomic_load_explicit(&c->count, memory_order_relaxed) < TRUSTED)
        return 1;
    return exp2((double)atomic_load_explicit(&c->log, memory_order_relaxed));
}

/* What interrupts a rank adds to the times that it sees and never takes from them, so longer ones weigh less. */
static float moved(float old, float log)
{
    return old + (log - old) / (log > old ? 4 * TRUSTED : TRUSTED);
}

/* The least until there are enough for a moving mean. */
static void update(correction *c, float log)
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
    for (int action = 0; action < PW_MODEL_ACTIONS; action++) {
        correction *c = correction_of(strategy, size, (pw_model_action)action);

        atomic_store_explicit(&c->log, atomic_load_explicit(&c->log, memory_order_relaxed) / 2, memory_order_relaxed);
    }
}

void pw_decision_observe(pw_decision *d, int strategy, pw_model_action action, int64_t ns, bool learn)
{
    pw_decision_cell *cell = d ? &d->cells[strategy] : NULL;
    float estimate = cell ? atomic_load_explicit(&cell->own[action], memory_order_relaxed) : 0;

    if (estimate <= 0 || ns <= 0)
        return;
    atomic_fetch_add_explicit(&cell->timed[action], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&cell->observed[action], ns, memory_order_relaxed);
    atomic_fetch_add_explicit(&cell->estimated[action], (int64_t)estimate, memory_order_relaxed);
    if (learn)
        update(correction_of(strategy, d->key.size, action), log2f((float)ns / estimate));
}

typedef struct question {
    int strategies, forced;
    pw_estimate_fn *fn;
    void *arg;
} question;

/* ---- deciding --------------------------------------------------------------------------------------------------- */

static double corrected(const pw_estimate *e, int strategy, uint16_t size)
{
    double total = e->total;

    for (int action = 0; action < PW_MODEL_ACTIONS; action++)
        if (e->own[action] > 0)
            total += e->own[action] * (pw_decision_factor(strategy, size, (pw_model_action)action) - 1);
    return total > 0 ? total : 0;
}

static void note(pw_decision *d, int strategy, const pw_estimate *e, double total)
{
    pw_decision_cell *cell = &d->cells[strategy];

    atomic_store_explicit(&cell->total, (float)total, memory_order_relaxed);
    for (int action = 0; action < PW_MODEL_ACTIONS; action++)
        atomic_store_explicit(&cell->own[action], (float)e->own[action], memory_order_relaxed);
}

/* Asks for all costs. `d` may be NULL. */
static int make(const pw_decision_key *key, const question *q, pw_decision *d)
{
    int best = 0;
    double best_total = 0;

    for (int id = 0; id < q->strategies; id++) {
        pw_estimate e = q->fn(q->arg, id);
        double total = e.total < 0 ? -1 : corrected(&e, id, key->size);

        if (d)
            note(d, id, &e, total);
        if (id == 0 || (total >= 0 && (id == q->forced || (best != q->forced && total < best_total)))) {
            best = id;
            best_total = total;
        }
    }
    if (d)
        atomic_store_explicit(&d->chosen, best, memory_order_relaxed);
    return best;
}

static void remake(pw_decision *d, const question *q)
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

/* Under the lock. */
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

/* Adds a record, unless another thread has been faster or there is no room. Takes it over; returns the one to use. */
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

static pw_decision *create(const pw_decision_key *key, int strategies)
{
    size_t align = _Alignof(pw_decision), bytes = sizeof(pw_decision) + (size_t)strategies * sizeof(pw_decision_cell);
    pw_decision *d = aligned_alloc(align, (bytes + align - 1) / align * align);

    if (d) {
        memset(d, 0, bytes);
        d->key = *key;
        d->least = key->size > 0 ? pw_decision_most((uint16_t)(key->size - 1)) + 1 : 1;
        d->most = pw_decision_most(key->size);
        d->strategies = strategies;
    }
    return d;
}

/* The record, made with its first decision when there is none; costs are asked for without the lock. NULL: there is no
 * room, and *chosen is the decision. */
static pw_decision *find(const pw_decision_key *key, const question *q, int *chosen)
{
    pw_decision *d = look_up(key);

    if (d)
        return d;
    d = create(key, q->strategies);
    *chosen = make(key, q, d);
    return d ? add(d) : NULL;
}

static int use(pw_decision *d, const question *q)
{
    int chosen = atomic_load_explicit(&d->chosen, memory_order_relaxed);
    _Atomic int64_t *counter = &d->cells[chosen].uses;
    int64_t uses = atomic_load_explicit(counter, memory_order_relaxed) + 1;

    /* That uses get lost between threads does no harm, and an addition that loses none takes longer than all else. */
    atomic_store_explicit(counter, uses, memory_order_relaxed);
    if (!is_due(uses))
        return chosen;
    remake(d, q);
    return atomic_load_explicit(&d->chosen, memory_order_relaxed);
}

int pw_decide(const pw_decision_key *key, int strategies, int forced, pw_estimate_fn *fn, void *arg,
              pw_decision **record)
{
    const question q = {strategies, forced, fn, arg};
    slot *s = &slots[hash_of(key) >> (64 - SLOTS_SHIFT)];
    unsigned generation = atomic_load_explicit(&decisions.generation, memory_order_relaxed);
    pw_decision *d = s->record;
    int chosen;

    if (!d || s->generation != generation || !same(&s->key, key)) {
        d = find(key, &q, &chosen);
        if (d)
            *s = (slot){*key, d, generation};
    }
    if (record)
        *record = d;
    return d ? use(d, &q) : chosen;
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
    atomic_fetch_add(&decisions.generation, 1);
}
