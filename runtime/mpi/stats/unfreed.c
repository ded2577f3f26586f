/*
 * Purpose: types that the program has not freed, a row for each place that makes them. Data: rows of bounded number.
 * Invariant: the last row takes what finds no other, so that the sum is right.
 */
#include "runtime/mpi/stats/unfreed.h"

#include "frontend/mpi/describe.h"
#include "runtime/mpi/entry/calls.h"
#include "runtime/mpi/stats/built.h"
#include "runtime/mpi/types/origin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ROWS = 64 };

typedef struct list {
    pw_stats_record *at;
    int64_t n;
} list;

static bool is_same(const pw_stats_record *a, const pw_stats_record *b)
{
    return !strcmp(a->built, b->built) && !strcmp(a->made[0].module, b->made[0].module) &&
           a->made[0].offset == b->made[0].offset;
}

/* Adds a row to the one like it among n rows, or behind them. Returns how many there are then. */
static int64_t add(pw_stats_record *rows, int64_t n, const pw_stats_record *row)
{
    int64_t i = 0;

    while (i < n && !is_same(&rows[i], row))
        i++;
    if (i == n)
        memmove(&rows[n++], row, sizeof *row);
    else
        rows[i].unfreed += row->unfreed, rows[i].ranks += row->ranks;
    return n;
}

/* The last row takes all types for which there is no other. */
static void take(void *arg, MPI_Datatype type, const void *caller)
{
    list *l = arg;
    pw_stats_record row = {.ranks = 0, .unfreed = 1};

    if (l->n < MOST_ROWS - 1) {
        pw_mpi_describe(type, row.built, sizeof row.built);
        pw_built_locate(caller, &row.made[0]);
    }
    if (!*row.built)
        snprintf(row.built, sizeof row.built, "other types");
    l->n = add(l->at, l->n, &row);
}

pw_stats_record *pw_unfreed_take(int64_t *n)
{
    /* MPI ends the program that asks it about a type which was freed past this library. */
    static const char *const symbols[] = {"MPI_Type_free", NULL};
    static pw_calls freeing = {.symbols = symbols};
    list l = {NULL, 0};

    *n = 0;
    if (!pw_calls_are_ours(&freeing) || !(l.at = calloc(MOST_ROWS + 1, sizeof *l.at)))
        return NULL;
    pw_origin_each(take, &l);
    for (int64_t i = 0; i < l.n; i++)
        l.at[i].ranks = 1;
    *n = l.n;
    return l.at;
}

static int by_number(const void *a, const void *b)
{
    const pw_stats_record *x = a, *y = b;

    if (x->unfreed != y->unfreed)
        return x->unfreed < y->unfreed ? 1 : -1;
    return strcmp(x->built, y->built);
}

int64_t pw_unfreed_merge(pw_stats_record *rows, int64_t n)
{
    int64_t merged = 0;

    for (int64_t i = 0; i < n; i++)
        merged = add(rows, merged, &rows[i]);
    if (merged > 0)
        qsort(rows, (size_t)merged, sizeof *rows, by_number);
    return merged;
}
