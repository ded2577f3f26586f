/*
 * Blocks of collectives that the receiver reads from the sender's memory, straight to where they belong, without MPI:
 * neither side packs. They go over a network, piece by piece (PACKWRIGHT_NET), or between GPUs of a node (below). The
 * pieces are what layout-aware hardware-assisted transfers (LAH) give a network card as scatter and gather lists.
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
 *
 * Persistent calls do the same once, when the request is made: making it may wait for all ranks (MPI 4.0 section
 * 6.13). Agreed blocks are then read in each start, without further questions: the sender says that its memory may be
 * read, and the receiver that it has read it. What goes on between start and completion needs somebody who makes it go
 * on, also while the program is in a call of MPI that knows nothing of it: a thread (remote_thread.c).
 *
 * Without PACKWRIGHT_NET, where all ranks have Packwright and some rank of the world has a GPU, the ranks of a
 * communicator agree in the same way whether all of them use GPUs. Then the two ranks of each block in GPU memory talk
 * in memory that they share (remote_near.c), and one launch reads what comes in a call. Persistent calls are MPI's.
 */
#ifndef PW_RUNTIME_COLLECTIVE_REMOTE_H
#define PW_RUNTIME_COLLECTIVE_REMOTE_H

#include "runtime/mpi/collective/collective.h"

/* The strategy that is carried out here. */
static const pw_strategy_id pw_remote_strategy = PW_STRATEGY_REMOTE;

/* The blocks of one kind of blocking calls on a communicator, or of a persistent request. */
typedef struct pw_remote_request pw_remote_request;
/* Stands for those of which no rank talks. */
extern PW_HIDDEN pw_remote_request pw_remote_none;

/* How blocks go without MPI in this process (remote_slot.h): over a network, or between GPUs. NULL: not at all, and no
 * rank talks of blocks. Written at start. */
typedef struct pw_transport pw_transport;
extern PW_HIDDEN const pw_transport *pw_remote_transport;

/* MPIs may match the blocks of calls of each kind in another way. */
static inline int pw_remote_kind(pw_collective_family family, pw_side_form form)
{
    return 2 * (family == PW_NEIGHBOUR_ALLTOALL) + (form == PW_SIDE_TYPED);
}

static inline bool pw_remote_serves(pw_collective_family family, pw_side_form form, MPI_Comm comm)
{
    const pw_communicator *known;

    if (PW_LIKELY(!pw_remote_transport) || (family != PW_ALLTOALL && family != PW_NEIGHBOUR_ALLTOALL) ||
        form < PW_SIDE_VARYING)
        return false;
    known = pw_communicator_peek(comm);
    return !known || known->remote[pw_remote_kind(family, form)] != &pw_remote_none;
}

/* To be called by all ranks for each call that is served, when pw_collective_check knows the communicator. The first
 * time the ranks agree. NULL: the ranks talk of no blocks. */
pw_remote_request *pw_remote_agree(const pw_collective *c);
/* Finds out of which of these blocks both ranks agree, and takes them out of the call, if it is persistent for good.
 * `sound`: blocks may leave MPI's call. NULL: none is taken out. */
pw_remote_request *pw_remote_open(pw_remote_request *blocks, pw_collective *c, pw_collective_verdict verdict,
                                  bool sound);
/* Begins to move the blocks. To be called once, or in each start. */
void pw_remote_start_blocks(pw_remote_request *q);
/* Lets the blocks and MPI go on. Returns whether those of the latest start are moved; true before the first. */
bool pw_remote_is_over(pw_remote_request *q);
/* Waits until they are. */
pw_status pw_remote_wait(pw_remote_request *q);
/* The call is over, or the persistent request is freed. */
void pw_remote_close(pw_remote_request *q);

/* For `packwright measure`: the transports (pw_net_transports) by which ranks of a communicator have agreed to read
 * blocks from their neighbours. NULL: they have not, or on none. */
__attribute__((visibility("default"))) const char *packwright_network_of(MPI_Comm comm);

/* Reads PACKWRIGHT_NET. */
void pw_remote_start(void);
/* To be called by all ranks of a world that has started. */
void pw_remote_look_for_gpus(void);
/* Lets go what is kept of all communicators, while MPI and the network work: before pw_communicator_leave. */
void pw_remote_leave(void);
/* Frees what is kept of a communicator. */
void pw_remote_forget(pw_communicator *group);

#endif
