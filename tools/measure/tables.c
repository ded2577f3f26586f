/* Turns samples into tables: points that can be trusted, gaps for the others, and counts of both. */
#include "tools/measure/probe.h"

#include "base/samples.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>

/* Whether a message size has a row in its table: the points of the coarsest grid that has this size were reached, and
 * can be done. */
static bool is_row(const pw_probe_list *list, pw_model_table_id table, int64_t bytes)
{
    bool can = true, reached = true;
    int level = INT_MAX;

    for (int i = 0; i < list->n; i++) {
        const pw_probe *p = &list->at[i];

        if (p->table != table || p->bytes != bytes)
            continue;
        can = can && !p->failed;
        if (p->level <= level)
            reached = (p->level < level || reached) && p->reached;
        level = p->level < level ? p->level : level;
    }
    return can && reached && level < INT_MAX;
}

/* Whether a block length was reached in all rows of a table that have it, and some have it. */
static bool is_column(const pw_probe_list *list, pw_model_table_id table, int64_t block)
{
    bool any = false;

    for (int i = 0; i < list->n; i++) {
        const pw_probe *p = &list->at[i];

        if (p->table != table || p->block != block || !is_row(list, table, p->bytes))
            continue;
        if (!p->reached)
            return false;
        any = true;
    }
    return any;
}

static bool is_among(const double *y, int n, int64_t block)
{
    int i = 0;

    while (i < n && y[i] != (double)block)
        i++;
    return i < n;
}

/* Finds the block lengths of a table. */
static int collect_blocks(const pw_probe_list *list, pw_model_table_id table, double *y)
{
    int n = 0;

    for (int i = 0; i < list->n; i++) {
        const pw_probe *p = &list->at[i];

        if (p->table == table && n < PW_MODEL_MAX_POINTS && !is_among(y, n, p->block) &&
            is_column(list, table, p->block))
            y[n++] = (double)p->block;
    }
    pw_samples_sort(y, n);
    return n;
}

/* Collects one row from the probes from list->at[i] on. Longer blocks than the message's take the time of its longest
 * one. */
static void collect_row(const pw_probe_list *list, int i, const double *y, int ny, double *t)
{
    const pw_probe *first = &list->at[i];
    double last = NAN;

    for (int k = 0; k < ny; k++) {
        while (i < list->n && list->at[i].table == first->table && list->at[i].bytes == first->bytes &&
               (double)list->at[i].block < y[k])
            i++;
        if (i < list->n && list->at[i].table == first->table && list->at[i].bytes == first->bytes &&
            (double)list->at[i].block == y[k])
            last = list->at[i].trusted ? pw_probe_time(&list->at[i]) : NAN;
        t[k] = last;
    }
}

static bool has_any(const double *t, int n)
{
    int i = 0;

    while (i < n && isnan(t[i]))
        i++;
    return i < n;
}

static bool begins_row(const pw_probe_list *list, int i)
{
    return i == 0 || list->at[i].table != list->at[i - 1].table || list->at[i].bytes != list->at[i - 1].bytes;
}

/* Adds a table to the model if enough of it was measured, and counts it in `made`. */
static pw_status make_table(const pw_probe_list *list, pw_model_table_id table, pw_model *m, int *made, pw_diag *diag)
{
    double x[PW_MODEL_MAX_POINTS], y[PW_MODEL_MAX_POINTS], t[PW_MODEL_MAX_POINTS * PW_MODEL_MAX_POINTS];
    int nx = 0, ny = collect_blocks(list, table, y), least = pw_model_table_describe(table)->axes > 0 ? 2 : 1;

    for (int i = 0; i < list->n && nx < PW_MODEL_MAX_POINTS; i++) {
        if (list->at[i].table != table || !begins_row(list, i) || !is_row(list, table, list->at[i].bytes))
            continue;
        collect_row(list, i, y, ny, t + (size_t)nx * (size_t)ny);
        x[nx++] = (double)list->at[i].bytes;
    }
    if (nx < least || !has_any(t, ny))
        return PW_OK;
    ++*made;
    return pw_model_set(m, table, x, nx, y, ny, t, diag);
}

/* ---- coverage --------------------------------------------------------------------------------------------------- */

typedef struct coverage {
    int all, reached, trusted;
    int coarse, missed; /* points of the coarse grid; those of them that were not reached */
} coverage;

static coverage count(const pw_probe_list *list)
{
    coverage c = {0};

    for (int i = 0; i < list->n; i++) {
        const pw_probe *p = &list->at[i];

        c.all += !p->failed;
        c.reached += !p->failed && p->reached;
        c.trusted += p->trusted;
        c.coarse += !p->failed && p->level == 0;
        c.missed += !p->failed && p->level == 0 && !p->reached;
    }
    return c;
}

void pw_probe_report(const pw_probe_list *list, const char *title)
{
    coverage c = count(list);

    fprintf(stderr, "%s: measured %d of %d points", title, c.trusted, c.all);
    if (c.reached > c.trusted)
        fprintf(stderr, "; %d left out: the machine was busy", c.reached - c.trusted);
    if (c.all > c.reached)
        fprintf(stderr, "; %d not reached in the time", c.all - c.reached);
    fputc('\n', stderr);
}

pw_status pw_probe_tables(const pw_probe_list *list, const char *title, pw_model *m, pw_diag *diag)
{
    coverage c = count(list);
    pw_status status = PW_OK;
    int made = 0;

    if (c.missed > 0)
        return pw_diag_set(diag, PW_ERR_UNSUPPORTED,
                           "%s: %d of %d points of the coarsest grid were not reached in the time; nothing is written "
                           "(--seconds=N gives it more)",
                           title, c.missed, c.coarse);
    if (2 * c.trusted < c.reached)
        return pw_diag_set(
            diag, PW_ERR_UNSUPPORTED,
            "%s: only %d of %d points could be measured: the machine is busy with other work; nothing is written",
            title, c.trusted, c.reached);
    for (int table = 0; table < PW_TABLE_COUNT && !status; table++)
        status = make_table(list, (pw_model_table_id)table, m, &made, diag);
    if (status == PW_OK && made == 0 && c.all > 0)
        return pw_diag_set(diag, PW_ERR_UNSUPPORTED,
                           "%s: no table has its smallest messages: the machine is busy with other work; nothing is "
                           "written",
                           title);
    return status;
}
