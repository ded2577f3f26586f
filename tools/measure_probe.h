/*
 * Measuring a model: probes, each of which times one point of one table, taken in turn until the time is over.
 *
 * All probes are sampled once before any is sampled again, small sizes first, so that a machine that is busy for a
 * while disturbs all of them a little, and a short run has whole rows of every table: the two smallest sizes in any
 * case. A point is the median of its samples, or the upper quartile where the model is to be careful.
 */
#ifndef PW_TOOLS_MEASURE_PROBE_H
#define PW_TOOLS_MEASURE_PROBE_H

#include "runtime/model/tables.h"

typedef struct pw_probe pw_probe;

/* Does it `runs` times and returns nanoseconds for each; negative: it cannot be done here. The first call of a probe
 * is not counted, and may prepare things. */
typedef double pw_probe_fn(pw_probe *p, int runs);

enum { PW_PROBE_SAMPLES = 25 };

struct pw_probe {
    pw_model_table_id table;
    int64_t bytes, block; /* block: 1 where the table has no such axis */
    pw_probe_fn *run;
    void *arg;    /* of its part: CPU, GPU or messages */
    int kind;     /* the same */
    void *own;    /* of the probe */
    bool careful; /* the point is the upper quartile */
    int runs, n;
    bool failed;
    double samples[PW_PROBE_SAMPLES];
};

typedef struct pw_probe_list {
    pw_probe *at;
    int n, room;
} pw_probe_list;

/* The points of an axis. */
typedef struct pw_axis {
    const int64_t *at;
    int n;
} pw_axis;

/* Adds a probe for each point; those whose block is longer than the message are left out, and those of more than `most`
 * bytes. `blocks` NULL: no such axis. Without memory the list stays shorter. */
void pw_probe_add(pw_probe_list *list, pw_model_table_id table, const pw_axis *bytes, const pw_axis *blocks,
                  int64_t most, const pw_probe *like);
void pw_probe_free(pw_probe_list *list);

/* How sampling is told to the user, and when it ends. */
typedef struct pw_sampling {
    const char *title; /* "CPU kernels"; NULL: in silence */
    double seconds;
    /* Several processes that sample together do as one of them says: returns that one's value. NULL: alone. */
    int (*agree)(void *arg, int value);
    void *arg;
} pw_sampling;

void pw_probe_sample(pw_probe_list *list, const pw_sampling *s);

/* The point of a probe that was sampled, in nanoseconds. */
double pw_probe_time(const pw_probe *p);

/* Makes tables of the whole rows that were sampled. Cells whose block is longer than the message get the time of the
 * longest block that is not. Tables with less than two rows (one, where there is one axis point) are left out. */
pw_status pw_probe_tables(const pw_probe_list *list, pw_model *m, pw_diag *diag);

#endif
