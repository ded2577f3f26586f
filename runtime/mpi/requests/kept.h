/*
 * Deferred sends that are over, kept for the next such send: with the request that MPI starts and the staging buffer,
 * or the stand-in of a shown one, that it sends. Programs send the same messages again and again, and then MPI makes
 * and frees no request for each, and nothing is chosen or opened. At most one send is kept for a communicator, a
 * destination and a tag, and of all at most PW_KEPT_SLOTS; a later one takes the place of an earlier one.
 *
 * Thread safe. The program's communicators end when it frees them: what is kept of them goes before that.
 */
#ifndef PW_RUNTIME_KEPT_H
#define PW_RUNTIME_KEPT_H

#include "runtime/mpi/requests/pending.h"

enum { PW_KEPT_SLOTS = 128, PW_KEPT_BYTES = 64 << 10 /* the longest that is kept packed; a stand-in has no memory */ };

typedef int pw_kept_init(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                         MPI_Request *request, bool large);

/* What makes a send like another one, and the operation. */
typedef struct pw_kept {
    pw_kept_init *init; /* made its request */
    MPI_Comm comm;
    int peer, tag;
    const struct pw_layout *layout; /* to which the operation has a reference; NULL: `size` bytes from `offset` on */
    int64_t size, offset, count;    /* of one object; objects */
    pw_pending *pending;
} pw_kept;

/* Returns the kept send that is like this one, which is no longer kept then. NULL: there is none. */
pw_kept *pw_kept_take(const pw_kept *like);
/* Keeps a send whose operation is over. */
void pw_kept_put(pw_kept *k);
/* Frees the request of a send that is not kept, and destroys its operation. */
void pw_kept_drop(pw_kept *k);
/* Drops all that are kept of a communicator; of MPI_COMM_NULL: of any. */
void pw_kept_forget(MPI_Comm comm);

#endif
