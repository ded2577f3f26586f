/* What was measured, and the summaries over it. */
#ifndef PW_BENCH_RESULTS_H
#define PW_BENCH_RESULTS_H

#include "bench/measure.h"

typedef struct bench_result {
    const char *name;
    char params[BENCH_PARAMS_TEXT];
    pw_direction direction;
    int64_t size, blocks;
    bench_times times;
    bench_commit commit; /* the same for both directions of a row */
} bench_result;

typedef struct bench_results {
    bench_result *all;
    int n;
    int64_t room;
} bench_results;

void bench_results_add(bench_results *results, const bench_result *result);
void bench_results_free(bench_results *results);

/* Packed bytes by time; 0 when not measured. */
double bench_gbps(const bench_result *r, bench_peer_id id);

/* The ratios that the table, the CSV and the means show: columns of one table. */
typedef struct bench_ratio {
    const char *label;
    bench_peer_id who, than;
    bool cold; /* both on cold memory */
} bench_ratio;

enum { BENCH_RATIOS = 9 };
extern const bench_ratio bench_ratios[BENCH_RATIOS];

/* How many times faster `who` is than `than`; 0 when either was not measured. */
double bench_speedup(const bench_result *r, const bench_ratio *ratio);

/* Geometric mean of a ratio over rows with this name and direction (NULL, PW_DIRECTIONS: all); 0 for none. */
double bench_mean(const bench_results *results, const char *name, int direction, const bench_ratio *ratio);

#endif
