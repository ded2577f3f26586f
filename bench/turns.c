#include "bench/turns.h"

#include "base/samples.h"
#include "bench/clock.h"
#include "bench/lockstep.h"

#include <math.h>
#include <stdint.h>

enum { LEAST_ROUNDS = 5, MAX_TIMES = 64 };

/* A batch is short enough for many of them to see no other process on either core. */
static const double batch_ns = 100e3;

int bench_agree(MPI_Comm comm, int value)
{
    PMPI_Bcast(&value, 1, MPI_INT, 0, comm);
    return value;
}

static int times_of(const bench_turns *t, int peer)
{
    double best = 1e30, times;

    for (int i = 0; i < 4; i++) {
        double ns = t->batch(t->context, peer, 1);

        best = ns < best ? ns : best;
    }
    times = batch_ns / (best + t->idle_ns);
    return bench_agree(t->comm, times < 1 ? 1 : times > MAX_TIMES ? MAX_TIMES : (int)times);
}

static void level(int *a, int *b)
{
    if (*a <= 2 * *b && *b <= 2 * *a)
        *a = *b = *a < *b ? *a : *b;
}

/* All ranks get the same order. */
static void shuffle(int *order, int n, uint32_t *state)
{
    for (int i = n - 1; i > 0; i--) {
        int last = order[i], j;

        *state = *state * 1664525 + 1013904223;
        j = (int)((*state >> 16) % (uint32_t)(i + 1));
        order[i] = order[j];
        order[j] = last;
    }
}

/* Returns how many rounds all jobs in lock step make. */
static int agreed_rounds(const bench_turns *t, const int *times)
{
    double ns = 1, rounds;

    for (int peer = 0; peer < t->peers; peer++)
        ns += t->takes_part[peer] ? t->batch(t->context, peer, times[peer]) * times[peer] : 0;
    rounds = t->quick ? 2 : t->seconds * 1e9 / ns;
    rounds = fmin(fmax(rounds, LEAST_ROUNDS), BENCH_MOST_ROUNDS);
    return bench_lockstep_agree(t->comm, (int)rounds);
}

/* Makes the batch of a round. In lock step, other jobs have had the caches since the last one. */
static double sample(const bench_turns *t, int peer, int times)
{
    if (bench_lockstep_is_on())
        t->batch(t->context, peer, times > 8 ? 4 : 1);
    return t->batch(t->context, peer, times);
}

/* `agreed`: the rounds of jobs in lock step; 0: this is none. */
static bool goes_on(const bench_turns *t, int rounds, int agreed, double until)
{
    if (agreed > 0)
        return rounds < agreed;
    if (t->quick)
        return rounds < 2;
    return rounds < BENCH_MOST_ROUNDS && (rounds < LEAST_ROUNDS || bench_now() < until);
}

int bench_turns_take(const bench_turns *t, bench_samples *samples)
{
    int order[BENCH_MOST_PEERS], times[BENCH_MOST_PEERS], rounds = 0, agreed = 0;
    uint32_t state = 1;
    double until;

    for (int peer = 0; peer < t->peers; peer++) {
        order[peer] = peer;
        times[peer] = t->takes_part[peer] && !t->quick ? times_of(t, peer) : 1;
    }
    level(&times[t->even[0]], &times[t->even[1]]);
    if (bench_lockstep_is_on()) {
        agreed = agreed_rounds(t, times);
        bench_lockstep_yield(t->comm);
    }
    until = bench_now() + t->seconds * 1e9;
    do {
        shuffle(order, t->peers, &state);
        for (int i = 0; i < t->peers; i++) {
            int peer = order[i];

            (*samples)[peer][rounds] = t->takes_part[peer] ? sample(t, peer, times[peer]) : 0;
        }
        rounds++;
        if (agreed > 0)
            bench_lockstep_yield(t->comm);
    } while (bench_agree(t->comm, goes_on(t, rounds, agreed, until)));
    return rounds;
}

void bench_turns_ratios(const bench_samples *samples, int rounds, int peer, int other, double ratios[BENCH_MOST_ROUNDS])
{
    for (int i = 0; i < rounds; i++)
        ratios[i] = (*samples)[peer][i] / (*samples)[other][i];
    pw_samples_sort(ratios, rounds);
}
