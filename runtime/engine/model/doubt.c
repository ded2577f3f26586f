#include "runtime/engine/model/internal.h"

#include "base/clock.h"

#include <math.h>
#include <pthread.h>

enum {
    SEVERAL = 4, /* so many observations are enough to doubt an estimate, if all of them do */
    BURST = 24,  /* messages that make a round if all have one direction and do not block; it has many divisors */
    STALE_NS = 500000000 /* after so long without a use, a trial is over */
};

/* The singleton: the trial that is going on. The lock guards all fields except the clock. */
static struct {
    pthread_mutex_t lock;
    pw_decision *decision; /* NULL: there is no trial */
    const char *owner;     /* the thread whose uses count in the trial, as `thread` says */
    int64_t last;          /* use */
    pw_trial trial;
    int64_t (*_Atomic clock)(void);
} trying = {.lock = PTHREAD_MUTEX_INITIALIZER, .clock = pw_clock_ns};

static _Thread_local char thread; /* its address tells threads apart */

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
        trying.owner = &thread;
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

int pw_doubt_turn(pw_decision *d, int direction)
{
    int id;

    pthread_mutex_lock(&trying.lock);
    if (trying.decision != d) {
        id = atomic_load_explicit(&d->chosen, memory_order_relaxed);
    } else if (trying.owner != &thread) {
        id = trying.trial.strategies[PW_TRIAL_INCUMBENT];
    } else {
        trying.last = trying.clock();
        if (!pw_trial_use(&trying.trial, direction, trying.last, &id))
            id = end_trial(d);
    }
    pthread_mutex_unlock(&trying.lock);
    return id < 0 ? 0 : id;
}

bool pw_doubt_begin(pw_decision *d, int chosen)
{
    int challenger;

    if (d->key.memory != PW_MODEL_HOST || d->key.kind > PW_CALL_NEIGHBOUR)
        return false;
    challenger = challenger_of(d, chosen);
    return challenger >= 0 && is_in_doubt(d, chosen, challenger, uses_of(d)) && begin_trial(d, chosen, challenger);
}

void pw_doubt_reset(void)
{
    trying.decision = NULL;
}

void pw_decision_set_clock(int64_t (*clock)(void))
{
    trying.clock = clock ? clock : pw_clock_ns;
}
