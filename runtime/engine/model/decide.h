/*
 * Decisions: which strategy a message takes, remembered by layout, size, kind of call and place, with the reason and
 * with what was observed of it. Knows strategies by number only, so tests decide with tables of their own.
 *
 * A decision costs a look into a small direct-mapped table of the thread. Those it does not have are made by asking for
 * the cost of every strategy, and recorded for all threads. They are made again after 8, 64, 512 and then every
 * 1024 uses of a strategy, since estimates are corrected by what is observed:
 *
 * In GPU memory: for each strategy, class of sizes (an octave) and direction there is a factor, a moving mean of the
 * logarithm of observed over estimated time of the rank's own work: packing or unpacking with its copies. The newest
 * counts for an eighth, or a quarter of that if it is above the mean, since interruptions make times longer only. How
 * long MPI takes is not part of it, since that is mostly waiting for the peer. Single ratios and factors are kept
 * within 1/4 and 4; a factor counts from its 8th observation on. Strategies that a remade decision does not take lose
 * half of their correction, so that what was bad once (a busy machine, an interpreter before its kernel came) is tried
 * again.
 *
 * In host memory that would mislead: what packing is weighed against there, the MPI's own walk over the same blocks,
 * gets slower with it where caches or cores are short, and cannot be observed. Therefore these means are kept for each
 * decision and only say which decisions are in doubt, and these are tried both ways (trial.c). In doubt is a strategy
 * with work of the rank's own if another one would cost less than twice as much, provided that its work takes less than
 * half or more than twice the estimate; without that, from the PW_DECIDE_CLOSE-th use on. Trials begin when a strategy
 * has been used a power of two times, from PW_DECIDE_FIRST on; one at a time in a process; again after PW_DECIDE_LATER
 * times as many uses, also back from a strategy without work of its own. What is native by estimate is never tried, so
 * that calls that stay native pay nothing.
 *
 * Thread safe, without locks where the decision is known. All times are nanoseconds.
 */
#ifndef PW_RUNTIME_MODEL_DECIDE_H
#define PW_RUNTIME_MODEL_DECIDE_H

#include "base/hash.h"
#include "runtime/engine/model/model.h"

#include <stdatomic.h>

enum {
    PW_DECIDE_STRATEGIES = 12, /* at most */
    PW_DECIDE_RECORDS = 4096,  /* decisions that are recorded; further ones are made each time */
    PW_DECIDE_TRUSTED = 8,     /* observations from which on a mean of them counts */
    PW_DECIDE_FIRST = 16,      /* uses before the first trial of a decision whose estimates are wrong */
    PW_DECIDE_CLOSE = 1024,    /* ... of one whose estimates are close to each other */
    PW_DECIDE_LATER = 16,      /* times as many uses before the next */
    PW_DECIDE_ON_TRIAL = -1    /* in place of the chosen strategy */
};

/* Shorter messages are not tried, since what a trial itself costs would count, nor is shorter work of the rank timed.
 */
static const double pw_decide_least_ns = 1000;

/* Plain data without padding: compared as bytes. */
typedef struct pw_decision_key {
    pw_hash layout; /* any value that tells layouts apart */
    uint16_t size;  /* pw_decision_size */
    uint8_t kind;   /* pw_call_kind */
    uint8_t memory; /* pw_model_memory */
    int32_t device; /* 0 for host memory */
} pw_decision_key;

/* Classes of sizes: quarters of octaves, so that sizes of one class differ by a quarter at most, and powers of two
 * are the largest of theirs. `bytes` > 0. */
static inline uint16_t pw_decision_size(int64_t bytes)
{
    uint64_t n = (uint64_t)bytes - 1;
    int top;

    if (n < 4)
        return (uint16_t)n;
    top = 63 - __builtin_clzll(n);
    return (uint16_t)(4 * (top - 1) + (int)(n >> (top - 2) & 3));
}

/* The largest number of bytes in a class. */
int64_t pw_decision_most(uint16_t size);

/* What a strategy would cost; total below 0: it cannot. `own` is the rank's part of it that is timed, 0: none is. */
typedef struct pw_estimate {
    double total, own[PW_DIRECTIONS];
} pw_estimate;

typedef pw_estimate pw_estimate_fn(void *arg, int strategy);

/* What is asked when a decision has to be made. */
typedef struct pw_question {
    int strategies; /* 0 .. strategies - 1, of which the first always can */
    int forced;     /* is taken if it can; none of them: the cheapest is, the first on ties */
    int direction;  /* of the message, any number that tells two from each other (trial.c) */
    pw_estimate_fn *fn;
    void *arg;
} pw_question;

/* A low moving mean of log2(observed / estimated). Updates of several threads may get lost. */
typedef struct pw_correction {
    _Atomic float log;
    _Atomic int count;
} pw_correction;

typedef struct pw_decision_cell {
    _Atomic int64_t uses;                     /* of which threads may lose some */
    _Atomic float total, own[PW_DIRECTIONS];  /* estimated when last made; total as corrected, below 0: cannot */
    _Atomic int64_t timed[PW_DIRECTIONS];     /* observations */
    _Atomic int64_t observed[PW_DIRECTIONS];  /* their sum */
    _Atomic int64_t estimated[PW_DIRECTIONS]; /* the sum of the estimates for the same, uncorrected */
    pw_correction seen[PW_DIRECTIONS];        /* in host memory */
    _Atomic float tried;                      /* a use in the last trial; 0: there was none */
} pw_decision_cell;

typedef struct pw_decision {
    _Alignas(64) pw_decision_key key;
    int64_t least, most; /* bytes in key.size's class */
    int strategies;
    _Atomic int chosen; /* or PW_DECIDE_ON_TRIAL */
    _Atomic int guess,
        verdict; /* the cheapest by estimates; what a trial has found best as long as that is so, or -1 */
    _Atomic int64_t next_trial;  /* not before so many uses */
    _Atomic unsigned directions; /* that messages have had, a bit each */
    int first_direction;
    pw_decision_cell cells[];
} pw_decision;

/* The strategy to take. *record, if not NULL, is the decision's record, valid as long as the process; NULL where there
 * is none. */
int pw_decide(const pw_decision_key *key, const pw_question *q, pw_decision **record);

/*
 * A decision that was remembered by its user, if it is still for `strategy` and not to be made again now, and so
 * settles the matter without pw_decide: counts `most` uses, or as many as there are before it is due, of which several
 * threads may lose some, and returns how many. 0: ask pw_decide, which counts one. Those uses after which decisions are
 * made again (1 to 64, and multiples of 512, hold them all) are for that.
 */
static inline __attribute__((always_inline)) int pw_decision_again(pw_decision *d, int strategy, int most)
{
    int64_t uses = atomic_load_explicit(&d->cells[strategy].uses, memory_order_relaxed);
    int64_t left = 511 - (uses & 511);

    if (atomic_load_explicit(&d->chosen, memory_order_relaxed) != strategy || uses < 64 || left == 0)
        return 0;
    most = left < most ? (int)left : most;
    atomic_store_explicit(&d->cells[strategy].uses, uses + most, memory_order_relaxed);
    return most;
}

/*
 * Is it worth two looks at the clock, which take some 50 ns, to time this? In host memory that is done for the first
 * few uses and then now and then; 15 is odd, so that it meets both of a send and a receive that take turns.
 */
static inline bool pw_decision_is_timed(const pw_decision *d, int strategy, pw_direction direction)
{
    const pw_decision_cell *cell = d ? &d->cells[strategy] : NULL;

    if (!cell || d->key.memory != PW_MODEL_HOST)
        return cell && cell->own[direction] >= 5000;
    return (double)cell->own[direction] >= pw_decide_least_ns &&
           (atomic_load_explicit(&cell->seen[direction].count, memory_order_relaxed) < PW_DECIDE_TRUSTED ||
            atomic_load_explicit(&cell->uses, memory_order_relaxed) % 15 == 0);
}

/* The rank's own work took so long, for one message. `learn`: the estimates of later decisions are corrected by it;
 * else it is only noted. NULL is allowed. */
void pw_decision_observe(pw_decision *d, int strategy, pw_direction direction, int64_t ns, bool learn);

/* The factor in force for a strategy and size in GPU memory. */
double pw_decision_factor(int strategy, uint16_t size, pw_direction direction);

/* Calls fn for every record, in the order of their making. */
void pw_decision_each(void (*fn)(void *arg, const pw_decision *d), void *arg);

/* Forgets everything, for tests. No other thread may be deciding. */
void pw_decision_reset(void);

/* The clock of trials, for tests; NULL: that of base/clock.h. */
void pw_decision_set_clock(int64_t (*clock)(void));

#endif
