/*
 * Blocks of collectives that the receiver reads from the sender's memory over a network, piece by piece, straight to
 * where they belong: neither side packs (PACKWRIGHT_NET). The pieces are what layout-aware hardware-assisted transfers
 * (LAH) give a network card as scatter and gather lists.
 *
 * It serves the blocking MPI_Alltoallv, MPI_Alltoallw and their neighbourhood forms on intracommunicators, whose ranks
 * agree at the first such call on a communicator whether all of them have a network, and from how many bytes on
 * reading may gain: the largest number of all ranks, as their models say. From then on, the two ranks of each block of
 * so many bytes, which both know, tell each other in each call whether they are ready: the sender offers its memory and
 * its layout, which are sent again only when they have changed, and the receiver answers. Where both are ready, MPI
 * gets the call without the block, and the receiver says when it has read. All other blocks are MPI's as ever. A read
 * that fails is an error of the call.
 *
 * A rank is ready if its block lies in host memory and reading it in its pieces is the cheapest strategy.
 */
#ifndef PW_RUNTIME_COLLECTIVE_REMOTE_H
#define PW_RUNTIME_COLLECTIVE_REMOTE_H

#include "runtime/mpi/collective/collective.h"

/* The strategy that is carried out here. */
static const pw_strategy_id pw_remote_strategy = PW_STRATEGY_REMOTE;

/* Whether PACKWRIGHT_NET asks for it; written at start. */
extern bool pw_remote_on;

static inline bool pw_remote_serves(pw_collective_family family, pw_side_form form)
{
    return pw_remote_on && (family == PW_ALLTOALL || family == PW_NEIGHBOUR_ALLTOALL) && form >= PW_SIDE_VARYING;
}

typedef struct pw_remote pw_remote; /* what is kept of a communicator */
typedef struct pw_remote_group pw_remote_group;

/* A call from open to close. Plain data. */
typedef struct pw_remote_call {
    pw_remote *remote;
    pw_remote_group *group; /* the blocks of which the ranks talk */
    pw_collective *call;
    void *counts; /* memory for the counts that MPI gets */
    int64_t bytes;
    bool ready; /* this rank may be ready for blocks; false: all go by MPI */
    bool rests; /* blocks that MPI keeps are not talked of in each call */
} pw_remote_call;

/* To be called by all ranks for each call that is served, when pw_collective_check knows the communicator. The first
 * time the ranks agree. */
void pw_remote_agree(pw_remote_call *r, pw_collective *c);
/* Takes blocks out of the call, and begins to read those that come. `sound`: blocks may leave MPI's call. To be called
 * unless the arguments have an error. */
void pw_remote_open(pw_remote_call *r, bool sound);
/* Returns when the blocks have come, and those that go have been read. */
pw_status pw_remote_close(pw_remote_call *r);

/* For `packwright measure`: the transports (pw_net_transports) by which ranks of a communicator have agreed to read
 * blocks from their neighbours. NULL: they have not, or on none. */
__attribute__((visibility("default"))) const char *packwright_network_of(MPI_Comm comm);

/* Reads PACKWRIGHT_NET. */
void pw_remote_start(void);
/* Forgets all communicators, while MPI still works. */
void pw_remote_leave(void);

#endif
