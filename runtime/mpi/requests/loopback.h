/*
 * Messages in GPU memory that a process sends to itself. MPI knows no better than to copy them through host memory, or
 * block by block. Both buffers are at hand, so one move takes the message from the sender's memory to the receiver's
 * (runtime/engine/move), and MPI gets an empty message in its place, which it matches and completes as ever.
 *
 * For that, the send must know which receive MPI is going to match it with. MPI matches messages of one process in the
 * order of the calls, so this file follows the calls of each *channel*, a communicator and a tag: the receives that are
 * open, and the sends that wait for one. It does so only where nothing else can interfere. A communicator is *lost* for
 * good after a call whose match is not told by the order of the calls, or that is not followed: a receive from
 * MPI_ANY_SOURCE or with MPI_ANY_TAG, a matched probe, a message to oneself in host memory, a cancelled receive, an
 * error. Its messages then take the other ways, as do all in programs with MPI_THREAD_MULTIPLE.
 *
 * Calls are not followed before the CUDA driver is in use. So a channel begins only if no message waits there, and with
 * evidence: the first message goes the other way, and if it completes the receive that it should while no other message
 * was sent, no receive from before was open, and later ones may be moved.
 *
 * A message is moved only if its receive is open: an empty message never waits for a receive that does not know of it.
 * A receive that is left to MPI loses its communicator, so it is left only if no way can stage it (PW_IF_FOLLOWED).
 */
#ifndef PW_RUNTIME_LOOPBACK_H
#define PW_RUNTIME_LOOPBACK_H

#include "runtime/engine/move/move.h"
#include "runtime/mpi/mpi_compat.h"
#include "runtime/mpi/strategy/staging.h"

/* A message that is moved. The send and the receive have a share each. */
typedef struct pw_loopback_move {
    pw_move move;
    MPI_Comm comm;
    const struct pw_entry *from; /* as pw_loopback_receive.entry, of the type that is sent */
    pw_status status;
    int shares;
    bool over;
    bool withdrawn; /* MPI has not got the empty message, and the receive takes its message from MPI */
} pw_loopback_move;

/* A receive from this process. Lies in memory of its operation; all zero: it is not followed. */
typedef struct pw_loopback_receive {
    struct pw_loopback_channel *channel; /* in which it is open, or evidence; NULL: neither */
    struct pw_loopback_receive *next;    /* of those that are open */
    const pw_staging *in;
    const struct pw_entry *entry; /* of its type; only for statistics, with which entries outlive their types */
    pw_loopback_move *move;       /* brings the message; NULL: MPI does */
} pw_loopback_receive;

/* Set when anything is known of any communicator. */
extern _Atomic bool pw_loopback_known;

static inline bool pw_loopback_knows(void)
{
    return atomic_load_explicit(&pw_loopback_known, memory_order_relaxed);
}

/* The slow part of pw_loopback_is. */
bool pw_loopback_is_self(MPI_Comm comm, int peer);

/* Whether `peer` is this process, the CUDA driver is in use, and the communicator is not lost. */
static inline bool pw_loopback_is(MPI_Comm comm, int peer)
{
    return atomic_load_explicit(&pw_memory_now, memory_order_relaxed) == PW_MEMORY_ASK_CUDA && peer >= 0 &&
           pw_loopback_is_self(comm, peer);
}

/* A call that is not followed may have to do with messages from this process, or to it: the communicator is lost if it
 * has. MPI_ANY_SOURCE is a peer, too. */
void pw_loopback_miss(MPI_Comm comm, int peer);
/* The same of all starts of a persistent operation, which may come when the CUDA driver is in use, if it is not yet. */
void pw_loopback_miss_starts(MPI_Comm comm, int peer);
/* The communicator is lost. */
void pw_loopback_lose(MPI_Comm comm);
/* Forgets a communicator that the program frees. */
void pw_loopback_forget(MPI_Comm comm);

/* MPI has got a receive from this process with this tag, which is staged in r->in until it completes. */
void pw_loopback_post(pw_loopback_receive *r, MPI_Comm comm, int tag);
/* The slow part of pw_loopback_done. */
void pw_loopback_end(pw_loopback_receive *r, bool well);

/* The receive has completed: `well` if a message has come. Does nothing if it is not followed. */
static inline void pw_loopback_done(pw_loopback_receive *r, bool well)
{
    if (r->channel || r->move)
        pw_loopback_end(r, well);
}

/* MPI is about to get a message to this process. If the result is not NULL, the move has begun and MPI must get an
 * empty message. The caller has a share in the move then. `out` NULL: the message is not to be moved. */
pw_loopback_move *pw_loopback_send(MPI_Comm comm, int tag, const pw_message *out);

/* Waits until the message is there. */
pw_status pw_loopback_finish(pw_loopback_move *m);
/* Gives a share back, and returns what pw_loopback_finish does. Unless MPI has got the empty message (`sent`), the move
 * is withdrawn, and its communicator is lost. NULL is allowed. */
pw_status pw_loopback_give(pw_loopback_move *m, bool sent);

#endif
