#include "bench/messages/measure.h"

#include "bench/clock.h"

#include <stdlib.h>

enum { MAX_ROUNDS = 2000, LEAST_ROUNDS = 5, MAX_TIMES = 64 };

/* A batch is short enough for many of them to see no other process on either core. */
static const double batch_ns = 100e3;

static double batch(msg_mode mode, msg_peer peer, const msg_world *w, const msg_buffers *b, int times)
{
    double begin;

    PMPI_Barrier(w->all);
    begin = bench_now();
    msg_exchange(mode, peer, w, b, times);
    return (bench_now() - begin) / times;
}

/* As rank 0 says. */
static int agree(const msg_world *w, int value)
{
    PMPI_Bcast(&value, 1, MPI_INT, 0, w->all);
    return value;
}

static int times_of(msg_mode mode, msg_peer peer, const msg_world *w, const msg_buffers *b)
{
    double best = 1e30, times;

    for (int i = 0; i < 4; i++) {
        double t = batch(mode, peer, w, b, 1);

        best = t < best ? t : best;
    }
    times = batch_ns / best;
    return agree(w, times < 1 ? 1 : times > MAX_TIMES ? MAX_TIMES : (int)times);
}

/* The first exchange of a batch pays for what the peer before has left in the caches and in the MPI's queues: peers of
 * about the same speed make as many. */
static void level(int *times)
{
    int *a = &times[MSG_NATIVE], *b = &times[MSG_OURS];

    if (*a <= 2 * *b && *b <= 2 * *a)
        *a = *b = *a < *b ? *a : *b;
}

/* The i-th of a round: each peer comes after each other one, and first, equally often. */
static msg_peer turn(int round, int i)
{
    int step = round % 2 ? 1 : MSG_PEERS - 1;

    return (msg_peer)((round / 2 + i * step) % MSG_PEERS);
}

/* Until kernels are there, if they come. */
static void warm_up(msg_mode mode, const msg_world *w, const msg_buffers *b, double seconds)
{
    double until = bench_now() + seconds * 1e9;

    do
        msg_exchange(mode, MSG_OURS, w, b, 4);
    while (agree(w, bench_now() < until));
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *values, int n)
{
    qsort(values, (size_t)n, sizeof *values, by_value);
    return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

static msg_times summary(double (*samples)[MAX_ROUNDS], int rounds, double unit)
{
    msg_times t = {.rounds = rounds};
    double ratios[MAX_ROUNDS];

    for (int i = 0; i < rounds; i++)
        ratios[i] = samples[MSG_NATIVE][i] / samples[MSG_OURS][i];
    t.paired = median(ratios, rounds);
    for (int peer = 0; peer < MSG_PEERS; peer++) {
        t.median[peer] = median(samples[peer], rounds) / unit;
        t.min[peer] = samples[peer][0] / unit;
    }
    return t;
}

msg_times msg_measure(msg_mode mode, const msg_world *w, const msg_buffers *b, double seconds, bool quick)
{
    static double samples[MSG_PEERS][MAX_ROUNDS];
    double until;
    int times[MSG_PEERS] = {1, 1, 1}, rounds = 0;

    if (!quick)
        warm_up(mode, w, b, seconds / 8);
    for (int peer = 0; peer < MSG_PEERS && !quick; peer++)
        times[peer] = times_of(mode, (msg_peer)peer, w, b);
    level(times);
    until = bench_now() + seconds * 1e9;
    do {
        for (int i = 0; i < MSG_PEERS; i++) {
            msg_peer peer = turn(rounds, i);

            samples[peer][rounds] = batch(mode, peer, w, b, times[peer]);
        }
        rounds++;
    } while (agree(w, quick ? rounds < 2 : rounds < MAX_ROUNDS && (rounds < LEAST_ROUNDS || bench_now() < until)));
    return summary(samples, rounds, mode == MSG_PING_PONG ? 2000 : 1000);
}
