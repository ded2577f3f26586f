/* What the files of this folder share, by the file that defines it. */
#ifndef PW_RUNTIME_REQUESTS_INTERNAL_H
#define PW_RUNTIME_REQUESTS_INTERNAL_H

#include "runtime/mpi/entry/gate.h"
#include "runtime/mpi/mpi_compat.h"
#include "runtime/mpi/requests/pending.h"

/* ---- shared_request.c -------------------------------------------------------------------------------------------- */

/*
 * Requests that stand for no operation in particular: MPIs hand out one already complete request for everything that
 * was done when the call returned, as short sends mostly are.
 */

#ifdef OPEN_MPI

/* Open MPI's; NULL before pw_shared_request_find, or if it cannot be found: then none is recognised. */
extern const void *pw_shared_request;

static inline bool pw_request_is_shared(MPI_Request request)
{
    return (const void *)request == pw_shared_request && pw_shared_request;
}

#elif defined(MPICH_NAME)

/* MPICH's handles say in their two highest bits how they came to be; 1 is "predefined". */
static inline bool pw_request_is_shared(MPI_Request request)
{
    return sizeof request == sizeof(int) && ((uintptr_t)request & 0xc0000000u) == 0x40000000u;
}

#else

static inline bool pw_request_is_shared(MPI_Request request)
{
    (void)request;
    return false;
}

#endif

/* Once, when the MPI is known. */
void pw_shared_request_find(void);

/* ---- completion_batch.c ------------------------------------------------------------------------------------------ */

/* What the completing calls share. Included by hooks_complete*.c only. */

enum { PW_BATCH_FEW = 64 };

/* The operations of an array of requests, claimed. Lives on the stack, and must not be moved. */
typedef struct pw_batch {
    int n;
    bool elsewhere;       /* other threads have claimed operations of some of the requests */
    pw_pending **ops;     /* by place in the array; NULL: none, or dealt with */
    MPI_Status *statuses; /* as many, for calls whose caller ignores them */
    void *memory;
    int64_t bytes;
    pw_pending *few_ops[PW_BATCH_FEW];
    MPI_Status few_statuses[PW_BATCH_FEW];
} pw_batch;

/*
 * False: nothing is claimed, there is nothing to close, and the hook's verdict is *verdict: PW_PASS if there is nothing
 * to claim, PW_DONE without memory, when the error handler has been called and *rc is set. b->elsewhere is always set.
 */
bool pw_batch_open(pw_batch *b, int n, const MPI_Request *requests, int *rc, pw_verdict *verdict);
/* Unclaims what is left. */
void pw_batch_close(pw_batch *b);

/*
 * Before the k-th of n operations is settled, or prepared: begins what that will do with it and with those behind, as
 * far as is possible at present, from *next on. `places` NULL: the k-th is at place k. `statuses` NULL: they are to be
 * prepared.
 */
void pw_batch_begin(pw_batch *b, int k, int n, const int *places, const MPI_Status *statuses, int *next);
/* Settles the operation at `place`, if there is one, with MPI's status, or NULL if it has failed. An error code that
 * has not been reported; *comm is then to be told. */
int pw_batch_settle(pw_batch *b, int place, const MPI_Status *status, MPI_Comm *comm);

/*
 * Whether a claimed operation is over after an error, which other operations of the call may have caused. `left` is
 * what MPI has made of the request. That tells, but for persistent ones, of which MPI must have `named` it; Open MPI
 * frees these when they have failed, and then the operation goes, too.
 */
bool pw_is_over(pw_pending *p, MPI_Request left, bool named);

/* An error that says that MPI has looked at the arguments only. */
bool pw_is_refusal(int rc);

#endif
