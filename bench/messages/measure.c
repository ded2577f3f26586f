#include "bench/messages/measure.h"

#include "base/samples.h"
#include "bench/clock.h"
#include "bench/turns.h"

enum { WARM_UP = 64 /* exchanges at least */ };

/* Long messages over a slow network warm up for so many times the time that others have. */
enum { LONGEST_WARM_UP = 16 };

/* What is measured. */
typedef struct subject {
    msg_mode mode;
    const msg_world *world;
    const msg_buffers *buffers;
} subject;

static double batch(void *context, int peer, int times)
{
    const subject *s = context;

    PMPI_Barrier(s->world->all);
    return msg_exchange(s->mode, (msg_peer)peer, s->world, s->buffers, times) / times;
}

/* Until kernels are there, if they come, and choices that are in doubt have been tried both ways. */
static void warm_up(const subject *s, double seconds)
{
    double until = bench_now() + seconds * 1e9;
    double latest = bench_now() + LONGEST_WARM_UP * seconds * 1e9;
    int times = 0;

    do
        msg_exchange(s->mode, MSG_OURS, s->world, s->buffers, 4);
    while (bench_agree(s->world->all, (times += 4) < WARM_UP ? bench_now() < latest : bench_now() < until));
}

/* The median over the rounds of how many times as long as the other the peer takes. */
static double paired(const bench_samples *samples, int rounds, msg_peer peer, msg_peer other)
{
    double ratios[BENCH_MOST_ROUNDS];

    bench_turns_ratios(samples, rounds, peer, other, ratios);
    return pw_samples_median(ratios, rounds);
}

/* Sorts the samples. */
static msg_times summary(bench_samples *samples, int rounds, double unit)
{
    msg_times t = {.rounds = rounds,
                   .paired = paired(samples, rounds, MSG_NATIVE, MSG_OURS),
                   .by_hand = paired(samples, rounds, MSG_HAND, MSG_OURS)};

    for (int peer = 0; peer < MSG_PEERS; peer++)
        t.by_plain[peer] = paired(samples, rounds, (msg_peer)peer, MSG_PLAIN);
    for (int peer = 0; peer < MSG_PEERS; peer++) {
        t.median[peer] = pw_samples_median((*samples)[peer], rounds) / unit;
        t.min[peer] = (*samples)[peer][0] / unit;
    }
    return t;
}

static msg_times take_turns(subject *s, double seconds, bool quick)
{
    static bench_samples samples;
    bench_turns turns = {.comm = s->world->all,
                         .peers = MSG_PEERS,
                         .even = {MSG_NATIVE, MSG_OURS},
                         .idle_ns = s->mode == MSG_OVERLAP ? s->buffers->compute_ns : 0,
                         .seconds = seconds,
                         .quick = quick,
                         .batch = batch,
                         .context = s};

    _Static_assert((int)MSG_PEERS <= (int)BENCH_MOST_PEERS, "all peers take turns");
    for (int peer = 0; peer < MSG_PEERS; peer++)
        turns.takes_part[peer] = msg_peer_can((msg_peer)peer, s->mode, s->world, s->buffers->parcel);
    if (!quick)
        warm_up(s, seconds / 8);
    return summary(&samples, bench_turns_take(&turns, &samples), msg_mode_returns(s->mode) ? 2000 : 1000);
}

/* The sender of `overlap` computes twice as long as the native message takes it. */
static double length_of_compute(const msg_world *w, msg_buffers *b)
{
    subject s = {MSG_OVERLAP, w, b};
    double least = 1e30;

    b->compute_ns = 0;
    for (int i = 0; i < 4; i++) {
        double t = batch(&s, MSG_NATIVE, 1);

        least = t < least ? t : least;
    }
    return 2 * least;
}

msg_times msg_measure(msg_mode mode, const msg_world *w, msg_buffers *b, double seconds, bool quick)
{
    subject s = {mode, w, b};
    double before = msg_stores(w);
    msg_times t;

    if (mode == MSG_OVERLAP)
        b->compute_ns = length_of_compute(w, b);
    t = take_turns(&s, seconds, quick);

    t.stores[0] = before;
    t.stores[1] = msg_stores(w);
    return t;
}
