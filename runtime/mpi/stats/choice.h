/*
 * Which strategies the messages of a layout took, and why: records of runtime/engine/model/decide.h as they travel
 * between the ranks of one job (same binary, same representation), merged, and printed. Times are nanoseconds.
 */
#ifndef PW_RUNTIME_STATS_CHOICE_H
#define PW_RUNTIME_STATS_CHOICE_H

#include "runtime/engine/model/decide.h"
#include "runtime/mpi/strategy/strategy.h"

#include <stdio.h>

typedef struct pw_stats_cell {
    int64_t uses;
    double total;  /* sum of the estimates of the ranks that could take this strategy */
    int64_t ranks; /* ranks that could take it */
    /* Packing and unpacking: how many were timed; the sums of their observed and of their estimated times. */
    int64_t timed, observed, estimated;
    int64_t tries; /* ranks that have tried the strategy in a trial (runtime/engine/model/trial.c) */
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
bool pw_stats_choice_take(const pw_decision *d, pw_stats_choice *out);

/* Merges, in place, records of one size class, and then neighbouring classes that mostly took the same strategy. Orders
 * by layout, place, kind of call and size. Returns how many are left. */
int64_t pw_stats_choice_merge(pw_stats_choice *choices, int64_t n);

/* Prints the choices of one layout on at most `lines` lines. `choices` are merged. */
void pw_stats_choice_print(FILE *out, const pw_stats_choice *choices, int64_t n, pw_hash hash, int lines);

#endif
