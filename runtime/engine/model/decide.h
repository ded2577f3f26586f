/*
 * Decisions: which strategy a message takes. They are remembered by layout, size, kind of call and place, with the
 * estimates and observed times. Strategies are numbers here, so tests decide with tables of their own.
 *
 * A decision costs a look into a small direct-mapped table of the thread. A decision that the table does not have is
 * made by asking for the cost of every strategy, and recorded for all threads. It is made again after 8, 64, 512 and
 * then every 1024 uses of a strategy, since observed times correct the estimates:
 *
 * In GPU memory: for each strategy, class of sizes (an octave) and direction there is a factor, a moving mean of the
 * logarithm of observed over estimated time of the rank's own work: packing or unpacking with its copies. The newest
 * counts for an eighth, or a quarter of that if it is above the mean, since interruptions make times longer only. How
 * long MPI takes is not part of it, since that is mostly waiting for the peer. Single ratios and factors are kept
 * within 1/4 and 4; a factor counts from its 8th observation on. Strategies that a remade decision does not take lose
 * half of their correction, so that what was bad once (a busy machine, an interpreter before its kernel came) is tried
 * again.
 *
 * In host memory such corrections would mislead. Packing competes there with the MPI's own walk over the same blocks.
 * That walk cannot be observed, and it gets slower together with packing where caches or cores are short. So in host
 * memory the means are kept for each decision and only say which decisions are in doubt; a trial carries these out both
 * ways (trial.c). In doubt is a strategy with work of the rank's own if another one would cost less than twice as much,
 * provided that its work takes less than half or more than twice the estimate; without that, from the
 * PW_DECIDE_CLOSE-th use on. Trials begin when a strategy has been used a power of two times, from PW_DECIDE_FIRST on;
 * one at a time in a process; again after PW_DECIDE_LATER times as many uses, also back from a strategy without work of
 * its own. A decision that is native by estimate is never tried, so that native calls pay nothing.
 *
 * Thread safe, without locks where the decision is known. All times are nanoseconds.
 */
#ifndef PW_RUNTIME_MODEL_DECIDE_H
#define PW_RUNTIME_MODEL_DECIDE_H

#include "base/hash.h"
#include "runtime/engine/model/model.h"

#include <stdatomic.h>

enum {
    PW_DECIDE_STRATEGIES = 12, /* the most strategies */
    PW_DECIDE_RECORDS = 4096,  /* the most decisions that are recorded; others are made anew each time */
    PW_DECIDE_TRUSTED = 8,     /* a mean counts from so many observations on */
    PW_DECIDE_FIRST = 16,      /* uses before the first trial of a decision whose estimates are wrong */
    PW_DECIDE_CLOSE = 1024,    /* uses before the first trial of a decision whose estimates are close to each other */
    PW_DECIDE_LATER = 16,      /* the next trial begins after so many times as many uses */
    PW_DECIDE_MOST_OFF =
        4, /* what is observed counts as at most so many times the estimate: the rest is the machine's */
    PW_DECIDE_ON_TRIAL = -1 /* stands in place of the chosen strategy */
};

/* Messages of less time are not tried, since the cost of a trial would count, and shorter work of the rank is not
 * timed. */
static const double pw_decide_least_ns = 1000;

/* Plain data without padding, since keys are compared as bytes. */
typedef struct pw_decision_key {
    pw_hash layout; /* any value that tells two layouts apart */
    uint16_t size;  /* from pw_decision_size */
    uint8_t kind;   /* a pw_call_kind */
    uint8_t memory; /* a pw_model_memory */
    int32_t device; /* 0 for host memory */
} pw_decision_key;

/* Size classes: quarters of octaves, so that sizes of one class differ by a quarter at most. A power of two is the
 * largest size of its class. `bytes` > 0. */
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

/* What a strategy would cost. total < 0: it cannot carry the message. `own` is the rank's own part that is timed; 0:
 * nothing is timed. */
typedef struct pw_estimate {
    double total, own[PW_DIRECTIONS];
} pw_estimate;

typedef pw_estimate pw_estimate_fn(void *arg, int strategy);

/* What pw_decide needs to make a decision. */
typedef struct pw_question {
    int strategies; /* numbered from 0; the first one can carry every message */
    int forced;     /* is chosen if it can carry the message; any other number: the cheapest is, the first on ties */
    int direction;  /* of the message: any number that tells two directions from each other (trial.c) */
    pw_estimate_fn *fn;
    void *arg;
} pw_question;

/* A moving mean of log2(observed / estimated), in which low values count more. Updates of several threads may get lost.
 */
typedef struct pw_correction {
    _Atomic float log;
    _Atomic int count;
} pw_correction;

typedef struct pw_decision_cell {
    _Atomic int64_t uses;                    /* threads may lose some */
    _Atomic float total, own[PW_DIRECTIONS]; /* the estimates when the decision was last made; `total` is corrected, and
                                                below 0 if the strategy cannot carry the message */
    _Atomic int64_t timed[PW_DIRECTIONS];    /* how many observations there were */
    _Atomic int64_t observed[PW_DIRECTIONS]; /* the sum of observed times */
    _Atomic int64_t estimated[PW_DIRECTIONS]; /* the sum of their estimates, uncorrected */
    pw_correction seen[PW_DIRECTIONS];        /* used in host memory */
    _Atomic float tried;                      /* the time of a use in the last trial; 0: there was none */
} pw_decision_cell;

typedef struct pw_decision {
    _Alignas(64) pw_decision_key key;
    int64_t least, most; /* the bytes that key.size stands for */
    int strategies;
    _Atomic int chosen;          /* a strategy, or PW_DECIDE_ON_TRIAL */
    _Atomic int guess, verdict;  /* the cheapest strategy by estimates; the best one of a trial, which counts while the
                                    cheapest is the same, or -1 */
    _Atomic int64_t next_trial;  /* no trial begins before so many uses */
    _Atomic unsigned directions; /* directions that messages have had, one bit each */
    int first_direction;
    pw_decision_cell cells[];
} pw_decision;

/* Returns the strategy to take. *record, unless `record` is NULL, is the decision's record, which lives as long as the
 * process, or NULL if there is none. */
int pw_decide(const pw_decision_key *key, const pw_question *q, pw_decision **record);

/*
 * For a caller that has remembered a decision. Returns 0 if the decision is no longer for `strategy` or is due to be
 * made again: the caller then asks pw_decide, which counts the use. Otherwise counts `most` uses, or fewer if the
 * decision is due before, and returns how many; several threads may lose some. A decision is due after 1 to 64 uses and
 * multiples of 512, which include all numbers of uses after which decisions are made again.
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
 * Returns whether this use is worth timing: two looks at the clock take some 50 ns. In host memory the first few uses
 * are timed, and then every 15th. That number is odd, so that a send and a receive that take turns are both timed.
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

/* Records the time that the rank's own work for one message took. `learn`: the time corrects the estimates of later
 * decisions; otherwise it is only noted. `d` may be NULL. */
void pw_decision_observe(pw_decision *d, int strategy, pw_direction direction, int64_t ns, bool learn);
/* Does what recording a time does, and records nothing: the first time in a process waits for pages of code. */
void pw_decision_rehearse(void);

/* Returns the current factor for a strategy and size in GPU memory. */
double pw_decision_factor(int strategy, uint16_t size, pw_direction direction);

/* Calls fn for every record, in the order in which they were made. */
void pw_decision_each(void (*fn)(void *arg, const pw_decision *d), void *arg);

/* Forgets all decisions, for tests. No other thread may be deciding. */
void pw_decision_reset(void);

/* Sets the clock of trials, for tests. NULL: that of base/clock.h. */
void pw_decision_set_clock(int64_t (*clock)(void));

#endif
