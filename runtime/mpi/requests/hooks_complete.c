/*
 * The hooks of calls on single requests: completion, start, free. Requests without a pending operation go to MPI with
 * the caller's own arguments.
 */
#include "runtime/engine/gpu/memory.h"
#include "runtime/exchange/gpu/shown.h"
#include "runtime/mpi/errors.h"
#include "runtime/mpi/requests/internal.h"
#include "runtime/mpi/requests/loopback.h"
#include "runtime/mpi/strategy/is_native.h"

#include "hooks.h"
#include "next.h"

/* ---- wait and test ---------------------------------------------------------------------------------------------- */

/* Settles a claimed operation after MPI's call, which has completed it or failed, and returns the result of the call.
 * `below`: the request by which MPI knew it, as MPI has left it. */
static int completed(pw_pending *p, MPI_Request below, MPI_Request *request, MPI_Status *status, int rc)
{
    MPI_Comm comm = MPI_COMM_NULL;

    if (p->stand_in == MPI_REQUEST_NULL)
        *request = below;
    if (rc == MPI_SUCCESS) {
        pw_pending_free_once(p, request, false);
        rc = pw_pending_settle(p, status, &comm);
        return pw_mpi_report(comm, rc);
    }
    if (pw_is_over(p, below)) {
        pw_pending_free_once(p, request, true);
        pw_pending_settle(p, NULL, &comm);
    } else
        pw_pending_unclaim(p);
    return rc;
}

pw_verdict pw_hook_Wait(MPI_Request *request, MPI_Status *status, int *rc)
{
    pw_pending *p = request ? pw_pending_claim(*request) : NULL;
    MPI_Request below;
    MPI_Status own;

    if (!p)
        return PW_PASS;
    status = status == MPI_STATUS_IGNORE ? &own : status;
    pw_pending_await(p);
    below = pw_pending_below(p);
    *rc = pw_next.MPI_Wait(&below, status);
    *rc = completed(p, below, request, status, *rc);
    return PW_DONE;
}

pw_verdict pw_hook_Test(MPI_Request *request, int *flag, MPI_Status *status, int *rc)
{
    pw_pending *p = request && flag ? pw_pending_claim(*request) : NULL;
    MPI_Request below;
    MPI_Status own;

    if (!p)
        return PW_PASS;
    *flag = 0;
    *rc = MPI_SUCCESS;
    below = pw_pending_below(p);
    status = status == MPI_STATUS_IGNORE ? &own : status;
    if (!pw_pending_is_held(p))
        *rc = pw_next.MPI_Test(&below, flag, status);
    if (*rc == MPI_SUCCESS && !*flag)
        pw_pending_unclaim(p);
    else
        *rc = completed(p, below, request, status, *rc);
    return PW_DONE;
}

/* ---- start ------------------------------------------------------------------------------------------------------ */

/* A thread remembers starts that were left to MPI by the places where the program keeps its requests, so that those of
 * an array have places of their own. `by`: the site that has left it; NULL: the request has no operation. */
typedef struct left_start {
    uint64_t key; /* the request; 0: the start was not left */
    pw_site *by;
    unsigned epoch;
} left_start;

enum { STARTS = 128 };

static _Thread_local left_start starts[STARTS];

static left_start *start_of(const MPI_Request *request)
{
    return &starts[(uintptr_t)request / sizeof *request % STARTS];
}

/* Returns the use that the last start of the i-th request stands for. */
PW_INLINE pw_site_use use_of(const void *requests, int i)
{
    const MPI_Request *request = (const MPI_Request *)requests + i;
    const left_start *at = start_of(request);

    return (pw_site_use){at->by, at->key == pw_request_key(*request) && at->epoch == pw_epoch_now()};
}

bool pw_starts_are_left(int n, const MPI_Request *requests)
{
    return !pw_gate_judged && !pw_gate_has_deferred() && requests && pw_sites_again(n, pw_way_left, use_of, requests);
}

/* Chooses the way of a claimed operation's start, and remembers one that is left to MPI. `p` NULL: there is none. */
static void choose(pw_pending *p, const MPI_Request *request)
{
    unsigned epoch = pw_settled_now();

    if (p)
        pw_pending_choose(p);
    *start_of(request) =
        (left_start){.key = p && !p->left ? 0 : pw_request_key(*request), .by = p ? p->left : NULL, .epoch = epoch};
}

pw_verdict pw_hook_Start(MPI_Request *request, int *rc)
{
    bool elsewhere = false;
    pw_pending *p = request ? pw_pending_claim_to_look(*request, &elsewhere) : NULL;

    if (request && !elsewhere)
        choose(p, request);
    if (!p)
        return PW_PASS;
    *rc = pw_pending_prepare(p);
    if (*rc == MPI_SUCCESS)
        *rc = pw_pending_is_posted(p) ? p->ops->post(p) : pw_next.MPI_Start(request);
    if (*rc == MPI_SUCCESS)
        pw_pending_started(p, *request);
    else
        pw_pending_fail(p);
    pw_pending_unclaim(p);
    return PW_DONE;
}

/* The first error counts. */
static void note(int error, int *rc)
{
    *rc = *rc == MPI_SUCCESS ? error : *rc;
}

/* Starts prepared operations in their order; MPI starts those together that stand next to each other. */
static int start_prepared(const pw_batch *b)
{
    int rc = MPI_SUCCESS;

    for (int i = 0, end; i < b->n && rc == MPI_SUCCESS; i = end) {
        for (end = i; end < b->n && !(b->ops[end] && pw_pending_is_posted(b->ops[end]));)
            end++;
        rc = end > i ? pw_next.MPI_Startall(end - i, b->requests + i) : b->ops[end++]->ops->post(b->ops[i]);
    }
    return rc;
}

pw_verdict pw_hook_Startall(int count, MPI_Request *requests, int *rc)
{
    int next = 0;
    pw_verdict verdict;
    pw_batch b;

    if (!pw_batch_open(&b, count, requests, rc, &verdict)) {
        for (int i = 0; requests && !b.elsewhere && i < count; i++)
            choose(NULL, &requests[i]);
        return verdict;
    }
    *rc = MPI_SUCCESS;
    pw_memory_together(count > 2);
    for (int i = 0; i < count; i++)
        choose(b.ops[i], &requests[i]);
    pw_memory_together(false);
    /* Receives come first, since a send may find its receive among them. The loops go on after a failure, because work
     * that has begun must be waited for. */
    for (int i = 0; i < count; i++)
        if (b.ops[i] && b.ops[i]->ops->receives)
            note(pw_pending_prepare(b.ops[i]), rc);
    pw_gpu_show_together(true);
    for (int i = 0; i < count; i++)
        if (b.ops[i] && !b.ops[i]->ops->receives) {
            pw_batch_begin(&b, i, count, NULL, NULL, &next);
            note(pw_pending_prepare(b.ops[i]), rc);
        }
    pw_gpu_show_together(false);
    if (*rc == MPI_SUCCESS)
        *rc = start_prepared(&b);
    for (int i = 0; i < count; i++)
        if (b.ops[i] && !b.ops[i]->active && (*rc == MPI_SUCCESS || b.ops[i]->stand_in != MPI_REQUEST_NULL))
            pw_pending_started(b.ops[i], requests[i]);
        else if (b.ops[i])
            pw_pending_fail(b.ops[i]);
    pw_batch_close(&b);
    return PW_DONE;
}

/* ---- cancel ----------------------------------------------------------------------------------------------------- */

/* Nothing tells at once whether MPI cancels a receive, and so which one takes the next message. */
pw_verdict pw_hook_Cancel(MPI_Request *request, int *rc)
{
    pw_pending *p = request ? pw_pending_claim(*request) : NULL;
    MPI_Request below;

    if (!p)
        return PW_PASS;
    pw_loopback_lose(p->comm);
    p->keeps = false;
    below = pw_pending_below(p);
    *rc = pw_next.MPI_Cancel(&below);
    pw_pending_unclaim(p);
    return PW_DONE;
}

/* ---- free ------------------------------------------------------------------------------------------------------- */

/* The request of an unfinished operation is kept, and freed when the operation is over. */
pw_verdict pw_hook_Request_free(MPI_Request *request, int *rc)
{
    pw_pending *p = request ? pw_pending_claim(*request) : NULL;

    if (!p)
        return PW_PASS;
    *rc = MPI_SUCCESS;
    if (p->active && !p->settled) {
        *request = MPI_REQUEST_NULL;
        pw_pending_orphan(p);
        return PW_DONE;
    }
    if (p->stand_in != MPI_REQUEST_NULL)
        PMPI_Request_free(&(MPI_Request){p->stand_in});
    *rc = pw_next.MPI_Request_free(request);
    if (*rc == MPI_SUCCESS)
        pw_pending_drop(p);
    else
        pw_pending_unclaim(p);
    return PW_DONE;
}
