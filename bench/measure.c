/* Sampling and medians. */
#include "bench/measure.h"

#include "base/samples.h"
#include "bench/clock.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_REPS = 1001, LEAST_REPS = 5, LEAST_COLD = 3, MAX_RUNS = 100000 };
static const double sample_ns = 20e3, cold_part = 0.25;

/* The peers that take turns, and the samples of each. */
typedef struct turns {
    bench_peer_id ids[BENCH_PEERS];
    int n;
    double samples[BENCH_PEERS][MAX_REPS];
} turns;

/* One run before the clock starts, so that no peer depends on what the one before it left in the caches. */
static double warm_sample(bench_run *run, bench_move_fn *move, int runs)
{
    move(run);
    double start = bench_cpu_now();
    for (int i = 0; i < runs; i++)
        move(run);
    return (bench_cpu_now() - start) / runs;
}

/* One run, too short for the thread's clock, until its stores are done. What it reads beside the row's memory stays in
 * the caches: code, tables. */
static double cold_sample(bench_run *run, bench_move_fn *move)
{
    bench_flush_lines(&run->lines);
    bench_flush(run->packed, run->row->size);
    double start = bench_now();
    move(run);
    atomic_thread_fence(memory_order_seq_cst);
    return bench_now() - start;
}

/* Runs that fill a sample. Found by doubling, since a few short runs take less than reading the clock. */
static int calibrate(bench_run *run, bench_move_fn *move, bool quick)
{
    int runs = 1;
    while (!quick && runs < MAX_RUNS && warm_sample(run, move, runs) * runs < sample_ns)
        runs *= 2;
    return runs;
}

static void take_part(turns *t, const bench_run *run, bool cold)
{
    t->n = 0;
    for (int id = 0; id < BENCH_PEERS; id++)
        if (bench_peer_available(run, (bench_peer_id)id) && (!cold || bench_peers[id].is_cold_too))
            t->ids[t->n++] = (bench_peer_id)id;
}

static void medians(turns *t, int reps, double *out)
{
    for (int i = 0; i < t->n; i++)
        out[t->ids[i]] = pw_samples_median(t->samples[t->ids[i]], reps);
}

static int measure_warm(turns *t, bench_run *run, pw_direction direction, const bench_options *options)
{
    int runs[BENCH_PEERS], most = options->reps < MAX_REPS ? options->reps : MAX_REPS, rep = 0;
    take_part(t, run, false);
    for (int i = 0; i < t->n; i++)
        runs[t->ids[i]] = calibrate(run, bench_peers[t->ids[i]].move[direction], options->quick);
    double until = bench_now() + options->seconds * 1e9;
    for (; rep < most && (rep < LEAST_REPS || bench_now() < until); rep++)
        for (int i = 0; i < t->n; i++) {
            bench_peer_id id = t->ids[(i + rep) % t->n];
            t->samples[id][rep] = warm_sample(run, bench_peers[id].move[direction], runs[id]);
        }
    return rep;
}

static int measure_cold(turns *t, bench_run *run, pw_direction direction, const bench_options *options)
{
    int most = options->quick ? 1 : MAX_REPS, rep = 0;
    double until = bench_now() + options->seconds * cold_part * 1e9;
    take_part(t, run, true);
    for (; rep < most && (rep < LEAST_COLD || bench_now() < until); rep++)
        for (int i = 0; i < t->n; i++) {
            bench_peer_id id = t->ids[(i + rep) % t->n];
            t->samples[id][rep] = cold_sample(run, bench_peers[id].move[direction]);
        }
    return rep;
}

void bench_measure(bench_run *run, pw_direction direction, const bench_options *options, bench_times *out)
{
    turns t;
    memset(out, 0, sizeof *out);
    out->reps = measure_warm(&t, run, direction, options);
    medians(&t, out->reps, out->median);
    if (!options->warm)
        medians(&t, measure_cold(&t, run, direction, options), out->cold);
}
