#include "tools/measure_probe.h"

#include "base/clock.h"
#include "base/samples.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A sample is as many runs as take so long, or one. */
static const double sample_ns = 50e3;
/* From here on one run is a sample, and the first one tells enough about it. */
static const double long_ns = 5e6;
enum { MAX_RUNS = 2000, ONE_LONG_RUN = MAX_RUNS + 1 };

/* ---- the list --------------------------------------------------------------------------------------------------- */

static void add(pw_probe_list *list, pw_model_table_id table, int64_t bytes, int64_t block, const pw_probe *like)
{
    pw_probe *p;

    if (list->n == list->room) {
        int room = list->room ? 2 * list->room : 64;
        pw_probe *grown = realloc(list->at, (size_t)room * sizeof *grown);

        if (!grown)
            return;
        list->at = grown;
        list->room = room;
    }
    p = &list->at[list->n++];
    *p = *like;
    p->table = table;
    p->bytes = bytes;
    p->block = block;
}

void pw_probe_add(pw_probe_list *list, pw_model_table_id table, const pw_axis *bytes, const pw_axis *blocks,
                  int64_t most, const pw_probe *like)
{
    for (int i = 0; i < bytes->n && bytes->at[i] <= most; i++) {
        if (!blocks)
            add(list, table, bytes->at[i], 1, like);
        for (int k = 0; blocks && k < blocks->n && blocks->at[k] <= bytes->at[i]; k++)
            add(list, table, bytes->at[i], blocks->at[k], like);
    }
}

void pw_probe_free(pw_probe_list *list)
{
    free(list->at);
    *list = (pw_probe_list){NULL, 0, 0};
}

/* ---- sampling ---------------------------------------------------------------------------------------------------- */

typedef struct state {
    const pw_sampling *s;
    double begin;
    int64_t least; /* bytes up to which everything is sampled once, however long it takes */
    bool terminal, over;
} state;

static void show(const state *st, int round, int done, int all)
{
    double spent = pw_clock_seconds() - st->begin;

    if (!st->s->title || !st->terminal)
        return;
    fprintf(stderr, "\r%s: round %d, %d of %d points, %.0f of %.0f s ", st->s->title, round + 1, done, all, spent,
            st->s->seconds);
    fflush(stderr);
}

static int agree(state *st, int value)
{
    value = st->s->agree ? st->s->agree(st->s->arg, value) : value;
    st->over = value == 0;
    return value;
}

static int runs_for(double ns)
{
    double runs = ns > 0 ? sample_ns / ns : 1;

    return runs < 1 ? 1 : runs > MAX_RUNS ? MAX_RUNS : (int)runs;
}

/* How many runs to a sample. The first run may have prepared things, so unless it was long another is asked. */
static void calibrate(state *st, pw_probe *p)
{
    double ns = p->run(p, 1);

    p->failed = ns < 0;
    p->runs = agree(st, ns > long_ns ? ONE_LONG_RUN : runs_for(ns));
    if (p->runs == ONE_LONG_RUN)
        p->runs = 1;
    else
        p->runs = agree(st, runs_for(p->run(p, p->runs < 4 ? p->runs : 4)));
}

/* Returns false when it is all over. */
static bool sample(state *st, pw_probe *p, bool first)
{
    double ns;

    if (!agree(st, pw_clock_seconds() - st->begin < st->s->seconds || (first && p->bytes <= st->least)))
        return false;
    if (first)
        calibrate(st, p);
    ns = p->run(p, p->runs);
    if (ns < 0)
        p->failed = true;
    else
        p->samples[p->n++] = ns;
    return true;
}

static int by_bytes(const void *a, const void *b)
{
    const pw_probe *x = a, *y = b;

    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? -1 : 1;
    if (x->table != y->table)
        return x->table < y->table ? -1 : 1;
    return (x->block > y->block) - (x->block < y->block);
}

/* The second smallest size: with two, every table has something to go by. */
static int64_t least_of(const pw_probe_list *list)
{
    int i = 0;

    while (i < list->n && list->at[i].bytes == list->at[0].bytes)
        i++;
    return i < list->n ? list->at[i].bytes : INT64_MAX;
}

void pw_probe_sample(pw_probe_list *list, const pw_sampling *s)
{
    state st = {.s = s, .begin = pw_clock_seconds(), .terminal = isatty(STDERR_FILENO)};

    if (list->n > 0)
        qsort(list->at, (size_t)list->n, sizeof *list->at, by_bytes);
    st.least = least_of(list);
    if (s->title && !st.terminal)
        fprintf(stderr, "%s: %d points, at most %.0f s\n", s->title, list->n, s->seconds);
    for (int round = 0; round < PW_PROBE_SAMPLES && !st.over; round++)
        for (int i = 0; i < list->n && !st.over; i++) {
            if (i % 16 == 0)
                show(&st, round, i, list->n);
            sample(&st, &list->at[i], round == 0);
        }
    if (s->title && st.terminal)
        fprintf(stderr, "\r%s: %.0f s%*s\n", s->title, pw_clock_seconds() - st.begin, 50, "");
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

double pw_probe_time(const pw_probe *p)
{
    double v[PW_PROBE_SAMPLES];

    memcpy(v, p->samples, (size_t)p->n * sizeof *v);
    pw_samples_sort(v, p->n);
    if (p->careful)
        return v[p->n * 3 / 4];
    return p->n % 2 ? v[p->n / 2] : (v[p->n / 2 - 1] + v[p->n / 2]) / 2;
}

/* The block lengths of a table: those of its largest message, which has them all. */
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

/* One row, of the probes from list->at[i] on. Returns false when one of them has no sample. */
static bool collect_row(const pw_probe_list *list, int i, const double *y, int ny, double *t)
{
    const pw_probe *first = &list->at[i];
    double last = -1;

    for (int k = 0; k < ny; k++) {
        const pw_probe *p = &list->at[i];

        if (i < list->n && p->table == first->table && p->bytes == first->bytes && (double)p->block == y[k]) {
            if (p->failed || p->n == 0)
                return false;
            last = pw_probe_time(p);
            i++;
        }
        t[k] = last;
    }
    return last >= 0;
}

static bool begins_row(const pw_probe_list *list, int i)
{
    return i == 0 || list->at[i].table != list->at[i - 1].table || list->at[i].bytes != list->at[i - 1].bytes;
}

static pw_status make_table(const pw_probe_list *list, pw_model_table_id table, pw_model *m, pw_diag *diag)
{
    double x[PW_MODEL_MAX_POINTS], y[PW_MODEL_MAX_POINTS], t[PW_MODEL_MAX_POINTS * PW_MODEL_MAX_POINTS];
    int nx = 0, ny = collect_blocks(list, table, y), least = pw_model_table_describe(table)->axes > 0 ? 2 : 1;

    for (int i = 0; i < list->n && nx < PW_MODEL_MAX_POINTS; i++) {
        if (list->at[i].table != table || !begins_row(list, i))
            continue;
        if (!collect_row(list, i, y, ny, t + (size_t)nx * (size_t)ny))
            break; /* larger ones have none either, or there is a gap */
        x[nx++] = (double)list->at[i].bytes;
    }
    return nx < least ? PW_OK : pw_model_set(m, table, x, nx, y, ny, t, diag);
}

pw_status pw_probe_tables(const pw_probe_list *list, pw_model *m, pw_diag *diag)
{
    pw_status status = PW_OK;

    for (int table = 0; table < PW_TABLE_COUNT && !status; table++)
        status = make_table(list, (pw_model_table_id)table, m, diag);
    return status;
}
