/*
 * Peers that do the same in different ways take turns in short batches, so that whatever else the machine does falls on
 * all of them alike. Every order of the peers is as likely as any other, since the first exchange of a batch pays for
 * what the peer before has left in the caches and in the MPI's queues.
 */
#ifndef PW_BENCH_TURNS_H
#define PW_BENCH_TURNS_H

#include <mpi.h>
#include <stdbool.h>

enum { BENCH_MOST_PEERS = 8, BENCH_MOST_ROUNDS = 2000 };

typedef struct bench_turns {
    MPI_Comm comm;
    int peers;
    bool takes_part[BENCH_MOST_PEERS]; /* the same on all ranks */
    int even[2];                       /* two peers that make as many uses in a batch if they are about as fast */
    double idle_ns;                    /* what a use takes beyond the time that `batch` returns */
    double seconds;                    /* for all batches */
    bool quick;                        /* two rounds of one use */
    /* Makes so many uses, with a barrier before them; returns the nanoseconds that one of them took. */
    double (*batch)(void *context, int peer, int times);
    void *context;
} bench_turns;

/* samples[peer][round]; 0 for a peer that takes no part. */
typedef double bench_samples[BENCH_MOST_PEERS][BENCH_MOST_ROUNDS];

/* Returns rank 0's value; collective. */
int bench_agree(MPI_Comm comm, int value);
/* Collective. Returns the number of rounds, at least one. The samples of each rank are its own. */
int bench_turns_take(const bench_turns *t, bench_samples *samples);
/* Writes, sorted, how many times as long as the other the peer took in each round. */
void bench_turns_ratios(const bench_samples *samples, int rounds, int peer, int other,
                        double ratios[BENCH_MOST_ROUNDS]);

#endif
