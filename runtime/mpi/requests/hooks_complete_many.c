/*
 * The hooks of calls that complete arrays of requests. Such a call claims the operations of all requests, calls MPI,
 * and settles those that MPI has completed with MPI's statuses; if the caller ignores statuses, MPI gets memory of the
 * runtime for them. In the all- and some-forms an error of an operation is MPI_ERR_IN_STATUS, and its status has the
 * class (MPI 4.0 section 3.7.5).
 */
#include "runtime/exchange/gpu/foreign.h"
#include "runtime/exchange/inbound.h"
#include "runtime/mpi/entry/version.h"
#include "runtime/mpi/errors.h"
#include "runtime/mpi/requests/internal.h"

#include "hooks.h"
#include "next.h"

#include <sched.h>

/* Returns whether an error code says that MPI has refused the arguments, and done nothing else. */
static bool is_refusal(int rc)
{
    int class = MPI_SUCCESS;

    PMPI_Error_class(rc, &class);
    return class == MPI_ERR_REQUEST || class == MPI_ERR_ARG || class == MPI_ERR_COUNT;
}

/* After an error, settles as failed the operations that are over and that MPI has not named. */
static void settle_unnamed(pw_batch *b, const MPI_Request *requests)
{
    MPI_Comm comm;

    for (int i = 0; i < b->n; i++)
        if (b->ops[i] && requests[i] == MPI_REQUEST_NULL && pw_is_over(b->ops[i], requests[i]))
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

/* ---- settling ---------------------------------------------------------------------------------------------------- */

/* A call that completes all requests, some, or one of them. The any-forms are some-forms of one place; `n` is how many
 * were completed: MPI_UNDEFINED if no request was active. */
typedef struct complete_call {
    bool all, any, waits;
    int n, *indices; /* of the completed requests; unless it completes all */
    MPI_Status *statuses;
} complete_call;

/* Whether an operation is over that a call has named without success. What MPI calls pending can be done by now: the
 * program waits for it again, as its status says. */
static bool is_over(const pw_batch *b, const complete_call *c, int i, const MPI_Status *status)
{
    if (c->all && status->MPI_ERROR == MPI_ERR_PENDING && b->requests[i] != MPI_REQUEST_NULL)
        return false;
    return !(c->all || c->any) || pw_is_over(b->ops[i], b->requests[i]);
}

/* Settles the operations that MPI has completed, or some if it has failed. Status k is of the request at indices[k]. */
static int settle(pw_batch *b, const complete_call *c, int mpi_rc)
{
    bool well = mpi_rc == MPI_SUCCESS, refused = !well && is_refusal(mpi_rc);
    int rc = mpi_rc, next = 0, n = c->n == MPI_UNDEFINED || refused ? 0 : c->n;
    MPI_Comm comm = MPI_COMM_NULL;

    for (int k = 0; k < n; k++) {
        int i = c->all ? k : c->indices[k], error;
        MPI_Status *status = &c->statuses[k];

        if (well)
            pw_batch_begin(b, k, n, c->indices, c->statuses, &next);
        if (i < 0 || i >= b->n || !b->ops[i] || (!well && !is_over(b, c, i, status)))
            continue;
        error = pw_batch_settle(b, i, well || (!c->any && status->MPI_ERROR == MPI_SUCCESS) ? status : NULL, &comm);
        if (error != MPI_SUCCESS)
            rc = c->any ? error : fail_in_status(c->statuses, n, k, error, rc);
    }
    if (!well && !c->all)
        settle_unnamed(b, b->requests);
    return rc != MPI_SUCCESS && well ? pw_mpi_report(comm, rc) : rc;
}

/* ---- all -------------------------------------------------------------------------------------------------------- */

/*
 * MPI_Waitall of Open MPI 4.1 does not report errors of persistent requests if it writes statuses. A caller that
 * ignores statuses gets these errors from Open MPI, and finds the requests freed. Some requests were left to MPI, and
 * their communicators are not known: that of another request stands for them.
 */
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
    return failed ? pw_mpi_report(comm, MPI_ERR_IN_STATUS) : MPI_SUCCESS;
}

/* Returns whether the operation is a receive that a GPU may read, of which MPI may be asked before it completes it. */
static bool is_gathered(const pw_pending *p)
{
    return p && p->active && p->is_read_by_gpu && !(pw_is_persistent(p) && pw_mpi_forgets_status);
}

/* Makes MPI go on until it has completed the receives that a GPU may read of other processes, and gathers these reads
 * meanwhile. MPI reports errors when it is asked for all requests; but Open MPI 4.1 with MPI_THREAD_MULTIPLE never
 * returns from a call that is asked for a request which has failed before. */
static void gather_reads(const pw_batch *b)
{
    enum { PATIENCE = 64 };
    int rc = MPI_SUCCESS, tries = 0;
    MPI_Status status;

    if (pw_inbound_takers() < 2 || (PW_MPI_IS_OPEN_MPI && pw_mpi_has_threads()))
        return;
    pw_gpu_foreign_gather(PW_GATHER_ALL);
    for (int i = 0; i < b->n && rc == MPI_SUCCESS; i++)
        for (int flag = !is_gathered(b->ops[i]); !flag && rc == MPI_SUCCESS; pw_gpu_foreign_look()) {
            rc = PMPI_Request_get_status(b->requests[i], &flag, &status);
            if (++tries % PATIENCE == 0)
                sched_yield();
        }
    pw_gpu_foreign_gather(PW_GATHER_NOTHING);
}

/* Has MPI complete claimed operations: by MPI_Testall if there is a flag, else MPI_Waitall. `ignored`: no status is
 * read. */
static int complete_all(pw_batch *b, int *flag, MPI_Status *statuses, bool ignored)
{
    bool forgets = PW_MPI_IS_OPEN_MPI && !flag && ignored;
    int rc;

    if (forgets)
        for (int i = 0; i < b->n; i++)
            b->statuses[i].MPI_ERROR = MPI_SUCCESS;
    rc = flag ? pw_next.MPI_Testall(b->n, b->requests, flag, statuses)
              : pw_next.MPI_Waitall(b->n, b->requests, statuses);
    if (forgets && rc == MPI_SUCCESS)
        rc = recover_errors(b, b->requests);
    return rc != MPI_SUCCESS || !flag || *flag
               ? settle(b, &(complete_call){.all = true, .n = b->n, .statuses = statuses}, rc)
               : rc;
}

static pw_verdict all(int count, MPI_Request *requests, int *flag, MPI_Status *statuses, int *rc)
{
    bool ignored = statuses == MPI_STATUSES_IGNORE, held;
    pw_verdict verdict;
    pw_batch b;

    if (!pw_batch_open(&b, count, requests, rc, &verdict))
        return verdict;
    while ((held = pw_batch_is_held(&b)) && !flag)
        sched_yield();
    if (!flag)
        gather_reads(&b);
    if (held)
        *flag = 0, *rc = MPI_SUCCESS;
    else
        *rc = complete_all(&b, flag, ignored ? b.statuses : statuses, ignored);
    pw_batch_close(&b);
    return PW_DONE;
}

pw_verdict pw_hook_Waitall(int count, MPI_Request *requests, MPI_Status *statuses, int *rc)
{
    return all(count, requests, NULL, statuses, rc);
}

pw_verdict pw_hook_Testall(int count, MPI_Request *requests, int *flag, MPI_Status *statuses, int *rc)
{
    return flag ? all(count, requests, flag, statuses, rc) : PW_PASS;
}

/* ---- some, or any ----------------------------------------------------------------------------------------------- */

/* Asks MPI, which waits or not. */
static int ask(const pw_batch *b, complete_call *c, bool waits)
{
    int flag = 1, rc;

    if (!c->any)
        return (waits ? pw_next.MPI_Waitsome : pw_next.MPI_Testsome)(b->n, b->requests, &c->n, c->indices, c->statuses);
    rc = waits ? pw_next.MPI_Waitany(b->n, b->requests, c->indices, c->statuses)
               : pw_next.MPI_Testany(b->n, b->requests, c->indices, &flag, c->statuses);
    c->n = *c->indices != MPI_UNDEFINED ? 1 : flag ? MPI_UNDEFINED : 0;
    return rc;
}

/* Tests the requests that MPI may complete. */
static int test(pw_batch *b, complete_call *c)
{
    bool hidden = pw_batch_hide(b);
    int rc = ask(b, c, false);

    pw_batch_show(b);
    if (hidden && rc == MPI_SUCCESS && c->n == MPI_UNDEFINED)
        c->n = 0;
    return rc;
}

/* Tests, or waits: by tests as long as MPI must not complete some of the requests. */
static int test_or_wait(pw_batch *b, complete_call *c)
{
    if (!c->waits)
        return test(b, c);
    while (pw_batch_is_held(b)) {
        int rc = test(b, c);

        if (rc != MPI_SUCCESS || c->n != 0)
            return rc;
        sched_yield();
    }
    return ask(b, c, true);
}

/*
 * Completes an operation that has failed before MPI had it, in place of MPI, whose request for it is not active; or
 * asks MPI. *out: the index of an any-form, the count of another one.
 */
static pw_verdict some(bool any, bool waits, int count, MPI_Request *requests, int *out, int *flag, int *indices,
                       MPI_Status *statuses, int *rc)
{
    complete_call c = {.any = any, .waits = waits, .n = MPI_UNDEFINED, .indices = indices, .statuses = statuses};
    pw_verdict verdict;
    pw_batch b;

    if (!out || !flag || !indices)
        return PW_PASS;
    if (!pw_batch_open(&b, count, requests, rc, &verdict))
        return verdict;
    if (statuses == (any ? MPI_STATUS_IGNORE : MPI_STATUSES_IGNORE))
        c.statuses = b.statuses;
    *indices = pw_batch_failed(&b);
    if (*indices >= 0) {
        c.n = 1;
        *rc = MPI_SUCCESS;
        PMPI_Request_get_status(requests[*indices], &(int){0}, c.statuses);
    } else {
        *indices = c.n = MPI_UNDEFINED;
        *rc = test_or_wait(&b, &c);
    }
    *rc = settle(&b, &c, *rc);
    pw_batch_close(&b);
    if (*rc == MPI_SUCCESS || c.n != MPI_UNDEFINED) {
        *out = any ? *indices : c.n;
        *flag = c.n != 0;
    }
    return PW_DONE;
}

pw_verdict pw_hook_Waitany(int count, MPI_Request *requests, int *index, MPI_Status *status, int *rc)
{
    return some(true, true, count, requests, index, &(int){0}, &(int){0}, status, rc);
}

pw_verdict pw_hook_Testany(int count, MPI_Request *requests, int *index, int *flag, MPI_Status *status, int *rc)
{
    return some(true, false, count, requests, index, flag, &(int){0}, status, rc);
}

pw_verdict pw_hook_Waitsome(int incount, MPI_Request *requests, int *outcount, int *indices, MPI_Status *statuses,
                            int *rc)
{
    return some(false, true, incount, requests, outcount, &(int){0}, indices, statuses, rc);
}

pw_verdict pw_hook_Testsome(int incount, MPI_Request *requests, int *outcount, int *indices, MPI_Status *statuses,
                            int *rc)
{
    return some(false, false, incount, requests, outcount, &(int){0}, indices, statuses, rc);
}

/* ---- looking ----------------------------------------------------------------------------------------------------- */

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

/* Does what pw_batch_open does, and gives ignored statuses memory. If other threads have claimed some operations, or
 * MPI must not complete some yet, none counts as complete: it returns false with PW_DONE and success. With PW_DONE,
 * *found is 0. */
static bool open_to_look(pw_batch *b, int n, const MPI_Request *requests, int *found, MPI_Status **statuses, int *rc,
                         pw_verdict *verdict)
{
    bool open = pw_batch_open(b, n, requests, rc, verdict), held = open && pw_batch_is_held(b);

    if (*verdict != PW_DONE && (b->elsewhere || held)) {
        if (open)
            pw_batch_close(b);
        open = false;
        *rc = MPI_SUCCESS;
        *verdict = PW_DONE;
    }
    if (!open && *verdict == PW_DONE)
        *found = 0;
    if (open && (*statuses == MPI_STATUSES_IGNORE || *statuses == MPI_STATUS_IGNORE))
        *statuses = b->statuses;
    return open;
}

/* Ends a call that looks; MPI has reported n operations complete, as for settle_reported. */
static pw_verdict close_look(pw_batch *b, int n, const int *indices, MPI_Status *statuses, int *rc)
{
    if (*rc == MPI_SUCCESS)
        *rc = settle_reported(b, n, indices, statuses);
    pw_batch_close(b);
    return PW_DONE;
}

/* A thread that learns that an operation is complete may use its buffer, and several threads may ask at once. */
pw_verdict pw_hook_Request_get_status(MPI_Request request, int *flag, MPI_Status *status, int *rc)
{
    pw_verdict verdict = PW_PASS;
    pw_batch b;

    if (!flag || !open_to_look(&b, 1, &request, flag, &status, rc, &verdict))
        return verdict;
    *rc = pw_next.MPI_Request_get_status(request, flag, status);
    return close_look(&b, *flag ? 1 : 0, NULL, status, rc);
}

#if PW_MPI_HAS(4, 1)

pw_verdict pw_hook_Request_get_status_all(int count, const MPI_Request *requests, int *flag, MPI_Status *statuses,
                                          int *rc)
{
    pw_verdict verdict = PW_PASS;
    pw_batch b;

    if (!flag || !open_to_look(&b, count, requests, flag, &statuses, rc, &verdict))
        return verdict;
    *rc = pw_next.MPI_Request_get_status_all(count, requests, flag, statuses);
    return close_look(&b, *flag ? count : 0, NULL, statuses, rc);
}

pw_verdict pw_hook_Request_get_status_any(int count, const MPI_Request *requests, int *index, int *flag,
                                          MPI_Status *status, int *rc)
{
    pw_verdict verdict = PW_PASS;
    pw_batch b;

    if (!index || !flag || !open_to_look(&b, count, requests, flag, &status, rc, &verdict))
        return verdict;
    *rc = pw_next.MPI_Request_get_status_any(count, requests, index, flag, status);
    return close_look(&b, *flag ? 1 : 0, index, status, rc);
}

pw_verdict pw_hook_Request_get_status_some(int incount, const MPI_Request *requests, int *outcount, int *indices,
                                           MPI_Status *statuses, int *rc)
{
    pw_verdict verdict = PW_PASS;
    pw_batch b;

    if (!outcount || !indices || !open_to_look(&b, incount, requests, outcount, &statuses, rc, &verdict))
        return verdict;
    *rc = pw_next.MPI_Request_get_status_some(incount, requests, outcount, indices, statuses);
    return close_look(&b, *outcount != MPI_UNDEFINED ? *outcount : 0, indices, statuses, rc);
}

#endif
