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

#include "runtime/requests/pending.h"
#include "runtime/strategy/strategy.h"

enum { PW_RMA_ALL_TARGETS = -1 };

typedef struct pw_rma_op {
    pw_pending pending; /* of request-based operations, which the table of runtime/requests/pending.h owns */
    pw_stage sent, got; /* what MPI reads and what it writes, if these are staged */
    bool has_request;
    bool listed; /* this and below: under the list's lock */
    uint64_t win;
    int target;
    uint64_t serial;
    struct pw_rma_op *prev, *next;
} pw_rma_op;

/* An operation with stages for described messages, of which either may be NULL: `sent` is packed. The stage that is not
 * to be had stays empty. NULL: that would be all, and the call is native. */
pw_rma_op *pw_rma_open(const pw_message *sent, const pw_message *got);
/* One that MPI has refused. */
void pw_rma_drop(pw_rma_op *op);
/* One that MPI has accepted. */
void pw_rma_track(pw_rma_op *op, MPI_Win win, int target);
void pw_rma_track_request(pw_rma_op *op, MPI_Win win, int target, MPI_Request request);

/* Before MPI's synchronising call, and after its success: its operations are settled, the first failure is returned. */
uint64_t pw_rma_mark(MPI_Win win);
pw_status pw_rma_settle(MPI_Win win, int target, uint64_t mark);

/* Reports a failure of ours as one of the call on `win`, as pw_mpi_fail does. */
int pw_win_fail(MPI_Win win, pw_status status);

#endif
