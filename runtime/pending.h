/*
 * Operations under way for which something is left to do when they complete: unpack what has arrived, give staging
 * memory back. The user holds MPI's real request; what we know of it lies here, by handle.
 *
 * A pending operation is a struct with a pw_pending as first member, made by the call that starts it and destroyed by
 * pw_pending_ops.destroy, which is called exactly once: when the operation has completed (persistent ones: when the
 * request has been freed). Between, it belongs to this table.
 *
 * Handles are no unique keys: MPIs give one shared, already complete request for operations that were done at once.
 * Several pending operations may hence have the same handle, and any of them is as good as another then.
 *
 * The completing calls (hooks_complete.c) claim the operations of their requests, call MPI, and settle or unclaim each.
 * While claimed, an operation is invisible to other threads, so a handle that MPI reuses is never taken for the old
 * request. An MPI_Request_free of an unfinished operation leaves it here as an orphan, with MPI's request kept alive;
 * it is settled by a later call on this thread's way through any hook, at the latest in MPI_Finalize.
 *
 * Thread safe: operations are spread over buckets with a lock each, held for a few instructions.
 */
#ifndef PW_RUNTIME_PENDING_H
#define PW_RUNTIME_PENDING_H

#include "runtime/mpi_compat.h"

#include <stdatomic.h>

typedef struct pw_pending pw_pending;

typedef struct pw_pending_ops {
    /* Persistent operations, before MPI starts them: pack. An MPI error code. NULL: nothing to do. */
    int (*start)(pw_pending *p);
    /* The operation has completed without error and was not cancelled; `status` is MPI's, never one of the ignore
     * constants. An MPI error code. NULL: nothing to do. */
    int (*complete)(pw_pending *p, const MPI_Status *status);
    void (*destroy)(pw_pending *p);
} pw_pending_ops;

struct pw_pending {
    const pw_pending_ops *ops;
    MPI_Comm comm; /* whose error handler hears of failures in start and complete; MPI_COMM_NULL: MPI_COMM_SELF's */
    bool persistent;
    /* Of the table: */
    bool active;  /* persistent: started and not completed */
    bool settled; /* complete has run, but the request lives on (MPI_Request_get_status) */
    bool claimed;
    uint64_t key;
    pw_pending *next;
};

/*
 * Operations in the table, plus one until the next functions are known: while it is zero, wrappers of completing calls
 * go straight to MPI.
 */
extern _Atomic int64_t pw_pending_live;

static inline bool pw_pending_any(void)
{
    return atomic_load_explicit(&pw_pending_live, memory_order_relaxed) != 0;
}

/* Hands an operation to the table, after MPI has returned its request: an operation on a request that no other
 * thread can know yet. Never fails. */
void pw_pending_track(MPI_Request request, pw_pending *p);

/* Progresses orphans; the last call, in MPI_Finalize and with wait = true, completes them. */
void pw_pending_sweep(bool wait);

#endif
