/*
 * Purpose: types that the program has not freed, a row for each place that makes them. Data: rows of bounded number.
 * Invariant: the last row takes what finds no other, so that the sum is right.
 */
#include "frontend/mpi/describe.h"
#include "runtime/mpi/stats/report.h"
#include "runtime/mpi/types/origin.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_ROWS = 64 };

typedef struct row {
    char built[PW_BUILT_TEXT];
    const void *made; /* the address of the commit's return; NULL: not known */
    int64_t types;
} row;

typedef struct rows {
    int n;
    row at[MOST_ROWS];
} rows;

/* The last row takes all types for which there is no other. */
static void take(void *arg, uint64_t key, void *caller)
{
    rows *all = arg;
    row now = {.types = 1};
    MPI_Datatype type;
    int i = 0;

    memcpy(&type, &key, sizeof type); /* as pw_type_key has made it */
    if (all->n < MOST_ROWS - 1) {
        pw_mpi_describe(type, now.built, sizeof now.built);
        now.made = caller;
    }
    if (!*now.built)
        snprintf(now.built, sizeof now.built, "other types");
    while (i < all->n && (all->at[i].made != now.made || strcmp(all->at[i].built, now.built) != 0))
        i++;
    if (i < all->n)
        all->at[i].types++;
    else if (i < MOST_ROWS)
        all->at[all->n++] = now;
}

void pw_unfreed_put(pw_json *json)
{
    rows *all = calloc(1, sizeof *all);

    if (all)
        pw_origin_each(take, all);
    for (int i = 0; all && i < all->n; i++) {
        pw_json_open(json, NULL, '{');
        pw_json_string(json, "built", all->at[i].built);
        pw_built_put_places(json, &all->at[i].made, 1);
        pw_json_int(json, "types", all->at[i].types);
        pw_json_close(json, '}');
    }
    free(all);
}
