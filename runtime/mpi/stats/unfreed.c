/*
 * Purpose: types that the program has not freed, a row for each place that makes them. Data: rows of bounded number.
 * Invariant: the last row takes what finds no other, so that the sum is right.
 */
#include "runtime/mpi/stats/report.h"

#include "frontend/mpi/describe.h"
#include "runtime/mpi/entry/calls.h"
#include "runtime/mpi/types/origin.h"

#include <stdio.h>
#include <string.h>

enum { MOST_ROWS = 64 };

static int by_place(const void *a, const void *b)
{
    const pw_stats_record *x = a, *y = b;
    int order = strcmp(x->built, y->built);

    if (!order)
        order = strcmp(x->made[0].module, y->made[0].module);
    return order ? order : (x->made[0].offset > y->made[0].offset) - (x->made[0].offset < y->made[0].offset);
}

/* The last row takes all types for which there is no other. */
static void take(void *arg, MPI_Datatype type, const void *caller)
{
    pw_stats_list *rows = arg;
    pw_stats_record row = {.ranks = 1, .unfreed = 1}, *like = rows->at, *end = like + rows->n;

    if (rows->n < MOST_ROWS - 1) {
        pw_mpi_describe(type, row.built, sizeof row.built);
        pw_built_locate(caller, &row.made[0]);
    }
    if (!*row.built)
        snprintf(row.built, sizeof row.built, "other types");
    while (like < end && by_place(like, &row))
        like++;
    if (like < end)
        like->unfreed++;
    else if ((like = pw_stats_list_add(rows)))
        memcpy(like, &row, sizeof row);
}

void pw_unfreed_take(pw_stats_list *rows)
{
    /* MPI ends the program that asks it about a type which was freed past this library. */
    static const char *const symbols[] = {"MPI_Type_free", NULL};
    static pw_calls freeing = {.symbols = symbols};

    if (pw_calls_are_ours(&freeing))
        pw_origin_each(take, rows);
}

static void add(void *kept, const void *next)
{
    pw_stats_record *to = kept;
    const pw_stats_record *from = next;

    to->unfreed += from->unfreed;
    to->ranks += from->ranks;
}

static int by_number(const void *a, const void *b)
{
    const pw_stats_record *x = a, *y = b;

    if (x->unfreed != y->unfreed)
        return x->unfreed < y->unfreed ? 1 : -1;
    return by_place(a, b);
}

void pw_unfreed_merge(pw_stats_list *rows)
{
    pw_stats_list_sort(rows, by_place);
    pw_stats_list_merge(rows, by_place, add);
    pw_stats_list_sort(rows, by_number);
}
