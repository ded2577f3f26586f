/* Interleaved timing of all peers on one row. */
#ifndef PW_BENCH_MEASURE_H
#define PW_BENCH_MEASURE_H

#include "bench/options.h"
#include "bench/peers.h"

/* Median time of one run in nanoseconds; 0 where the peer is not available. */
typedef struct bench_times {
    double median[BENCH_PEERS];
    int reps;
} bench_times;

/*
 * In every repetition each peer is sampled once, in an order that rotates. A sample is as many runs as take
 * 20 microseconds, or one. Repeats until the time for the row is over, at least three times.
 */
void bench_measure(bench_run *run, pw_direction direction, const bench_options *options, bench_times *out);

#endif
