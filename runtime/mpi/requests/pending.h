/*
 * Operations under way for which something is left to do when they complete: unpack what has arrived, give staging
 * memory back. The user holds MPI's real request; what we know of it lies here, by handle.
 *
 * A pending operation is a struct with a pw_pending as first member, made by the call that starts it and destroyed by
 * pw_pending_ops.destroy, which is called exactly once: when the operation has completed (persistent ones: when the
 * request has been freed). Between, it belongs to this table.
 *
 * Handles are no unique keys: MPIs give one shared, already complete request for operations that were done at once.
 * Those are finished when they are tracked and never get into the table. Should there be several operations with the
 * same handle all the same, any of them is as good as another.
 *
 * The completing calls (hooks_complete*.c) claim the operations of their requests, call MPI, and settle or unclaim
 * each. While claimed, an operation is invisible to other threads, so a handle that MPI reuses is never taken for the
 * old request. An MPI_Request_free of an unfinished operation leaves it here as an orphan, with MPI's request kept
 * alive; it is settled when some thread leaves a wrapped call, at the latest in MPI_Finalize.
 *
 * Thread safe: operations are spread over locks by handle (runtime/engine/memory/pending_table.h), held for a few
 * instructions.
 */
#ifndef PW_RUNTIME_PENDING_H
#define PW_RUNTIME_PENDING_H

#include "runtime/engine/memory/pending_table.h"
#include "runtime/mpi/entry/gate.h"
#include "runtime/mpi/mpi_compat.h"

#include <stdatomic.h>

typedef struct pw_pending pw_pending;

typedef struct pw_pending_ops {
    /* Persistent operations, before MPI starts them: pack. An MPI error code, of which the caller tells the error
     * handler. NULL: nothing to do. */
    int (*start)(pw_pending *p);
    /* The operation has completed without error and was not cancelled; `status` is MPI's, never one of the ignore
     * constants. An MPI error code, of which the caller tells the error handler. NULL: nothing to do. */
    int (*complete)(pw_pending *p, const MPI_Status *status);
    /*
     * For calls that start or complete several operations: begins what `start` or `complete` does and can go on by
     * itself; that must then follow, in the same call. False: not now, it will do all of it. NULL: nothing can be
     * begun.
     */
    bool (*begin_start)(pw_pending *p);
    bool (*begin_complete)(pw_pending *p, const MPI_Status *status);
    /* Must not call MPI, which may be over. */
    void (*destroy)(pw_pending *p);
    /* Requests that MPI_Cancel does not take, whose statuses need not say whether they were cancelled. */
    bool uncancellable;
} pw_pending_ops;

struct pw_pending {
    const pw_pending_ops *ops;
    MPI_Comm comm; /* whose error handler hears of failures in start and complete; MPI_COMM_NULL: MPI_COMM_SELF's */
    bool persistent;
    /* Of the table: */
    bool active;  /* started and not completed: always, unless persistent */
    bool settled; /* complete has run, but the request lives on (MPI_Request_get_status) */
    MPI_Request request;
    pw_pending_node node;
    pw_pending *next_orphan;
};

/* ---- for calls that start operations ---------------------------------------------------------------------------- */

/*
 * Whether the program's completing calls come to this library. If not, as with a tool in front of us that takes some of
 * them, nothing may be staged in a call with a request. (Fortran's bindings: runtime/mpi/entry/fortran.h.) Decided when
 * first asked.
 */
bool pw_pending_is_seen(void);

/* Hands an operation to the table, after MPI has returned its request: an operation on a request that no other
 * thread can know yet. Never fails. The operation may be completed and destroyed on return. */
void pw_pending_track(MPI_Request request, pw_pending *p);

/*
 * Operations in the table, plus one until the next functions are known: while it is zero, wrappers of completing calls
 * go straight to MPI.
 */
extern _Atomic int64_t pw_pending_live;

static inline bool pw_pending_any(void)
{
    return atomic_load_explicit(&pw_pending_live, memory_order_acquire) != 0;
}

/* The next functions are known, and the MPI is. Once, at start. */
void pw_pending_start(void);

/* ---- for calls that complete them (hooks_complete*.c) ----------------------------------------------------------- */

/* The operation of a request; NULL: it has none. */
pw_pending *pw_pending_claim(MPI_Request request);
/* The same. With NULL *elsewhere is set to true if another thread has claimed one. Then MPI must not be asked: if it
 * says that the request is complete, that thread may still be unpacking. */
pw_pending *pw_pending_claim_to_look(MPI_Request request, bool *elsewhere);
void pw_pending_unclaim(pw_pending *p);

/*
 * A claimed operation is over, `status` being MPI's, or NULL if it has failed: completes it. Persistent: inactive from
 * then on, and unclaimed; others are destroyed. An inactive one is unclaimed and nothing else. An error code is the one
 * of complete, and *comm the communicator to tell.
 */
int pw_pending_settle(pw_pending *p, const MPI_Status *status, MPI_Comm *comm);
/* A claimed operation is over, but its request lives on: completes it, and keeps it claimed. An error code of which the
 * error handler has heard. */
int pw_pending_settle_early(pw_pending *p, const MPI_Status *status);
/* A claimed persistent operation: what is to be done before MPI starts it. */
int pw_pending_prepare(pw_pending *p);
/* MPI has started it. The request may be another one than before: Open MPI's is while it is busy with the last start
 * (of a buffered send). */
void pw_pending_started(pw_pending *p, MPI_Request request);
/* Begins what these are about to do with a claimed operation. False: ask again when another is done. */
bool pw_pending_begin_settle(pw_pending *p, const MPI_Status *status);
bool pw_pending_begin_prepare(pw_pending *p);
/* Takes a claimed operation out and destroys it. */
void pw_pending_drop(pw_pending *p);

/* Calls the error handler of `comm`; the error code that is then to be returned. */
int pw_pending_report(MPI_Comm comm, int error);

/* The communicator dies: operations on it report elsewhere. */
void pw_pending_forget_comm(MPI_Comm comm);

/* ---- orphans ---------------------------------------------------------------------------------------------------- */

/* The user has freed the request of a claimed, unfinished operation. */
void pw_pending_orphan(pw_pending *p);

/* Progresses orphans; the last call, in MPI_Finalize and with wait = true, completes them. */
void pw_pending_sweep(bool wait);
/* Completes the orphans of one communicator. */
void pw_pending_sweep_comm(MPI_Comm comm);

/* On the way out of every wrapped call: the cheap look whether there is anything to sweep. */
static inline void pw_pending_pass(void)
{
    if (pw_gate_has_orphans())
        pw_pending_sweep(false);
}

/* An error handler has left a call of this thread by longjmp: what the call was doing with orphans ends. */
void pw_pending_left(void);

/* MPI is over: destroys what the program has left, which were persistent requests that it has not freed. */
void pw_pending_close(void);

#endif
