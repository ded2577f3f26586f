/*
 * Measuring a model: probes, each of which times one point of one table, taken in turn until the time is over.
 *
 * Each table is a grid, of which a coarse one is sampled first: every fourth point of each axis with both ends, then
 * every second one, then all. So a short run knows all sizes, from the smallest to the largest, if coarsely. A run that
 * does not get through the coarse grid knows nothing of long messages, and makes no tables. Within a grid all probes
 * are sampled once before any is sampled again, so that a machine that is busy for a while disturbs all of them a
 * little. Other work on the machine only makes samples longer, so a point is the lower quartile of its samples, or the
 * upper one where the model is to be careful; it is trusted when the samples below that agree. Points that cannot be
 * trusted are sampled once more, and then are gaps in their tables.
 */
#ifndef PW_TOOLS_MEASURE_PROBE_H
#define PW_TOOLS_MEASURE_PROBE_H

#include "runtime/engine/model/tables.h"

typedef struct pw_probe pw_probe;

/* Does its work `runs` times and returns the nanoseconds of one run. Negative: the work cannot be done here. The first
 * call does not count, and may prepare things. */
typedef double pw_probe_fn(pw_probe *p, int runs);

enum { PW_PROBE_SAMPLES = 25 };

struct pw_probe {
    pw_model_table_id table;
    int64_t bytes, block; /* the point on the axes; block is 1 where the table has no such axis */
    pw_probe_fn *run;
    void *arg;    /* what the part gives to `run`: CPU, GPU or messages */
    int kind;     /* likewise: which of its measurements this is */
    int level;    /* the grid that has the point, from 0, the coarsest; pw_probe_add sets it */
    void *own;    /* what the probe keeps for itself */
    bool careful; /* the point is the upper quartile */
    int runs, n;
    bool failed;
    bool reached;   /* it has had enough samples at some time */
    bool again;     /* it is being sampled */
    bool trusted;   /* the point is in the model */
    double seconds; /* the time of the first sample */
    double samples[PW_PROBE_SAMPLES];
};

typedef struct pw_probe_list {
    pw_probe *at;
    int n;
    int64_t room;
} pw_probe_list;

/* The points of an axis. */
typedef struct pw_axis {
    const int64_t *at;
    int n;
} pw_axis;

/* Adds a probe for each point, except points whose block is longer than the message and points of more than `most`
 * bytes. `blocks` NULL: the table has no such axis. If memory runs out, the list stays shorter. */
void pw_probe_add(pw_probe_list *list, pw_model_table_id table, const pw_axis *bytes, const pw_axis *blocks,
                  int64_t most, const pw_probe *like);
void pw_probe_free(pw_probe_list *list);

/* What sampling prints, and when it ends. */
typedef struct pw_sampling {
    const char *title; /* such as "CPU kernels"; NULL: nothing is printed */
    double seconds;
    double spread;            /* a point is trusted when the quickest quarter of its samples agrees within this part */
    double (*now)(void *arg); /* returns seconds; NULL: the clock does */
    /* Makes processes that sample together agree: returns the value of one of them on all. NULL: this process is alone.
     */
    int (*agree)(void *arg, int value);
    void *arg;
} pw_sampling;

/*
 * Samples all probes, and then those that cannot be trusted once more. Ends after `seconds`, or earlier when it has
 * taken twice as long as it would if nothing disturbed it.
 */
void pw_probe_sample(pw_probe_list *list, const pw_sampling *s);

/* Returns the point of a probe that was sampled, in nanoseconds. */
double pw_probe_time(const pw_probe *p);

/* Prints on stderr how many points were measured, how many not, and why. */
void pw_probe_report(const pw_probe_list *list, const char *title);

/*
 * Makes tables of the sizes and block lengths that were reached. Points that are not trusted are gaps, cells whose
 * block is longer than the message get the time of the longest block that is not. Tables with less than two rows (one,
 * where there is one axis point), and those whose first row is all gaps, are left out. PW_ERR_UNSUPPORTED: the coarse
 * grid was not reached, most points are not trusted, or all tables are left out although some probes can be done.
 */
pw_status pw_probe_tables(const pw_probe_list *list, const char *title, pw_model *m, pw_diag *diag);

#endif
