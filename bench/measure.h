/* Interleaved timing of all peers on one row. */
#ifndef PW_BENCH_MEASURE_H
#define PW_BENCH_MEASURE_H

#include "bench/options.h"
#include "bench/peers.h"

/* Median times of one run in nanoseconds; 0 where the peer is not available or not measured. */
typedef struct bench_times {
    double median[BENCH_PEERS];
    double cold[BENCH_PEERS]; /* of runs on memory in no cache */
    int reps;
} bench_times;

/*
 * In every repetition each peer is sampled once, in an order that rotates. A sample is as many runs as take
 * 20 microseconds, or one. Repeats until the time for the row is over, at least five times. Then come the cold
 * samples of one run each, three at least, in a quarter of that time.
 */
void bench_measure(bench_run *run, pw_direction direction, const bench_options *options, bench_times *out);

#endif
