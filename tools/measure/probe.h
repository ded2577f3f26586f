/*
 * Probes, each of which times one piece of work, taken in turn until each has enough samples or the time is over, so
 * that a machine that is busy for a while disturbs all of them a little. Other work on the machine only makes samples
 * longer, so a probe's time is the lower quartile of its samples; it is trusted when the samples below that agree.
 * Probes that cannot be trusted are sampled once more.
 */
#ifndef PW_TOOLS_MEASURE_PROBE_H
#define PW_TOOLS_MEASURE_PROBE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct pw_probe pw_probe;

/* Does its work `runs` times and returns the nanoseconds of one run. Negative: the work cannot be done here. The first
 * call does not count, and may prepare things. */
typedef double pw_probe_fn(pw_probe *p, int runs);

enum { PW_PROBE_SAMPLES = 25, PW_PROBE_MOST = 96 };

struct pw_probe {
    pw_probe_fn *run;
    void *arg;            /* what the part gives to `run` */
    int kind;             /* likewise: which of its measurements this is */
    int64_t bytes, block; /* of the message, and of its contiguous blocks */
    void *own;            /* what the probe keeps for itself */
    int runs, n;
    bool failed, again;
    double samples[PW_PROBE_SAMPLES];
};

typedef struct pw_probe_list {
    pw_probe at[PW_PROBE_MOST];
    int n;
} pw_probe_list;

/* What sampling prints, and when it ends. */
typedef struct pw_sampling {
    const char *title; /* such as "GPU"; NULL: nothing is printed */
    double seconds;
    double spread; /* a probe is trusted when the quickest quarter of its samples agrees within this part */
    /* Makes processes that sample together agree: returns the value of one of them on all. NULL: this process is alone.
     */
    int (*agree)(void *arg, int value);
    void *arg;
} pw_sampling;

/* Adds a copy of `like` to the list, which has room for it. Returns its place. */
int pw_probe_add(pw_probe_list *list, const pw_probe *like);

/* Samples all probes, and then those that cannot be trusted once more. */
void pw_probe_sample(pw_probe_list *list, const pw_sampling *s);

/* Returns the time of a probe that was sampled, in nanoseconds. NaN: it cannot be done here, or not be trusted. */
double pw_probe_time(const pw_probe *p, double spread);

#endif
