/*
 * Blocks of collectives that the receiver reads from the sender's memory over a network, piece by piece, straight to
 * where they belong: neither side packs (PACKWRIGHT_NET). The pieces are what layout-aware hardware-assisted transfers
 * (LAH) give a network card as scatter and gather lists.
 *
 * It serves the blocking MPI_Alltoallv, MPI_Alltoallw and their neighbourhood forms on intracommunicators, whose ranks
 * agree at the first such call on a communicator whether all of them have a network. From then on, the two ranks of
 * each block of at least PW_REMOTE_LEAST bytes, of which both know the number of bytes, tell each other in each call
 * whether they are ready: the sender offers its memory and its layout, which are sent again only when they have
 * changed, and the receiver answers. Where both are ready, MPI gets the call without the block, and the receiver says
 * when it has read. All other blocks are MPI's as ever. A read that fails is an error of the call.
 *
 * A rank is ready if its block lies in host memory in pieces of at least PW_REMOTE_PIECE bytes on average.
 *
 * Persistent calls do the same once, when the request is made: making it may wait for all ranks (MPI 4.0 section
 * 6.13). Agreed blocks are then read in each start, without further questions: the sender says that its memory may be
 * read, and the receiver that it has read it. What goes on between start and completion needs somebody who makes it go
 * on, also while the program is in a call of MPI that knows nothing of it: a thread (remote_thread.c).
 */
#ifndef PW_RUNTIME_COLLECTIVE_REMOTE_H
#define PW_RUNTIME_COLLECTIVE_REMOTE_H

#include "runtime/mpi/collective/collective.h"

/* Read on one node, pieces of 16 KiB gain and pieces of 4 KiB lose (docs/results/2026-11-23-remote.md). */
enum { PW_REMOTE_LEAST = 256 << 10, PW_REMOTE_PIECE = 16 << 10 };

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
    uint32_t id;            /* of the persistent request that is made; 0: none is */
    pw_collective *call;
    void *counts; /* memory for the counts that MPI gets */
    int64_t bytes;
    bool ready; /* this rank may be ready for blocks; false: all go by MPI */
} pw_remote_call;

/* To be called by all ranks for each call that is served, when pw_collective_check knows the communicator. The first
 * time the ranks agree. */
void pw_remote_agree(pw_remote_call *r, pw_collective *c);
/* Takes blocks out of the call, and begins to read those that come. `sound`: blocks may leave MPI's call. To be called
 * unless the arguments have an error. */
void pw_remote_open(pw_remote_call *r, bool sound);
/* Returns when the blocks have come, and those that go have been read. */
pw_status pw_remote_close(pw_remote_call *r);

/* ---- persistent calls -------------------------------------------------------------------------------------------- */

typedef struct pw_remote_request pw_remote_request;

/* In place of pw_remote_open: takes blocks out of the call for good. NULL: there are none. */
pw_remote_request *pw_remote_request_open(pw_remote_call *r, bool sound);
/* Begins to move the blocks. To be called in each start. */
void pw_remote_request_start(pw_remote_request *q);
/* Lets the request and MPI go on. Returns whether the blocks of the latest start are moved; true before the first. */
bool pw_remote_request_is_over(pw_remote_request *q);
/* Waits until they are. */
pw_status pw_remote_request_wait(pw_remote_request *q);
/* The request is freed, and is over. NULL is allowed. */
void pw_remote_request_close(pw_remote_request *q);

/* Reads PACKWRIGHT_NET. */
void pw_remote_start(void);
/* Forgets all communicators, while MPI still works. */
void pw_remote_leave(void);

#endif
