/*
 * The hooks of calls that complete arrays of requests. Such a call claims the operations of all requests, calls MPI,
 * and settles those that MPI has completed with MPI's statuses; if the caller ignores statuses, MPI gets memory of the
 * runtime for them. In the all- and some-forms an error of an operation is MPI_ERR_IN_STATUS, and its status has the
 * class (MPI 4.0 section 3.7.5).
 */
#include "runtime/exchange/gpu/foreign.h"
#include "runtime/exchange/inbound.h"
#include "runtime/mpi/requests/internal.h"

#include "hooks.h"
#include "next.h"

#include <sched.h>

/* Returns whether MPI has reported one of several operations as over without error, in a call that returned `rc`. */
static bool went_well(const MPI_Status *status, int rc)
{
    return rc == MPI_SUCCESS || status->MPI_ERROR == MPI_SUCCESS;
}

/* Returns whether a status, which is valid after MPI_ERR_IN_STATUS, belongs to an operation that is over. */
static bool is_reported(const MPI_Status *status)
{
    int class = MPI_SUCCESS;

    PMPI_Error_class(status->MPI_ERROR, &class);
    return class != MPI_ERR_PENDING;
}

/* After an error, settles as failed the operations that are over and that MPI has not named. */
static void settle_unnamed(pw_batch *b, const MPI_Request *requests)
{
    MPI_Comm comm;

    for (int i = 0; i < b->n; i++)
        if (b->ops[i] && pw_is_over(b->ops[i], requests[i], false))
            pw_batch_settle(b, i, NULL, &comm);
}

/* Puts a failure of the runtime into the k-th of n statuses of a call that MPI has carried out without error. The first
 * failure makes the other statuses valid. */
static int fail_in_status(MPI_Status *statuses, int n, int k, int error, int rc)
{
    for (int i = 0; i < n && rc == MPI_SUCCESS; i++)
        statuses[i].MPI_ERROR = MPI_SUCCESS;
    statuses[k].MPI_ERROR = error;
    return MPI_ERR_IN_STATUS;
}

/* Whether the operation's request is a persistent one of MPI's, whatever the program has asked for. */
static bool is_persistent(const pw_pending *p)
{
    return p->persistent || p->once;
}

/* Answers that no operation, or not each of them, is over. */
static pw_verdict none_yet(pw_batch *b, int *flag, int *rc)
{
    pw_batch_close(b);
    *flag = 0;
    *rc = MPI_SUCCESS;
    return PW_DONE;
}

/* ---- all -------------------------------------------------------------------------------------------------------- */

/* Settles the operations when MPI has completed all, or has failed and completed some. */
static int all_done(pw_batch *b, const MPI_Request *requests, MPI_Status *statuses, int mpi_rc)
{
    MPI_Comm comm = MPI_COMM_NULL;
    bool refused = mpi_rc != MPI_SUCCESS && pw_is_refusal(mpi_rc);
    int rc = mpi_rc, next = 0;

    for (int i = 0; i < b->n && !refused; i++) {
        pw_pending *p = b->ops[i];
        int error;

        if (mpi_rc == MPI_SUCCESS)
            pw_batch_begin(b, i, b->n, NULL, statuses, &next);
        if (!p || (mpi_rc != MPI_SUCCESS && !pw_is_over(p, requests[i], is_reported(&statuses[i]))))
            continue;
        error = pw_batch_settle(b, i, went_well(&statuses[i], mpi_rc) ? &statuses[i] : NULL, &comm);
        if (error != MPI_SUCCESS)
            rc = fail_in_status(statuses, b->n, i, error, rc);
    }
    return rc != MPI_SUCCESS && mpi_rc == MPI_SUCCESS ? pw_pending_report(comm, rc) : rc;
}

/*
 * MPI_Waitall of Open MPI 4.1 does not report errors of persistent requests if it writes statuses. A caller that
 * ignores statuses gets these errors from Open MPI, and finds the requests freed.
 */
static void expect_errors(pw_batch *b)
{
    for (int i = 0; i < b->n; i++)
        b->statuses[i].MPI_ERROR = MPI_SUCCESS;
}

/* Requests that were left to MPI are among them. The communicator of such a request is not known: that of another one
 * is taken. */
static int recover_errors(pw_batch *b, MPI_Request *requests)
{
    MPI_Comm comm = MPI_COMM_NULL;
    bool failed = false;

    for (int i = 0; i < b->n; i++) {
        bool fails = requests[i] != MPI_REQUEST_NULL && b->statuses[i].MPI_ERROR != MPI_SUCCESS;

        if (b->ops[i] && (fails || !failed))
            comm = b->ops[i]->comm;
        if (fails)
            PMPI_Request_free(&requests[i]);
        failed = failed || fails;
    }
    return failed ? pw_pending_report(comm, MPI_ERR_IN_STATUS) : MPI_SUCCESS;
}

/*
 * MPICH handles an array of more than 64 requests in parts. After an error it does not touch the parts behind it, and
 * MPI_Testall touches none; their statuses then hold arbitrary values (4.0.2). If MPICH has written a source into the
 * status, it has completed the receive.
 */
enum { NO_SOURCE = -0x5a5a5a };

static bool is_in_doubt(const pw_batch *b)
{
    bool any = false;

    for (int i = 0; i < b->n && !PW_MPI_IS_OPEN_MPI; i++)
        any = any || (b->ops[i] && is_persistent(b->ops[i]));
    return any;
}

static void mark_sources(pw_batch *b, MPI_Status *statuses)
{
    for (int i = 0; i < b->n; i++) {
        b->statuses[i].MPI_SOURCE = statuses[i].MPI_SOURCE;
        statuses[i].MPI_SOURCE = NO_SOURCE;
    }
}

/* A send that is over, though MPI still counts it as active, may be treated as inactive: nothing is left to do when it
 * is waited for. */
static bool is_completed(const pw_pending *p, MPI_Request request, const MPI_Status *status)
{
    MPI_Status own;
    int done = 0;

    if (p->ops->complete && !p->ops->sends)
        return status->MPI_SOURCE != NO_SOURCE;
    return PMPI_Request_get_status(request, &done, &own) == MPI_SUCCESS && done;
}

/* Statuses that MPI has not written get their old values back. After an error, the call does not settle persistent
 * operations that are still under way. */
static void unmark_sources(pw_batch *b, const MPI_Request *requests, MPI_Status *statuses, int rc)
{
    for (int i = 0; i < b->n; i++) {
        pw_pending *p = b->ops[i];

        if (rc != MPI_SUCCESS && p && is_persistent(p) && !is_completed(p, requests[i], &statuses[i])) {
            pw_pending_unclaim(p);
            b->ops[i] = NULL;
        }
        if (statuses[i].MPI_SOURCE == NO_SOURCE && statuses != b->statuses)
            statuses[i].MPI_SOURCE = b->statuses[i].MPI_SOURCE;
    }
}

/* Returns whether a receive that a GPU may read is the operation at this place. */
static bool is_read_by_gpu(const pw_pending *p)
{
    return p && p->active && p->ops->is_read_by_gpu;
}

/* Makes MPI go on until it has completed the receives that a GPU may read of other processes, and gathers these reads
 * meanwhile. MPI reports errors when it is asked for all requests. Open MPI 4.1 with MPI_THREAD_MULTIPLE never returns
 * from a call that is asked for a request which has failed before. */
static void gather_reads(const pw_batch *b)
{
    enum { PATIENCE = 64 };
    int rc = MPI_SUCCESS, tries = 0;
    MPI_Status status;

    if (PW_MPI_IS_OPEN_MPI || pw_inbound_takers() < 2)
        return;
    pw_gpu_foreign_gather(PW_GATHER_ALL);
    for (int i = 0; i < b->n && rc == MPI_SUCCESS; i++)
        for (int flag = !is_read_by_gpu(b->ops[i]); !flag && rc == MPI_SUCCESS; pw_gpu_foreign_look()) {
            rc = PMPI_Request_get_status(b->requests[i], &flag, &status);
            if (++tries % PATIENCE == 0)
                sched_yield();
        }
    pw_gpu_foreign_gather(PW_GATHER_NOTHING);
}

pw_verdict pw_hook_Waitall(int count, MPI_Request *requests, MPI_Status *statuses, int *rc)
{
    bool forgets = PW_MPI_IS_OPEN_MPI && statuses == MPI_STATUSES_IGNORE, doubt;
    pw_verdict verdict;
    pw_batch b;

    if (!pw_batch_open(&b, count, requests, rc, &verdict))
        return verdict;
    pw_batch_await(&b);
    gather_reads(&b);
    statuses = statuses == MPI_STATUSES_IGNORE ? b.statuses : statuses;
    doubt = is_in_doubt(&b);
    if (forgets)
        expect_errors(&b);
    if (doubt)
        mark_sources(&b, statuses);
    *rc = pw_next.MPI_Waitall(count, requests, statuses);
    if (doubt)
        unmark_sources(&b, requests, statuses, *rc);
    if (forgets && *rc == MPI_SUCCESS)
        *rc = recover_errors(&b, requests);
    *rc = all_done(&b, requests, statuses, *rc);
    pw_batch_close(&b);
    return PW_DONE;
}

pw_verdict pw_hook_Testall(int count, MPI_Request *requests, int *flag, MPI_Status *statuses, int *rc)
{
    pw_verdict verdict;
    pw_batch b;
    bool doubt;

    if (!flag)
        return PW_PASS;
    if (!pw_batch_open(&b, count, requests, rc, &verdict))
        return verdict;
    if (pw_batch_is_held(&b))
        return none_yet(&b, flag, rc);
    statuses = statuses == MPI_STATUSES_IGNORE ? b.statuses : statuses;
    doubt = is_in_doubt(&b);
    if (doubt)
        mark_sources(&b, statuses);
    *rc = pw_next.MPI_Testall(count, requests, flag, statuses);
    if (doubt)
        unmark_sources(&b, requests, statuses, *rc);
    if (*rc != MPI_SUCCESS || *flag)
        *rc = all_done(&b, requests, statuses, *rc);
    pw_batch_close(&b);
    return PW_DONE;
}

/* ---- any -------------------------------------------------------------------------------------------------------- */

/* MPI_Testany of the requests that MPI may complete. */
static int test_any(pw_batch *b, int *place, int *flag, MPI_Status *status)
{
    bool hidden = pw_batch_hide(b);
    int rc = pw_next.MPI_Testany(b->n, b->requests, place, flag, status);

    pw_batch_show(b);
    if (hidden && rc == MPI_SUCCESS && *place == MPI_UNDEFINED)
        *flag = 0;
    return rc;
}

/* MPI_Waitany, which tests as long as MPI must not complete some of the requests. */
static int wait_any(pw_batch *b, int *place, MPI_Status *status)
{
    int rc = MPI_SUCCESS, flag = 0;

    while (pw_batch_is_held(b)) {
        rc = test_any(b, place, &flag, status);
        if (rc != MPI_SUCCESS || flag)
            return rc;
        sched_yield();
    }
    return pw_next.MPI_Waitany(b->n, b->requests, place, status);
}

/* `place`: the request that MPI has named; MPI_UNDEFINED: none. */
static int any_done(pw_batch *b, const MPI_Request *requests, int place, MPI_Status *status, int rc)
{
    MPI_Comm comm = MPI_COMM_NULL;
    bool named = place >= 0 && place < b->n && b->ops[place];
    int error;

    if (rc == MPI_SUCCESS) {
        error = named ? pw_batch_settle(b, place, status, &comm) : MPI_SUCCESS;
        return error == MPI_SUCCESS ? error : pw_pending_report(comm, error);
    }
    if (named && pw_is_over(b->ops[place], requests[place], !pw_is_refusal(rc)))
        pw_batch_settle(b, place, NULL, &comm);
    settle_unnamed(b, requests);
    return rc;
}

/* Completes an operation that has failed before MPI had it, in place of MPI, whose request for it is not active. False:
 * there is none. */
static bool any_failed(pw_batch *b, int *index, MPI_Status *status, int *rc)
{
    int place = pw_batch_failed(b);

    if (place < 0)
        return false;
    *index = place;
    PMPI_Request_get_status(b->requests[place], &(int){0}, status);
    *rc = any_done(b, b->requests, place, status, MPI_SUCCESS);
    pw_batch_close(b);
    return true;
}

pw_verdict pw_hook_Waitany(int count, MPI_Request *requests, int *index, MPI_Status *status, int *rc)
{
    int place = MPI_UNDEFINED;
    pw_verdict verdict;
    pw_batch b;

    if (!index)
        return PW_PASS;
    if (!pw_batch_open(&b, count, requests, rc, &verdict))
        return verdict;
    status = status == MPI_STATUS_IGNORE ? b.statuses : status;
    if (any_failed(&b, index, status, rc))
        return PW_DONE;
    *rc = wait_any(&b, &place, status);
    if (*rc == MPI_SUCCESS || place != MPI_UNDEFINED)
        *index = place;
    *rc = any_done(&b, requests, place, status, *rc);
    pw_batch_close(&b);
    return PW_DONE;
}

pw_verdict pw_hook_Testany(int count, MPI_Request *requests, int *index, int *flag, MPI_Status *status, int *rc)
{
    int place = MPI_UNDEFINED;
    pw_verdict verdict;
    pw_batch b;

    if (!index || !flag)
        return PW_PASS;
    if (!pw_batch_open(&b, count, requests, rc, &verdict))
        return verdict;
    status = status == MPI_STATUS_IGNORE ? b.statuses : status;
    if (any_failed(&b, index, status, rc)) {
        *flag = 1;
        return PW_DONE;
    }
    *rc = test_any(&b, &place, flag, status);
    if (*rc == MPI_SUCCESS || place != MPI_UNDEFINED)
        *index = place;
    if (*rc != MPI_SUCCESS || *flag)
        *rc = any_done(&b, requests, place, status, *rc);
    pw_batch_close(&b);
    return PW_DONE;
}

/* ---- some ------------------------------------------------------------------------------------------------------- */

/* The k-th status belongs to the request at indices[k]. */
static int some_done(pw_batch *b, const MPI_Request *requests, int n, const int *indices, MPI_Status *statuses,
                     int mpi_rc)
{
    MPI_Comm comm = MPI_COMM_NULL;
    bool refused = mpi_rc != MPI_SUCCESS && pw_is_refusal(mpi_rc);
    int rc = mpi_rc, next = 0;

    for (int k = 0; k < n && !refused; k++) {
        int i = indices[k], error;

        if (mpi_rc == MPI_SUCCESS)
            pw_batch_begin(b, k, n, indices, statuses, &next);
        if (i < 0 || i >= b->n || !b->ops[i])
            continue;
        if (mpi_rc != MPI_SUCCESS)
            pw_is_over(b->ops[i], requests[i], true);
        error = pw_batch_settle(b, i, went_well(&statuses[k], mpi_rc) ? &statuses[k] : NULL, &comm);
        if (error != MPI_SUCCESS)
            rc = fail_in_status(statuses, n, k, error, rc);
    }
    if (mpi_rc != MPI_SUCCESS)
        settle_unnamed(b, requests);
    return rc != MPI_SUCCESS && mpi_rc == MPI_SUCCESS ? pw_pending_report(comm, rc) : rc;
}

/* MPI_Testsome of the requests that MPI may complete. */
static int test_some(pw_batch *b, int *n, int *indices, MPI_Status *statuses)
{
    bool hidden = pw_batch_hide(b);
    int rc = pw_next.MPI_Testsome(b->n, b->requests, n, indices, statuses);

    pw_batch_show(b);
    if (hidden && rc == MPI_SUCCESS && *n == MPI_UNDEFINED)
        *n = 0;
    return rc;
}

/* MPI_Waitsome, which tests as long as MPI must not complete some of the requests. */
static int wait_some(pw_batch *b, int *n, int *indices, MPI_Status *statuses)
{
    int rc;

    while (pw_batch_is_held(b)) {
        rc = test_some(b, n, indices, statuses);
        if (rc != MPI_SUCCESS || *n != 0)
            return rc;
        sched_yield();
    }
    return pw_next.MPI_Waitsome(b->n, b->requests, n, indices, statuses);
}

typedef int some_fn(pw_batch *b, int *n, int *indices, MPI_Status *statuses);

static pw_verdict some(some_fn *next, int incount, MPI_Request *requests, int *outcount, int *indices,
                       MPI_Status *statuses, int *rc)
{
    int n = MPI_UNDEFINED, failed;
    pw_verdict verdict;
    pw_batch b;

    if (!outcount || !indices)
        return PW_PASS;
    if (!pw_batch_open(&b, incount, requests, rc, &verdict))
        return verdict;
    statuses = statuses == MPI_STATUSES_IGNORE ? b.statuses : statuses;
    failed = pw_batch_failed(&b);
    if (failed >= 0) {
        PMPI_Request_get_status(requests[failed], &(int){0}, statuses);
        indices[0] = failed;
        *outcount = 1;
        *rc = some_done(&b, requests, 1, indices, statuses, MPI_SUCCESS);
        pw_batch_close(&b);
        return PW_DONE;
    }
    *rc = next(&b, &n, indices, statuses);
    if (*rc == MPI_SUCCESS || n != MPI_UNDEFINED)
        *outcount = n;
    *rc = some_done(&b, requests, n == MPI_UNDEFINED ? 0 : n, indices, statuses, *rc);
    pw_batch_close(&b);
    return PW_DONE;
}

pw_verdict pw_hook_Waitsome(int incount, MPI_Request *requests, int *outcount, int *indices, MPI_Status *statuses,
                            int *rc)
{
    return some(wait_some, incount, requests, outcount, indices, statuses, rc);
}

pw_verdict pw_hook_Testsome(int incount, MPI_Request *requests, int *outcount, int *indices, MPI_Status *statuses,
                            int *rc)
{
    return some(test_some, incount, requests, outcount, indices, statuses, rc);
}

/* ---- looking at some --------------------------------------------------------------------------------------------- */

#if PW_MPI_HAS(4, 1)

/* Settles n operations that MPI has reported complete, the k-th at indices[k], or at k if `indices` is NULL: the
 * program may use their data from now on. Returns the first error. */
static int settle_reported(pw_batch *b, int n, const int *indices, MPI_Status *statuses)
{
    int rc = MPI_SUCCESS;

    for (int k = 0; k < n; k++) {
        int i = indices ? indices[k] : k;
        int error = i >= 0 && i < b->n && b->ops[i] ? pw_pending_settle_early(b->ops[i], &statuses[k]) : MPI_SUCCESS;

        rc = rc == MPI_SUCCESS ? error : rc;
    }
    return rc;
}

/* Does what pw_batch_open does. Also returns false with PW_DONE and success if other threads have claimed some
 * operations, or MPI must not complete some yet: then none counts as complete. */
static bool open_to_look(pw_batch *b, int n, const MPI_Request *requests, int *rc, pw_verdict *verdict)
{
    bool open = pw_batch_open(b, n, requests, rc, verdict);

    if (*verdict == PW_DONE || (!b->elsewhere && !(open && pw_batch_is_held(b))))
        return open;
    if (open)
        pw_batch_close(b);
    *rc = MPI_SUCCESS;
    *verdict = PW_DONE;
    return false;
}

pw_verdict pw_hook_Request_get_status_all(int count, const MPI_Request *requests, int *flag, MPI_Status *statuses,
                                          int *rc)
{
    pw_verdict verdict;
    pw_batch b;

    if (!flag)
        return PW_PASS;
    if (!open_to_look(&b, count, requests, rc, &verdict)) {
        if (verdict == PW_DONE)
            *flag = 0;
        return verdict;
    }
    statuses = statuses == MPI_STATUSES_IGNORE ? b.statuses : statuses;
    *rc = pw_next.MPI_Request_get_status_all(count, requests, flag, statuses);
    if (*rc == MPI_SUCCESS && *flag)
        *rc = settle_reported(&b, count, NULL, statuses);
    pw_batch_close(&b);
    return PW_DONE;
}

pw_verdict pw_hook_Request_get_status_any(int count, const MPI_Request *requests, int *index, int *flag,
                                          MPI_Status *status, int *rc)
{
    pw_verdict verdict;
    pw_batch b;

    if (!index || !flag)
        return PW_PASS;
    if (!open_to_look(&b, count, requests, rc, &verdict)) {
        if (verdict == PW_DONE)
            *flag = 0;
        return verdict;
    }
    status = status == MPI_STATUS_IGNORE ? b.statuses : status;
    *rc = pw_next.MPI_Request_get_status_any(count, requests, index, flag, status);
    if (*rc == MPI_SUCCESS && *flag)
        *rc = settle_reported(&b, 1, index, status);
    pw_batch_close(&b);
    return PW_DONE;
}

pw_verdict pw_hook_Request_get_status_some(int incount, const MPI_Request *requests, int *outcount, int *indices,
                                           MPI_Status *statuses, int *rc)
{
    pw_verdict verdict;
    pw_batch b;

    if (!outcount || !indices)
        return PW_PASS;
    if (!open_to_look(&b, incount, requests, rc, &verdict)) {
        if (verdict == PW_DONE)
            *outcount = 0;
        return verdict;
    }
    statuses = statuses == MPI_STATUSES_IGNORE ? b.statuses : statuses;
    *rc = pw_next.MPI_Request_get_status_some(incount, requests, outcount, indices, statuses);
    if (*rc == MPI_SUCCESS && *outcount != MPI_UNDEFINED)
        *rc = settle_reported(&b, *outcount, indices, statuses);
    pw_batch_close(&b);
    return PW_DONE;
}

#endif
