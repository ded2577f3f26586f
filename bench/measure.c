/* Sampling and medians. */
#include "bench/measure.h"

#include "base/samples.h"
#include "bench/clock.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_REPS = 1001, LEAST_REPS = 5, MAX_RUNS = 100000, MAX_COLD_RUNS = 5 };
static const double sample_ns = 20e3;

/* One run before the clock starts, so that no peer depends on what the one before it left in the caches. */
static double warm_sample(bench_run *run, bench_move_fn *move, int runs)
{
    move(run);
    double start = bench_cpu_now();
    for (int i = 0; i < runs; i++)
        move(run);
    return (bench_cpu_now() - start) / runs;
}

/* Runs are timed one by one, too short for the thread's clock. */
static double cold_sample(bench_run *run, bench_move_fn *move, int runs)
{
    double sum = 0;
    for (int i = 0; i < runs; i++) {
        bench_flush_lines(&run->lines);
        bench_flush(run->packed, run->row->size);
        bench_flush(run->flat, run->row->size);
        double start = bench_now();
        move(run);
        sum += bench_now() - start;
    }
    return sum / runs;
}

static double sample(bench_run *run, bench_peer_id id, pw_direction direction, int runs, bool cold)
{
    bench_move_fn *move = bench_peers[id].move[direction];
    return cold ? cold_sample(run, move, runs) : warm_sample(run, move, runs);
}

/* Runs that fill a sample. Found by doubling, since a few short runs take less than reading the clock. */
static int calibrate(bench_run *run, bench_peer_id id, pw_direction direction, const bench_options *options)
{
    if (options->quick)
        return 1;
    int runs = 1;
    while (runs < MAX_RUNS && sample(run, id, direction, runs, false) * runs < sample_ns)
        runs *= 2;
    return options->cold && runs > MAX_COLD_RUNS ? MAX_COLD_RUNS : runs;
}

void bench_measure(bench_run *run, pw_direction direction, const bench_options *options, bench_times *out)
{
    double samples[BENCH_PEERS][MAX_REPS];
    int runs[BENCH_PEERS];
    bench_peer_id ids[BENCH_PEERS];
    int n = 0;
    for (int id = 0; id < BENCH_PEERS; id++)
        if (bench_peer_available(run, (bench_peer_id)id))
            ids[n++] = (bench_peer_id)id;
    for (int i = 0; i < n; i++)
        runs[ids[i]] = calibrate(run, ids[i], direction, options);
    int most = options->reps < MAX_REPS ? options->reps : MAX_REPS, rep = 0;
    double until = bench_now() + options->seconds * 1e9;
    for (; rep < most && (rep < LEAST_REPS || bench_now() < until); rep++)
        for (int i = 0; i < n; i++) {
            bench_peer_id id = ids[(i + rep) % n];
            samples[id][rep] = sample(run, id, direction, runs[id], options->cold);
        }
    memset(out, 0, sizeof *out);
    out->reps = rep;
    for (int i = 0; i < n; i++)
        out->median[ids[i]] = pw_samples_median(samples[ids[i]], rep);
}
