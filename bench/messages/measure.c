#include "bench/messages/measure.h"

#include "base/samples.h"
#include "bench/clock.h"

#include <stdlib.h>

enum { MAX_ROUNDS = 2000, LEAST_ROUNDS = 5, MAX_TIMES = 64, WARM_UP = 64 /* exchanges at least */ };

/* Long messages over a slow network warm up for so many times the time that others have. */
enum { LONGEST_WARM_UP = 16 };

/* A batch is short enough for many of them to see no other process on either core. */
static const double batch_ns = 100e3;

static double batch(msg_mode mode, msg_peer peer, const msg_world *w, const msg_buffers *b, int times)
{
    PMPI_Barrier(w->all);
    return msg_exchange(mode, peer, w, b, times) / times;
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
    times = batch_ns / (best + (mode == MSG_OVERLAP ? b->compute_ns : 0));
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

/* Every order of the peers is as likely as any other, and all ranks have the same. */
static void shuffle(msg_peer *order, uint32_t *state)
{
    for (int i = MSG_PEERS - 1; i > 0; i--) {
        msg_peer last = order[i];
        int j;

        *state = *state * 1664525 + 1013904223;
        j = (int)((*state >> 16) % (uint32_t)(i + 1));
        order[i] = order[j];
        order[j] = last;
    }
}

/* Until kernels are there, if they come, and choices that are in doubt have been tried both ways. */
static void warm_up(msg_mode mode, const msg_world *w, const msg_buffers *b, double seconds)
{
    double until = bench_now() + seconds * 1e9;
    double latest = bench_now() + LONGEST_WARM_UP * seconds * 1e9;
    int times = 0;

    do
        msg_exchange(mode, MSG_OURS, w, b, 4);
    while (agree(w, (times += 4) < WARM_UP ? bench_now() < latest : bench_now() < until));
}

/* The median over the rounds of how many times as long as the other the peer takes. */
static double paired(double (*samples)[MAX_ROUNDS], int rounds, msg_peer peer, msg_peer other)
{
    double ratios[MAX_ROUNDS];

    for (int i = 0; i < rounds; i++)
        ratios[i] = samples[peer][i] / samples[other][i];
    return pw_samples_median(ratios, rounds);
}

/* Sorts the samples. */
static msg_times summary(double (*samples)[MAX_ROUNDS], int rounds, double unit)
{
    msg_times t = {.rounds = rounds,
                   .paired = paired(samples, rounds, MSG_NATIVE, MSG_OURS),
                   .by_hand = paired(samples, rounds, MSG_HAND, MSG_OURS)};

    for (int peer = 0; peer < MSG_PEERS; peer++)
        t.by_plain[peer] = paired(samples, rounds, (msg_peer)peer, MSG_PLAIN);
    for (int peer = 0; peer < MSG_PEERS; peer++) {
        t.median[peer] = pw_samples_median(samples[peer], rounds) / unit;
        t.min[peer] = samples[peer][0] / unit;
    }
    return t;
}

static msg_times take_turns(msg_mode mode, const msg_world *w, const msg_buffers *b, double seconds, bool quick)
{
    static double samples[MSG_PEERS][MAX_ROUNDS];
    msg_peer order[MSG_PEERS] = {MSG_NATIVE, MSG_OURS,   MSG_HAND,     MSG_PLAIN,
                                 MSG_MOVED,  MSG_PACKED, MSG_PIPELINE, MSG_DIRECT};
    int times[MSG_PEERS] = {1, 1, 1, 1, 1, 1, 1, 1}, rounds = 0;
    uint32_t state = 1;
    double until;

    if (!quick)
        warm_up(mode, w, b, seconds / 8);
    for (int peer = 0; peer < MSG_PEERS && !quick; peer++)
        if (msg_peer_can((msg_peer)peer, mode, w, b->parcel))
            times[peer] = times_of(mode, (msg_peer)peer, w, b);
    level(times);
    until = bench_now() + seconds * 1e9;
    do {
        shuffle(order, &state);
        for (int i = 0; i < MSG_PEERS; i++) {
            msg_peer peer = order[i];
            bool can = msg_peer_can(peer, mode, w, b->parcel);

            samples[peer][rounds] = can ? batch(mode, peer, w, b, times[peer]) : 0;
        }
        rounds++;
    } while (agree(w, quick ? rounds < 2 : rounds < MAX_ROUNDS && (rounds < LEAST_ROUNDS || bench_now() < until)));
    return summary(samples, rounds, msg_mode_returns(mode) ? 2000 : 1000);
}

/* The sender of `overlap` computes twice as long as the native message takes it. */
static double length_of_compute(const msg_world *w, msg_buffers *b)
{
    double least = 1e30;

    b->compute_ns = 0;
    for (int i = 0; i < 4; i++) {
        double t = batch(MSG_OVERLAP, MSG_NATIVE, w, b, 1);

        least = t < least ? t : least;
    }
    return 2 * least;
}

msg_times msg_measure(msg_mode mode, const msg_world *w, msg_buffers *b, double seconds, bool quick)
{
    double before = msg_stores(w);
    msg_times t;

    if (mode == MSG_OVERLAP)
        b->compute_ns = length_of_compute(w, b);
    t = take_turns(mode, w, b, seconds, quick);

    t.stores[0] = before;
    t.stores[1] = msg_stores(w);
    return t;
}
