/*
 * Pending operations: operations under way that leave work to the runtime when they complete, such as unpacking what
 * has arrived and giving back staging memory. The program holds MPI's own request; a table finds the pending operation
 * by the request's handle.
 *
 * A pending operation is a struct with a pw_pending as first member. The call that starts the operation makes it, and
 * hands it to the table. pw_pending_ops.destroy is called exactly once: when the operation has completed, or, for a
 * persistent operation, when its request has been freed.
 *
 * Handles are no unique keys: MPIs return one shared, already complete request for operations that were done at once.
 * Such operations are finished when they are tracked, and never enter the table. If several operations should still
 * have the same handle, any of them is as good as another.
 *
 * The completing calls (hooks_complete*.c) claim the operations of their requests, call MPI, and settle or unclaim each
 * operation. Other threads do not see a claimed operation, so a handle that MPI reuses is never taken for the old
 * request. If the program frees the request of an unfinished operation, the operation becomes an orphan and keeps MPI's
 * request alive. Some thread that leaves a wrapped call settles it, at the latest in MPI_Finalize.
 *
 * Thread safe: operations are spread over locks by handle (base/pending_table.h), held for a few instructions.
 */
#ifndef PW_RUNTIME_PENDING_H
#define PW_RUNTIME_PENDING_H

#include "base/pending_table.h"
#include "runtime/mpi/entry/gate.h"
#include "runtime/mpi/mpi_compat.h"

#include <stdatomic.h>

typedef struct pw_pending pw_pending;

typedef struct pw_pending_ops {
    /* Chooses how the next start of a persistent operation is carried out. False: MPI starts the program's own request,
     * and none of the other functions but `destroy` is called. True: `post` has MPI carry it out by another request,
     * `stand_in`, and returns MPI's error code. NULL, both: the program's request is that of the staged operation. */
    bool (*choose)(pw_pending *p);
    int (*post)(pw_pending *p);
    /* Packs, before MPI starts a persistent operation. Returns an MPI error code, which the caller reports to the error
     * handler. NULL: there is nothing to do. */
    int (*start)(pw_pending *p);
    /* Unpacks, when the operation has completed without error and was not cancelled. `status` is MPI's, never one of
     * the ignore constants. Returns an MPI error code, which the caller reports to the error handler. NULL: there is
     * nothing to do. */
    int (*complete)(pw_pending *p, const MPI_Status *status);
    /*
     * For calls that start or complete several operations: these begin the part of `start` or `complete` that goes on
     * without the CPU. The same MPI call must still call `start` or `complete`. They return false if nothing can begin
     * now; `start` or `complete` then does all the work. NULL: nothing can ever begin early.
     */
    bool (*begin_start)(pw_pending *p);
    bool (*begin_complete)(pw_pending *p, const MPI_Status *status);
    /* Returns whether a part of the active operation is still under way that MPI does not know of, and lets it and MPI
     * go on. As long as it is, completing calls must not let MPI complete the request. NULL: there is no such part. */
    bool (*is_held)(pw_pending *p);
    /* Ends what `start` has begun, since MPI has not started the operation, or has not completed it without error.
     * NULL: there is nothing to do. */
    void (*fail)(pw_pending *p);
    /* Releases the operation. Must not call MPI, which may have ended. */
    void (*destroy)(pw_pending *p);
    /* MPI_Cancel does not take such requests, so nothing asks their statuses whether they were cancelled. */
    bool uncancellable;
    /* It is a receive: a call that starts several operations prepares these first. */
    bool receives;
} pw_pending_ops;

struct pw_pending {
    const pw_pending_ops *ops;
    MPI_Comm comm; /* its error handler gets failures of start and complete; MPI_COMM_NULL: that of MPI_COMM_SELF */
    bool persistent;
    bool is_read_by_gpu; /* it is a receive that a GPU may read out of another process's memory */
    bool once; /* the program's nonblocking send is a persistent request of MPI (deferred.h), freed when it completes */
    bool keeps,
        kept; /* if it completes without error its request is not freed; so it was: `destroy` keeps it (kept.h) */
    int64_t moved_bytes; /* `complete` sets it: so many bytes have come, and MPI got an empty message; 0: as MPI says */
    /* The table sets what follows. */
    int error;            /* of a deferred send that could not be packed or started: completing calls return it */
    bool active;          /* started and not completed; always true unless persistent */
    bool native;          /* MPI starts it, and completes it without us: it is never active then */
    struct pw_site *left; /* by which its start is left to MPI, as the last one was; NULL: it may not be */
    bool rests;           /* it counts in pw_pending_resting */
    bool hidden;          /* from MPI, in the call that completes it (completion_batch.c) */
    bool settled;         /* complete has run, but the request lives on (MPI_Request_get_status) */
    MPI_Request request;  /* the program's */
    MPI_Request stand_in; /* by which MPI knows an active operation in its place; MPI_REQUEST_NULL: by the program's */
    pw_pending_node node;
    pw_pending *next_orphan;
};

/* ---- for calls that start operations ---------------------------------------------------------------------------- */

/*
 * Returns whether the program's completing calls come to this library, and those that change what it has noted
 * (`when=` in runtime/mpi/api). If they do not, because a tool in front of this library takes some of them, no
 * operation may be staged that another call completes. (runtime/mpi/entry/fortran.h is about Fortran's bindings.) The
 * first call decides.
 */
bool pw_pending_is_seen(void);

/* MPI has made this persistent request. Ends an operation that the table still has by this handle: MPI has taken the
 * handle away from the program. Open MPI frees a persistent request that has failed, and exchanges that of a buffered
 * send which it starts while it is busy with the last start. */
void pw_pending_made(MPI_Request request);
/* Hands an operation to the table when MPI has returned its request, before any other thread can know the request.
 * Never fails. On return the operation may have been completed and destroyed. */
void pw_pending_track(MPI_Request request, pw_pending *p);

/*
 * The number of operations that completing calls must know of, plus one until the next functions are known; and that of
 * the other ones in the table: persistent operations, of which each start by a stand-in counts among the first. While
 * the numbers are zero, wrappers of completing, or starting, calls go straight to MPI.
 */
extern PW_HIDDEN _Atomic int64_t pw_pending_live, pw_pending_resting;

PW_INLINE bool pw_pending_rest(void)
{
    return atomic_load_explicit(&pw_pending_resting, memory_order_acquire) != 0;
}

PW_INLINE bool pw_pending_any(void)
{
    return atomic_load_explicit(&pw_pending_live, memory_order_acquire) != 0;
}

/* Whether starts of these requests are certain to be left to MPI, as the last ones were; a yes counts them as uses. No
 * operation is claimed. */
bool pw_starts_are_left(int n, const MPI_Request *requests);

/* Called once, when the next functions and the MPI are known. */
void pw_pending_start(void);

/* ---- for calls that complete them (hooks_complete*.c) ----------------------------------------------------------- */

/* Claims the operation of a request. NULL: there is none. */
pw_pending *pw_pending_claim(MPI_Request request);
/* Does what pw_pending_claim does. If it returns NULL because another thread has claimed the operation, it sets
 * *elsewhere to true. The caller must not ask MPI then: MPI may say that the request is complete while the other thread
 * is still unpacking. */
pw_pending *pw_pending_claim_to_look(MPI_Request request, bool *elsewhere);
void pw_pending_unclaim(pw_pending *p);

/*
 * Completes a claimed operation that is over; `status` is MPI's, or NULL if the operation has failed. A persistent
 * operation becomes inactive and is unclaimed; other operations are destroyed. An inactive operation is only unclaimed.
 * Returns the error code of `complete`; the caller reports an error to *comm.
 */
int pw_pending_settle(pw_pending *p, MPI_Status *status, MPI_Comm *comm);
/* Completes a claimed operation that is over but whose request lives on, and keeps it claimed. Reports an error to the
 * error handler and returns its code. */
int pw_pending_settle_early(pw_pending *p, MPI_Status *status);
/* Chooses how a claimed operation is started, unless it is active. */
void pw_pending_choose(pw_pending *p);
/* Does what a claimed persistent operation needs before MPI starts it. Reports an error and returns its code. */
int pw_pending_prepare(pw_pending *p);
/* Whether the prepared operation is started by its function `post`, not by MPI_Start. */
static inline bool pw_pending_is_posted(const pw_pending *p)
{
    return p->ops->post && !p->native && !p->active;
}

/* Returns the request by which MPI knows the operation. */
static inline MPI_Request pw_pending_below(const pw_pending *p)
{
    return p->stand_in != MPI_REQUEST_NULL ? p->stand_in : p->request;
}

/* MPI has started the operation. The request may have changed: Open MPI exchanges it while it is busy with the last
 * start of a buffered send. */
void pw_pending_started(pw_pending *p, MPI_Request request);
/* The operation has ended with an error, or MPI has not started it, though it was prepared unless it is active. */
static inline void pw_pending_fail(pw_pending *p)
{
    if (p->ops->fail && !p->native && !p->active)
        p->ops->fail(p);
}
/* Called when the claimed operation of `*request` is over, before it is settled: frees, or keeps, a request that is
 * persistent for MPI only, which is MPI_REQUEST_NULL for the program then, as other requests are. */
void pw_pending_free_once(pw_pending *p, MPI_Request *request, bool failed);
/* Returns whether MPI must not complete the request of a claimed operation yet (pw_pending_ops.is_held). */
bool pw_pending_is_held(pw_pending *p);
/* Waits until MPI may. */
void pw_pending_await(pw_pending *p);
/* Begin what pw_pending_settle or pw_pending_prepare is about to do with a claimed operation. They return false if the
 * caller should ask again when another operation is done. */
bool pw_pending_begin_settle(pw_pending *p, const MPI_Status *status);
bool pw_pending_begin_prepare(pw_pending *p);
/* Takes a claimed operation out of the table and destroys it. */
void pw_pending_drop(pw_pending *p);

/* The communicator is being freed: from now on, operations on it report errors to MPI_COMM_SELF. */
void pw_pending_forget_comm(MPI_Comm comm);

/* ---- orphans ---------------------------------------------------------------------------------------------------- */

/* The program has freed the request of this claimed, unfinished operation. */
void pw_pending_orphan(pw_pending *p);

/* Tests orphans and settles those that are over. With `wait`, it waits until all of a communicator are, or just all
 * (MPI_COMM_NULL), as in MPI_Finalize, and keeps no send there (kept.h). */
void pw_pending_sweep(bool wait, MPI_Comm comm);

/* Called on the way out of every wrapped call: checks cheaply whether there are orphans. */
PW_INLINE void pw_pending_pass(void)
{
    if (pw_gate_has_orphans())
        pw_pending_sweep(false, MPI_COMM_NULL);
}

/* MPI has ended: destroys the operations that are left, which are persistent ones that the program has not freed. */
void pw_pending_close(void);

#endif
