#include "tools/measure/probe.h"

#include "base/clock.h"
#include "base/grow.h"
#include "base/samples.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A sample is as many runs as take so long, at least one. */
static const double sample_ns = 50e3;
/* A run that takes at least so long is a sample by itself, and one such run is enough to know that. */
static const double long_ns = 5e6;
enum { MAX_RUNS = 2000, ONE_LONG_RUN = MAX_RUNS + 1 };

enum {
    LEVELS = 3,
    LATEST = 8, /* the coarse grid is sampled for so many times the time that was asked for, if need be */
    LEAST_SAMPLES = 3,
    MOST_ABOVE_LONGER = 2, /* a message that takes more than so many times as long as a longer one was disturbed */
    MOST_ABOVE_QUIET = 2   /* sampling ends after so many times the time that a quiet machine takes */
};

/* ---- the list --------------------------------------------------------------------------------------------------- */

/* Returns the grid that has the i-th of n points of an axis. */
static int level_of(int i, int n)
{
    return i % 4 == 0 || i == n - 1 ? 0 : i % 2 == 0 ? 1 : 2;
}

static void add(pw_probe_list *list, pw_model_table_id table, int64_t bytes, int64_t block, int level,
                const pw_probe *like)
{
    pw_probe *p = pw_grow(list->at, list->n, &list->room, sizeof *p);

    if (!p)
        return;
    list->at = p;
    p += list->n++;
    *p = *like;
    p->table = table;
    p->bytes = bytes;
    p->block = block;
    p->level = level;
}

/* Returns how many points of an axis are at most `most`. */
static int points_to(const pw_axis *axis, int64_t most)
{
    int n = 0;

    while (n < axis->n && axis->at[n] <= most)
        n++;
    return n;
}

void pw_probe_add(pw_probe_list *list, pw_model_table_id table, const pw_axis *bytes, const pw_axis *blocks,
                  int64_t most, const pw_probe *like)
{
    int n = points_to(bytes, most), lengths = blocks && n > 0 ? points_to(blocks, bytes->at[n - 1]) : 0;

    for (int i = 0; i < n; i++) {
        int level = level_of(i, n);

        if (!blocks)
            add(list, table, bytes->at[i], 1, level, like);
        for (int k = 0; k < lengths && blocks->at[k] <= bytes->at[i]; k++) {
            int other = level_of(k, lengths);

            add(list, table, bytes->at[i], blocks->at[k], other > level ? other : level, like);
        }
    }
}

void pw_probe_free(pw_probe_list *list)
{
    free(list->at);
    *list = (pw_probe_list){NULL, 0, 0};
}

/* ---- trust ------------------------------------------------------------------------------------------------------ */

/* Returns which of the sorted samples is the point: the end of the quickest quarter, since other work only makes
 * samples longer. */
static int best_part(int n)
{
    return n / 4 < LEAST_SAMPLES - 1 ? LEAST_SAMPLES - 1 : n / 4;
}

static void sort_samples(const pw_probe *p, double v[PW_PROBE_SAMPLES])
{
    memcpy(v, p->samples, (size_t)p->n * sizeof *v);
    pw_samples_sort(v, p->n);
}

double pw_probe_time(const pw_probe *p)
{
    double v[PW_PROBE_SAMPLES];
    int at = p->careful ? p->n * 3 / 4 : best_part(p->n);

    sort_samples(p, v);
    return v[at < p->n ? at : p->n - 1];
}

/* Returns whether a probe can be trusted by itself: its quickest samples agree, and a quiet machine could need so long
 * for a message of this size. */
static bool is_settled(const pw_probe *p, double spread)
{
    double v[PW_PROBE_SAMPLES];

    if (p->failed || p->n < LEAST_SAMPLES)
        return false;
    sort_samples(p, v);
    return (p->careful || v[best_part(p->n)] <= v[0] * (1 + spread)) &&
           (p->bytes > PW_MODEL_SHORT || pw_probe_time(p) <= PW_MODEL_SHORT_MOST_NS);
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

static int by_level(const void *a, const void *b)
{
    const pw_probe *x = a, *y = b;

    return x->level != y->level ? (x->level > y->level) - (x->level < y->level) : by_bytes(a, b);
}

static void sort_probes(pw_probe_list *list, int (*order)(const void *, const void *))
{
    if (list->n > 0)
        qsort(list->at, (size_t)list->n, sizeof *list->at, order);
}

/*
 * Sorts all probes by bytes and sets `trusted`. A point is not trusted if its quickest samples differ by
 * more than `spread`, if it is absurd, or if it takes much longer than a longer message in the same blocks: other work
 * on the machine only makes times longer.
 */
static void judge(pw_probe_list *list, double spread)
{
    sort_probes(list, by_bytes);
    for (int i = list->n - 1; i >= 0; i--) {
        pw_probe *p = &list->at[i];
        const pw_probe *longer = NULL;

        p->trusted = is_settled(p, spread);
        for (int k = i + 1; k < list->n && !longer; k++)
            if (list->at[k].table == p->table && list->at[k].block == p->block && list->at[k].trusted)
                longer = &list->at[k];
        if (p->trusted && longer && pw_probe_time(p) > MOST_ABOVE_LONGER * pw_probe_time(longer))
            p->trusted = false;
    }
}

/* ---- sampling ---------------------------------------------------------------------------------------------------- */

typedef struct state {
    const pw_sampling *s;
    double begin;
    bool prepared;       /* all grids have been sampled for the first time, in which probes make what they need */
    double rounds_begin; /* when that was over */
    double quiet;        /* seconds that the other rounds take where nothing disturbs them */
    double shown;        /* when progress was shown last */
    bool terminal;
} state;

static double now(const state *st)
{
    return st->s->now ? st->s->now(st->s->arg) : pw_clock_seconds();
}

/* Shows progress: on a terminal in one line, elsewhere (as under mpiexec) in a line now and then. */
static void show(state *st, const pw_probe_list *list)
{
    static const double now_and_then = 5;
    double spent = now(st) - st->begin;
    int reached = 0;

    if (!st->s->title || (!st->terminal && spent - st->shown < now_and_then))
        return;
    st->shown = spent;
    for (int i = 0; i < list->n; i++)
        reached += list->at[i].reached;
    fprintf(stderr, "%s%s: %d of %d points, %.0f of %.0f s%s", st->terminal ? "\r" : "", st->s->title, reached, list->n,
            spent, st->s->seconds, st->terminal ? " " : "\n");
    fflush(stderr);
}

static int agree(state *st, int value)
{
    return st->s->agree ? st->s->agree(st->s->arg, value) : value;
}

static int runs_for(double ns)
{
    double runs = ns > 0 ? sample_ns / ns : 1;

    return runs < 1 ? 1 : runs > MAX_RUNS ? MAX_RUNS : (int)runs;
}

/* Finds how many runs a sample has. The first run may have prepared things, so unless it was long the second one
 * counts. */
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

static bool has_time(const state *st, const pw_probe *p)
{
    double t = now(st), seconds = st->s->seconds * (p->level == 0 && !p->reached ? LATEST : 1);

    return t - st->begin < seconds && (!st->prepared || t - st->rounds_begin < MOST_ABOVE_QUIET * st->quiet);
}

/* Takes a sample. False: there is no time for it. */
static bool sample(state *st, pw_probe *p)
{
    double ns, begin, seconds;

    if (!agree(st, has_time(st, p)))
        return false;
    if (p->n == 0)
        calibrate(st, p);
    begin = now(st);
    ns = p->run(p, p->runs);
    seconds = now(st) - begin;
    if (p->n == 0)
        p->seconds = seconds;
    if (ns < 0)
        p->failed = true;
    else
        p->samples[p->n++] = ns;
    p->reached |= p->failed || p->n >= LEAST_SAMPLES;
    return true;
}

static void end_preparing(state *st, const pw_probe_list *list)
{
    for (int i = 0; i < list->n; i++)
        st->quiet += (PW_PROBE_SAMPLES - LEAST_SAMPLES) * list->at[i].seconds;
    st->rounds_begin = now(st);
    st->prepared = true;
}

/* Takes a sample of each probe that is `again`, of the grids from `first` to `last`. False: the time is over. */
static bool sample_round(state *st, pw_probe_list *list, int first, int last)
{
    for (int i = 0; i < list->n; i++) {
        pw_probe *p = &list->at[i];

        if (i % 16 == 0)
            show(st, list);
        if (p->again && p->level >= first && p->level <= last && !sample(st, p))
            return false;
    }
    return true;
}

/* Samples the probes that are `again`: grid by grid until each has enough samples, and then all of them. False: the
 * time is over. */
static bool sample_rounds(state *st, pw_probe_list *list)
{
    bool time = true;

    sort_probes(list, by_level);
    for (int level = 0; level < LEVELS && time; level++)
        for (int round = 0; round < LEAST_SAMPLES && time; round++)
            time = sample_round(st, list, level, level);
    if (!st->prepared)
        end_preparing(st, list);
    for (int round = LEAST_SAMPLES; round < PW_PROBE_SAMPLES && time; round++)
        time = sample_round(st, list, 0, LEVELS - 1);
    return time;
}

/* Forgets the samples of probes that cannot be trusted, so that they are taken anew. Returns how many probes these are.
 */
static int begin_again(state *st, pw_probe_list *list)
{
    int n = 0;

    judge(list, st->s->spread);
    for (int i = 0; i < list->n; i++) {
        pw_probe *p = &list->at[i];

        p->again = agree(st, p->reached && !p->failed && !p->trusted);
        if (p->again)
            p->n = 0;
        n += p->again;
    }
    return n;
}

void pw_probe_sample(pw_probe_list *list, const pw_sampling *s)
{
    state st = {.s = s, .terminal = isatty(STDERR_FILENO)};

    st.begin = now(&st);
    for (int i = 0; i < list->n; i++)
        list->at[i].again = true;
    if (s->title && !st.terminal)
        fprintf(stderr, "%s: %d points, at most %.0f s\n", s->title, list->n, s->seconds);
    if (sample_rounds(&st, list) && begin_again(&st, list) > 0)
        sample_rounds(&st, list);
    judge(list, s->spread);
    if (s->title && st.terminal)
        fprintf(stderr, "\r%s: %.0f s%*s\n", s->title, now(&st) - st.begin, 50, "");
}
