/*
 * One-sided operations under way with stages at their origin. MPI works with the stage until the operation is locally
 * complete: until the call that ends the epoch, or a flush, or the request of a request-based operation tells (MPI 4.0
 * section 12.5). What has been brought is unpacked by the same call, before it returns.
 *
 * Operations lie in lists by window. A synchronising call takes a mark, calls MPI, and settles the operations to its
 * target up to the mark: those that another thread starts meanwhile are not its own, nor those on a new window with the
 * handle of one that it has freed. Lists are locked while operations are settled: of two threads that flush, neither
 * returns before the data of both is in place.
 */
#ifndef PW_RUNTIME_RMA_OPS_H
#define PW_RUNTIME_RMA_OPS_H

#include "runtime/mpi/requests/pending.h"
#include "runtime/mpi/strategy/mirror.h"

enum { PW_RMA_ALL_TARGETS = -1 };

/* A buffer at the origin that MPI is not given. */
typedef struct pw_rma_side {
    pw_stage stage;   /* not open: MPI gets the buffer */
    pw_mirror mirror; /* in place of the stage's bytes, if it has a buf */
} pw_rma_side;

typedef struct pw_rma_op {
    pw_pending pending; /* of request-based operations, which the table of runtime/mpi/requests/pending.h owns */
    pw_rma_side sent, compared, got; /* what MPI reads, and what it writes */
    int64_t brought;                 /* bytes of `got` that are written, from the first on */
    bool has_request;
    bool at_once; /* its request would tell too early: to be completed with a flush in the call itself */
    bool listed;  /* this and below: under the list's lock */
    uint64_t win;
    int target;
    uint64_t serial;
    struct pw_rma_op *prev, *next;
} pw_rma_op;

/* What is wanted for a described message. */
typedef struct pw_rma_wish {
    pw_message message;
    bool mirrored;
} pw_rma_wish;

/* For the sides of an operation; NULL: nothing is wanted there. */
typedef struct pw_rma_wishes {
    const pw_rma_wish *sent, *compared, *got;
    int64_t brought; /* bytes that come from the target: the origin may have room for more */
} pw_rma_wishes;

static inline bool pw_rma_wish_is_needed(const pw_rma_wish *wish)
{
    return wish && pw_mirror_is_needed(&wish->message);
}

/* Can MPI not do without some of it? */
static inline bool pw_rma_wishes_are_needed(const pw_rma_wishes *w)
{
    return pw_rma_wish_is_needed(w->sent) || pw_rma_wish_is_needed(w->compared) || pw_rma_wish_is_needed(w->got);
}

/* An operation with stages for what is wanted: what MPI reads is packed. A stage that is not to be had stays empty; if
 * that is all, *op is NULL, and the call native. It fails when MPI could not do without. */
pw_status pw_rma_open(const pw_rma_wishes *wishes, pw_rma_op **op);
/* One that MPI has refused. */
void pw_rma_drop(pw_rma_op *op);
/* One that MPI has accepted and completed; it is gone. */
pw_status pw_rma_end(pw_rma_op *op);
/* One that MPI has accepted. */
void pw_rma_track(pw_rma_op *op, MPI_Win win, int target);
void pw_rma_track_request(pw_rma_op *op, MPI_Win win, int target, MPI_Request request);

/* Before MPI's synchronising call, and after its success: its operations are settled, the first failure is returned. */
uint64_t pw_rma_mark(MPI_Win win);
pw_status pw_rma_settle(MPI_Win win, int target, uint64_t mark);

/* Reports a failure of ours as one of the call on `win`, as pw_mpi_fail does. */
int pw_win_fail(MPI_Win win, pw_status status);

#endif
