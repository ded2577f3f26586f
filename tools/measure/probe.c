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
    LEAST_SAMPLES = 3,
    MOST_ABOVE_LONGER = 2, /* a message that takes more than so many times as long as a longer one was disturbed */
    MOST_ABOVE_QUIET = 2   /* sampling ends after so many times the time that a quiet machine takes */
};

/* ---- the list --------------------------------------------------------------------------------------------------- */

static void add(pw_probe_list *list, pw_model_table_id table, int64_t bytes, int64_t block, const pw_probe *like)
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

/*
 * Sets `trusted` of all probes, which are sorted by bytes. A point is not trusted if its quickest samples differ by
 * more than `spread`, if it is absurd, or if it takes much longer than a longer message in the same blocks: other work
 * on the machine only makes times longer.
 */
static void judge(pw_probe_list *list, double spread)
{
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
    bool prepared;       /* the first round is over, in which probes make what they need */
    double rounds_begin; /* when the first round ended */
    double quiet;        /* seconds that the other rounds take where nothing disturbs them */
    int64_t least;       /* messages of up to so many bytes get several samples, however long that takes */
    bool terminal, over;
} state;

static double now(const state *st)
{
    return st->s->now ? st->s->now(st->s->arg) : pw_clock_seconds();
}

static void show(const state *st, int round, int done, int all)
{
    double spent = now(st) - st->begin;

    if (!st->s->title || !st->terminal)
        return;
    fprintf(stderr, "\r%s: round %d, %d of %d points, %.0f of %.0f s ", st->s->title, round + 1, done, all, spent,
            st->s->seconds);
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

static bool has_time(const state *st)
{
    double t = now(st);

    return t - st->begin < st->s->seconds && (!st->prepared || t - st->rounds_begin < MOST_ABOVE_QUIET * st->quiet);
}

/* Takes a sample. False: there is no time for it. */
static bool sample(state *st, pw_probe *p)
{
    double ns, begin, seconds;

    if (!agree(st, has_time(st) || (!p->reached && p->bytes <= st->least)))
        return false;
    if (p->n == 0)
        calibrate(st, p);
    begin = now(st);
    ns = p->run(p, p->runs);
    seconds = now(st) - begin;
    if (p->n == 0 || seconds < p->seconds)
        p->seconds = seconds;
    if (ns < 0)
        p->failed = true;
    else
        p->samples[p->n++] = ns;
    p->reached |= p->failed || p->n >= LEAST_SAMPLES;
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

/* Returns the second smallest size. If two sizes are sampled, every table has something to interpolate. */
static int64_t least_of(const pw_probe_list *list)
{
    int i = 0;

    while (i < list->n && list->at[i].bytes == list->at[0].bytes)
        i++;
    return i < list->n ? list->at[i].bytes : INT64_MAX;
}

static void end_preparing(state *st, const pw_probe_list *list)
{
    for (int i = 0; i < list->n; i++)
        st->quiet += (PW_PROBE_SAMPLES - 1) * list->at[i].seconds;
    st->rounds_begin = now(st);
    st->prepared = true;
}

/* Takes one sample of each probe that is `again`, in rounds. */
static void sample_rounds(state *st, pw_probe_list *list)
{
    for (int round = 0; round < PW_PROBE_SAMPLES && !st->over; round++) {
        bool time = true;

        for (int i = 0; i < list->n && time; i++) {
            if (i % 16 == 0)
                show(st, round, i, list->n);
            if (list->at[i].again)
                time = sample(st, &list->at[i]);
        }
        st->over = !time && round >= LEAST_SAMPLES - 1; /* until then the smallest sizes get further rounds */
        if (!st->prepared)
            end_preparing(st, list);
    }
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
    if (list->n > 0)
        qsort(list->at, (size_t)list->n, sizeof *list->at, by_bytes);
    st.least = least_of(list);
    for (int i = 0; i < list->n; i++)
        list->at[i].again = true;
    if (s->title && !st.terminal)
        fprintf(stderr, "%s: %d points, at most %.0f s\n", s->title, list->n, s->seconds);
    sample_rounds(&st, list);
    if (!st.over && begin_again(&st, list) > 0)
        sample_rounds(&st, list);
    judge(list, s->spread);
    if (s->title && st.terminal)
        fprintf(stderr, "\r%s: %.0f s%*s\n", s->title, now(&st) - st.begin, 50, "");
}
