#include "tools/measure/probe.h"

#include "base/clock.h"
#include "base/samples.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* A sample is as many runs as take so long, at least one. */
static const double sample_ns = 50e3;
enum { MAX_RUNS = 2000, LEAST_SAMPLES = 3 };

int pw_probe_add(pw_probe_list *list, const pw_probe *like)
{
    assert(list->n < PW_PROBE_MOST);
    list->at[list->n] = *like;
    return list->n++;
}

double pw_probe_time(const pw_probe *p, double spread)
{
    double v[PW_PROBE_SAMPLES];
    int quickest = p->n / 4 < LEAST_SAMPLES - 1 ? LEAST_SAMPLES - 1 : p->n / 4;

    if (p->failed || p->n < LEAST_SAMPLES)
        return NAN;
    memcpy(v, p->samples, (size_t)p->n * sizeof *v);
    pw_samples_sort(v, p->n);
    return v[quickest] <= v[0] * (1 + spread) ? v[quickest] : NAN;
}

static int agree(const pw_sampling *s, int value)
{
    return s->agree ? s->agree(s->arg, value) : value;
}

static int runs_for(double ns)
{
    double runs = ns > 0 ? sample_ns / ns : 1;

    return runs < 1 ? 1 : runs > MAX_RUNS ? MAX_RUNS : (int)runs;
}

/* Finds how many runs a sample has. The first run may have prepared things, so the second one counts. */
static void calibrate(const pw_sampling *s, pw_probe *p)
{
    double ns = p->run(p, 1);

    p->failed = agree(s, ns < 0);
    p->runs = p->failed ? 0 : agree(s, runs_for(p->run(p, 1)));
}

static void sample(const pw_sampling *s, pw_probe *p)
{
    double ns;

    if (p->runs == 0)
        calibrate(s, p);
    ns = p->failed ? -1 : p->run(p, p->runs);
    p->failed = agree(s, ns < 0);
    if (!p->failed)
        p->samples[p->n++] = ns;
}

/* Samples the probes that are `again`, each at least as often as it takes to be trusted. */
static void sample_rounds(const pw_sampling *s, pw_probe_list *list, double end)
{
    for (int round = 0; round < PW_PROBE_SAMPLES; round++) {
        if (round >= LEAST_SAMPLES && agree(s, pw_clock_seconds() > end))
            return;
        for (int i = 0; i < list->n; i++)
            if (list->at[i].again && !list->at[i].failed)
                sample(s, &list->at[i]);
    }
}

/* Forgets the samples of probes that cannot be trusted, so that they are taken anew. */
static void begin_again(const pw_sampling *s, pw_probe_list *list)
{
    for (int i = 0; i < list->n; i++) {
        pw_probe *p = &list->at[i];

        p->again = agree(s, !p->failed && isnan(pw_probe_time(p, s->spread)));
        if (p->again)
            p->n = 0;
    }
}

static void report(const pw_sampling *s, const pw_probe_list *list, double seconds)
{
    int can = 0, trusted = 0;

    for (int i = 0; i < list->n; i++) {
        can += !list->at[i].failed;
        trusted += !isnan(pw_probe_time(&list->at[i], s->spread));
    }
    fprintf(stderr, "%s: %d of %d times in %.0f s%s\n", s->title, trusted, can, seconds,
            trusted < can ? "; for the others the machine was busy" : "");
}

void pw_probe_sample(pw_probe_list *list, const pw_sampling *s)
{
    double begin = pw_clock_seconds();

    for (int i = 0; i < list->n; i++)
        list->at[i].again = true;
    sample_rounds(s, list, begin + s->seconds / 2);
    begin_again(s, list);
    sample_rounds(s, list, begin + s->seconds);
    if (s->title)
        report(s, list, pw_clock_seconds() - begin);
}
