/* What the files of this folder share, by the file that defines it. */
#ifndef PW_RUNTIME_REQUESTS_INTERNAL_H
#define PW_RUNTIME_REQUESTS_INTERNAL_H

#include "runtime/mpi/requests/pending.h"

/* ---- pending.c --------------------------------------------------------------------------------------------------- */

/*
 * Shared requests stand for no operation in particular: MPIs return one already complete request for every operation
 * that was done when its call returned, as most short sends are.
 */

/* The shared request of Open MPI; NULL before pw_pending_start, or if that has not found it: none is known then. */
extern const void *pw_shared_request;

/* The two highest bits of MPICH's handles say how they were made; 1 is "predefined". `request` is not null. */
static inline bool pw_request_is_shared(MPI_Request request)
{
    if (PW_MPI_IS_OPEN_MPI)
        return (const void *)(uintptr_t)request == pw_shared_request && pw_shared_request;
    return pw_mpich_request(request) >> 30 == 1;
}

/* ---- completion_batch.c ------------------------------------------------------------------------------------------ */

enum { PW_BATCH_FEW = 64 };

/* The claimed operations of an array of requests. Lies on the stack and must not be moved. */
typedef struct pw_batch {
    int n;
    bool elsewhere; /* other threads have claimed operations of some of the requests */
    MPI_Request *requests;
    pw_pending **ops;     /* by place in the array; NULL: the request has none, or it has been settled */
    MPI_Status *statuses; /* memory for as many statuses, for calls whose caller ignores them */
    void *memory;
    int64_t bytes;
    pw_pending *few_ops[PW_BATCH_FEW];
    MPI_Status few_statuses[PW_BATCH_FEW];
} pw_batch;

/*
 * Claims the operations of an array of requests, and puts those by which MPI knows them into it, until they are settled
 * or the batch is closed. If it returns false, nothing is claimed, there is nothing to close, and the hook returns
 * *verdict: PW_PASS if no request has an operation, PW_DONE if there was no memory; the error handler has then been
 * called, and *rc is set. b->elsewhere is set in every case.
 */
bool pw_batch_open(pw_batch *b, int n, const MPI_Request *requests, int *rc, pw_verdict *verdict);
/* Returns the place of an operation that has failed before MPI had it (pw_pending.error), or -1. The calls that
 * complete any or some operations must not ask MPI about it. */
int pw_batch_failed(const pw_batch *b);
/* Returns whether MPI must not complete some of the requests yet (pw_pending_is_held). */
bool pw_batch_is_held(pw_batch *b);
/* Puts MPI_REQUEST_NULL in place of the requests that MPI must not complete yet. Returns whether there are any. */
bool pw_batch_hide(pw_batch *b);
/* Puts them back. */
void pw_batch_show(pw_batch *b);
/* Unclaims the operations that were not settled. */
void pw_batch_close(pw_batch *b);

/*
 * Called before the k-th of n operations is settled or prepared: begins that work for it and for those behind it, from
 * *next on, as far as is possible now. `places` NULL: the k-th operation is at place k. `statuses` NULL: the operations
 * are going to be prepared, not settled.
 */
void pw_batch_begin(pw_batch *b, int k, int n, const int *places, const MPI_Status *statuses, int *next);
/* Settles the operation at `place`, if there is one, with MPI's status, or NULL if it has failed. The request is
 * MPI_REQUEST_NULL then, unless the program knows it as a persistent one. Returns an error
 * code; the caller reports an error to *comm. */
int pw_batch_settle(pw_batch *b, int place, MPI_Status *status, MPI_Comm *comm);

/* Whether MPI knows the operation by a persistent request, whatever the program has asked for. */
static inline bool pw_is_persistent(const pw_pending *p)
{
    return (p->persistent && p->stand_in == MPI_REQUEST_NULL) || p->once;
}

/*
 * Returns whether a claimed operation is over after a call has failed; other operations of the call may have caused the
 * error. `left`: the request as MPI has left it. MPI sets the request of a finished operation to MPI_REQUEST_NULL. A
 * persistent request stays as it is, and MPI is asked: statuses tell nothing, since MPICH handles an array of more than
 * 64 requests in parts, and after an error touches none of the later ones. Open MPI frees a persistent request that has
 * failed; the operation is then no longer persistent.
 */
bool pw_is_over(pw_pending *p, MPI_Request left);

#endif
