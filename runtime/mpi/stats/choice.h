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
    double total;                       /* mean estimate, of the ranks that could take this one */
    int64_t ranks;                      /* that could */
    int64_t timed, observed, estimated; /* of packing and unpacking together: times, their sums */
    int64_t tries;                      /* ranks that have tried it in a trial (runtime/engine/model/trial.c) */
    double tried;                       /* mean time from use to use in that */
} pw_stats_cell;

/* Messages of one kind and of sizes above `low` and up to `high` of one layout. */
typedef struct pw_stats_choice {
    pw_hash hash;      /* of the layout; zero: contiguous */
    int64_t low, high; /* bytes */
    int32_t kind, memory;
    pw_stats_cell cells[PW_STRATEGY_COUNT];
} pw_stats_choice;

/* One record. False: it has never been used. */
bool pw_stats_choice_take(const pw_decision *d, pw_stats_choice *out);

/* Merges, in place, records of one class, then neighbouring classes that mostly took the same; orders by layout, place,
 * kind and size. Returns how many are left. */
int64_t pw_stats_choice_merge(pw_stats_choice *choices, int64_t n);

/* Prints the lines of one layout, at most `lines`. `choices` are merged. */
void pw_stats_choice_print(FILE *out, const pw_stats_choice *choices, int64_t n, pw_hash hash, int lines);

#endif
