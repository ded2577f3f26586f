/* Turns samples into tables: points that can be trusted, gaps for the others, and counts of both. */
#include "tools/measure/probe.h"

#include "base/samples.h"

#include <math.h>
#include <stdio.h>

/* Finds the block lengths of a table: those of its largest message, which has all of them. */
static int collect_blocks(const pw_probe_list *list, pw_model_table_id table, double *y)
{
    int n = 0;

    for (int i = 0; i < list->n; i++) {
        const pw_probe *p = &list->at[i];
        int at = 0;

        if (p->table != table)
            continue;
        while (at < n && y[at] != (double)p->block)
            at++;
        if (at == n && n < PW_MODEL_MAX_POINTS)
            y[n++] = (double)p->block;
    }
    pw_samples_sort(y, n);
    return n;
}

/* Collects one row from the probes from list->at[i] on. False: one of them was not sampled, or cannot be done. */
static bool collect_row(const pw_probe_list *list, int i, const double *y, int ny, double *t)
{
    const pw_probe *first = &list->at[i];
    double last = NAN;

    for (int k = 0; k < ny; k++) {
        const pw_probe *p = &list->at[i];

        if (i < list->n && p->table == first->table && p->bytes == first->bytes && (double)p->block == y[k]) {
            if (p->failed || !p->reached)
                return false;
            last = p->trusted ? pw_probe_time(p) : NAN;
            i++;
        }
        t[k] = last;
    }
    return true;
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
        if (list->at[i].table != table || !begins_row(list, i))
            continue;
        if (!collect_row(list, i, y, ny, t + (size_t)nx * (size_t)ny))
            break; /* larger messages have none either, or there is a gap */
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
} coverage;

static coverage count(const pw_probe_list *list)
{
    coverage c = {0, 0, 0};

    for (int i = 0; i < list->n; i++) {
        const pw_probe *p = &list->at[i];

        c.all += !p->failed;
        c.reached += !p->failed && p->reached;
        c.trusted += p->trusted;
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
