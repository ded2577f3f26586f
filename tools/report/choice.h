/*
 * Which strategies the messages of a layout took, and why: sites of ranks (runtime/choice/site.h), merged. Times are
 * nanoseconds.
 */
#ifndef PW_TOOLS_REPORT_CHOICE_H
#define PW_TOOLS_REPORT_CHOICE_H

#include "base/hash.h"
#include "base/strategy_table.h"
#include "tools/report/data.h"
#include "tools/report/list.h"

typedef struct pw_stats_cell {
    int64_t uses;
    double total;  /* the mean of the estimates of the ranks that could take this strategy */
    int64_t ranks; /* ranks that could take it */
    int64_t tries; /* ranks that have tried the strategy in a trial (runtime/choice/trial.h) */
    double tried;  /* the time of a use in such trials, in calls of MPI */
} pw_stats_cell;

/*
 * What strategies saved over leaving the same uses to the MPI, as far as trials in the run judge it: `ns` nanoseconds
 * in `known` uses. Of `unknown` uses it is not known. Uses that were left to the MPI are in neither. `native`
 * counts all of them, in trials and after, where some uses are known.
 */
typedef struct pw_stats_saved {
    int64_t ns, known, unknown, native;
} pw_stats_saved;

/*
 * Adds uses that a strategy carried out. `native` and `tried`: the times of a use left to the MPI and of one carried
 * out so, as a trial in the program has seen them, without what the program does between uses. 0: there was no such
 * trial, or it has no verdict yet.
 */
void pw_stats_saved_count(pw_stats_saved *saved, int64_t uses, double native, double tried);
void pw_stats_saved_add(pw_stats_saved *to, pw_stats_saved more);

/* Messages of one kind and of sizes above `low` and up to `high` of one layout. */
typedef struct pw_stats_choice {
    pw_hash hash;      /* of the layout; zero for contiguous memory */
    int64_t low, high; /* bytes */
    int32_t kind, memory;
    pw_stats_saved saved;
    pw_stats_cell cells[PW_STRATEGY_COUNT];
} pw_stats_choice;

/* Reads what one rank has of a site. */
void pw_stats_choice_read(pw_stats_choice *choice, pw_data site);

/* The strategy that most of the messages took. */
int pw_stats_choice_most_used(const pw_stats_choice *choice);
/* Whether these are blocks that a rank sends to itself by one copy, or could. Their hash is of two layouts. */
bool pw_stats_choice_is_to_oneself(const pw_stats_choice *choice);
/* Words: of kinds of calls, of places of buffers. */
extern const char *const pw_stats_kinds[], *const pw_stats_memories[];

/* Merges records of one size class or of neighbouring ones that mostly took the same strategy. Orders by layout, place,
 * kind of call and size. */
void pw_stats_choice_merge(pw_stats_list *choices);

#endif
