#include "runtime/engine/model/internal.h"

#include <math.h>
#include <string.h>

enum { OCTAVES = 64, TRUSTED = PW_DECIDE_TRUSTED };

static const float most_correction = 2; /* the largest correction, as a logarithm of base 2 */
_Static_assert(PW_DECIDE_MOST_OFF == 1 << 2, "it is the same correction");

/* The singleton: the corrections for GPU memory. */
static pw_correction corrections[PW_DECIDE_STRATEGIES][OCTAVES][PW_DIRECTIONS];

static pw_correction *correction_of(int strategy, uint16_t size, pw_direction direction)
{
    return &corrections[strategy][size / 4 % OCTAVES][direction];
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

void pw_correction_halve(int strategy, uint16_t size)
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

void pw_decision_rehearse(void)
{
    union {
        pw_decision decision;
        char bytes[sizeof(pw_decision) + sizeof(pw_decision_cell)];
    } one;

    memset(&one, 0, sizeof one);
    atomic_store_explicit(&one.decision.cells[0].own[PW_PACK], 1, memory_order_relaxed);
    pw_decision_observe(&one.decision, 0, PW_PACK, 2, true);
}

double pw_corrected_total(const pw_estimate *e, int strategy, uint16_t size)
{
    double total = e->total;

    for (int direction = 0; direction < PW_DIRECTIONS; direction++)
        if (e->own[direction] > 0)
            total += e->own[direction] * (pw_decision_factor(strategy, size, (pw_direction)direction) - 1);
    return total > 0 ? total : 0;
}

void pw_correction_reset(void)
{
    memset(corrections, 0, sizeof corrections);
}
