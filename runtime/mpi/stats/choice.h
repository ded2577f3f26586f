/*
 * Which strategies the messages of a layout took, and why: records of runtime/choice/site.h as they travel
 * between the ranks of one job (same binary, same representation), merged, and printed. Times are nanoseconds.
 */
#ifndef PW_RUNTIME_STATS_CHOICE_H
#define PW_RUNTIME_STATS_CHOICE_H

#include "runtime/choice/site.h"
#include "runtime/mpi/strategy/strategy.h"

#include <stdio.h>

typedef struct pw_stats_cell {
    int64_t uses;
    double own;    /* the estimate of one rank's packing or unpacking, within the total */
    double total;  /* sum of the estimates of the ranks that could take this strategy */
    int64_t ranks; /* ranks that could take it */
    /* Packing and unpacking: how many were timed; the sums of their observed and of their estimated times. */
    int64_t timed, observed, estimated;
    int64_t tries; /* ranks that have tried the strategy in a trial (runtime/choice/trial.h) */
    double tried;  /* mean time from use to use in such trials */
} pw_stats_cell;

/* Messages of one kind and of sizes above `low` and up to `high` of one layout. */
typedef struct pw_stats_choice {
    pw_hash hash;      /* of the layout; zero for contiguous memory */
    int64_t low, high; /* bytes */
    int32_t kind, memory;
    pw_stats_cell cells[PW_STRATEGY_COUNT];
} pw_stats_choice;

/* Fills a record from a decision. False: the decision has never been used. */
bool pw_stats_choice_take(const pw_site *d, pw_stats_choice *out);

/* Nanoseconds at this end of messages: what the messages took, what they would have taken natively, and the difference
 * that strategies made. */
typedef struct pw_stats_times {
    int64_t taken, native, saved;
} pw_stats_times;

/* Messages that the CPU packed or unpacked, and what the model expects of that. */
typedef struct pw_stats_expected {
    int64_t uses, ns;
    int64_t untried; /* uses whose saving is an estimate, and not the result of a trial */
} pw_stats_expected;

/*
 * Estimates the times of the messages of one rank's record, and adds the packing in them to *expected. The model's
 * estimates go from the sender's buffer to the receiver's, so half of one is taken for this end. Where a trial has
 * timed a strategy and native, their difference is what a message saves, as far as PW_DECIDE_MOST_OFF times the
 * estimates allow. Nothing is saved where MPI cannot carry the message.
 */
pw_stats_times pw_stats_choice_times(const pw_stats_choice *choice, pw_stats_expected *expected);

/* The strategy that most of the messages took. */
int pw_stats_choice_most_used(const pw_stats_choice *choice);
/* The words for the kind of call, and for the place of the buffer ("" for host memory). */
const char *pw_stats_choice_kind(const pw_stats_choice *choice);
const char *pw_stats_choice_place(const pw_stats_choice *choice);
const char *pw_stats_strategy(int id);

/* Merges, in place, records of one size class, and then neighbouring classes that mostly took the same strategy. Orders
 * by layout, place, kind of call and size. Returns how many are left. */
int64_t pw_stats_choice_merge(pw_stats_choice *choices, int64_t n);

/* Prints the choices of one layout, a line each. `choices` are merged. */
void pw_stats_choice_print(FILE *out, const pw_stats_choice *choices, int64_t n, pw_hash hash);

#endif
