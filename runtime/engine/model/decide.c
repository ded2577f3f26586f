#include "runtime/engine/model/internal.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
    SLOTS_SHIFT = 5, /* log2 of the slots of a thread's table */
    BUCKETS = 2 * PW_DECIDE_RECORDS,
    AGAIN = 1024 /* uses after which a decision is made again */
};

/* The singleton. Records are added under the lock, and stay until pw_decision_reset. */
static struct {
    pthread_mutex_t lock;
    pw_decision *buckets[BUCKETS];
    pw_decision *all[PW_DECIDE_RECORDS];
    int n;
    _Atomic unsigned generation; /* goes up when records are removed */
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
    uint64_t rest = (uint64_t)k->size << 48 ^ (uint64_t)k->kind << 40 ^ (uint64_t)k->memory << 32 ^ (uint32_t)k->device;

    return (k->layout.lo ^ rest * UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xbf58476d1ce4e5b9);
}

static bool same(const pw_decision_key *a, const pw_decision_key *b)
{
    return !memcmp(a, b, sizeof *a);
}

/* ---- deciding --------------------------------------------------------------------------------------------------- */

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
        double total = e.total < 0                    ? -1
                       : key->memory == PW_MODEL_HOST ? e.total
                                                      : pw_corrected_total(&e, id, key->size);

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

    for (int id = 0; d->key.memory != PW_MODEL_HOST && id < d->strategies; id++)
        if (id != best)
            pw_correction_halve(id, d->key.size);
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

/* ---- using ------------------------------------------------------------------------------------------------------- */

static bool is_forced(const pw_question *q)
{
    return q->forced >= 0 && q->forced < q->strategies;
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
        chosen = pw_doubt_turn(d, q->direction);
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
    if (uses >= PW_DECIDE_FIRST && (uses & (uses - 1)) == 0 && !is_forced(q) && pw_doubt_begin(d, chosen))
        pw_doubt_turn(d, q->direction); /* the trial begins with the strategy that was used so far */
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
    decisions.n = 0;
    pthread_mutex_unlock(&decisions.lock);
    pw_correction_reset();
    pw_doubt_reset();
    atomic_fetch_add(&decisions.generation, 1);
}
