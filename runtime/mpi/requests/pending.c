/*
 * Operations by request: tracking, claiming, settling. An operation is in the table from its start until it is
 * settled or dropped, and only the thread that has claimed it may do either. What a second claim sees is either the
 * whole operation or none.
 */
#include "runtime/mpi/requests/pending.h"

#include "runtime/mpi/entry/calls.h"
#include "runtime/mpi/errors.h"
#include "runtime/mpi/requests/internal.h"

#include "next.h"

#include <dlfcn.h>
#include <sched.h>
#include <stddef.h>

_Atomic int64_t pw_pending_live = 1, pw_pending_resting;

static pw_pending *of_node(pw_pending_node *node)
{
    return node ? (pw_pending *)((char *)node - offsetof(pw_pending, node)) : NULL;
}

const void *pw_shared_request;

void pw_pending_start(void)
{
    if (PW_MPI_IS_OPEN_MPI)
        pw_shared_request = dlsym(RTLD_DEFAULT, "ompi_request_empty");
    atomic_fetch_sub_explicit(&pw_pending_live, 1, memory_order_release);
}

/* ---- are completing calls ours? --------------------------------------------------------------------------------- */

bool pw_pending_is_seen(void)
{
    static pw_calls completing = {.symbols = pw_completing};

    return pw_calls_are_ours(&completing);
}

/* ---- tracking and settling -------------------------------------------------------------------------------------- */

static MPI_Comm comm_of(const pw_pending *p)
{
    return __atomic_load_n(&p->comm, __ATOMIC_RELAXED);
}

static bool is_cancelled(const pw_pending *p, const MPI_Status *status)
{
    int cancelled = 0;

    if (!p->ops->uncancellable)
        PMPI_Test_cancelled(status, &cancelled);
    return cancelled;
}

/* Does what the runtime has to do when MPI has completed the operation. A second call only corrects the status. */
static int complete(pw_pending *p, MPI_Status *status)
{
    int rc = MPI_SUCCESS;

    if (p->ops->complete && !p->settled) {
        p->settled = true;
        rc = is_cancelled(p, status) ? MPI_SUCCESS : p->ops->complete(p, status);
    }
    if (p->moved_bytes > 0)
        PMPI_Status_set_elements_x(status, MPI_BYTE, p->moved_bytes);
    return rc;
}

/* Finishes an operation whose request MPI shares among all operations that were done at once. */
static void finish_at_once(MPI_Request request, pw_pending *p)
{
    MPI_Status status;
    int done = 0, rc = MPI_SUCCESS;

    if (p->ops->complete && PMPI_Request_get_status(request, &done, &status) == MPI_SUCCESS)
        rc = complete(p, &status);
    pw_mpi_report(comm_of(p), rc);
    p->ops->destroy(p);
}

static void count(_Atomic int64_t *n, int change)
{
    atomic_fetch_add_explicit(n, change, memory_order_relaxed);
}

void pw_pending_made(MPI_Request request)
{
    pw_pending *gone = pw_pending_claim(request);

    if (gone)
        pw_pending_drop(gone);
    pw_epoch_end();
}

void pw_pending_track(MPI_Request request, pw_pending *p)
{
    p->active = !p->persistent;
    p->settled = p->hidden = p->native = false;
    p->error = MPI_SUCCESS;
    p->request = request;
    p->stand_in = MPI_REQUEST_NULL;
    p->left = NULL;
    if (p->persistent)
        pw_pending_made(request);
    if (!p->persistent && pw_request_is_shared(request)) {
        finish_at_once(request, p);
        return;
    }
    p->rests = p->persistent && p->ops->choose;
    count(p->rests ? &pw_pending_resting : &pw_pending_live, 1);
    pw_pending_node_insert(&p->node, pw_request_key(request));
}

pw_pending *pw_pending_claim_to_look(MPI_Request request, bool *elsewhere)
{
    return of_node(pw_pending_node_claim(pw_request_key(request), elsewhere));
}

pw_pending *pw_pending_claim(MPI_Request request)
{
    bool elsewhere = false;

    return pw_pending_claim_to_look(request, &elsewhere);
}

void pw_pending_unclaim(pw_pending *p)
{
    pw_pending_node_release(&p->node);
}

/* The program's request is that of the operation again. */
static void end_stand_in(pw_pending *p)
{
    if (p->stand_in != MPI_REQUEST_NULL)
        count(&pw_pending_live, -1);
    p->stand_in = MPI_REQUEST_NULL;
}

/* Destroys an operation that is no longer in the table. */
static void destroy(pw_pending *p)
{
    count(p->rests ? &pw_pending_resting : &pw_pending_live, -1);
    p->ops->destroy(p);
}

void pw_pending_drop(pw_pending *p)
{
    pw_pending_node_remove(&p->node);
    end_stand_in(p);
    destroy(p);
}

int pw_pending_settle_early(pw_pending *p, MPI_Status *status)
{
    int rc = p->active ? complete(p, status) : MPI_SUCCESS;

    return pw_mpi_report(comm_of(p), rc);
}

int pw_pending_settle(pw_pending *p, MPI_Status *status, MPI_Comm *comm)
{
    bool failed = p->active && !status;
    int rc = p->active && status ? complete(p, status) : MPI_SUCCESS;

    rc = rc == MPI_SUCCESS && status ? p->error : rc;
    if (rc != MPI_SUCCESS)
        *comm = comm_of(p);
    if (p->persistent) {
        p->active = false;
        end_stand_in(p);
        if (failed)
            pw_pending_fail(p);
        pw_pending_unclaim(p);
    } else {
        pw_pending_drop(p);
    }
    return rc;
}

void pw_pending_free_once(pw_pending *p, MPI_Request *request, bool failed)
{
    if (!p->once || *request == MPI_REQUEST_NULL)
        return;
    p->kept = p->keeps && !failed && p->error == MPI_SUCCESS && comm_of(p) != MPI_COMM_NULL;
    if (p->kept)
        *request = MPI_REQUEST_NULL;
    else
        PMPI_Request_free(request);
}

bool pw_pending_is_held(pw_pending *p)
{
    return p->ops->is_held && p->active && !p->settled && p->ops->is_held(p);
}

void pw_pending_await(pw_pending *p)
{
    enum { PATIENCE = 64 };

    for (int tries = 1; pw_pending_is_held(p); tries++)
        if (tries % PATIENCE == 0)
            sched_yield();
}

bool pw_pending_begin_settle(pw_pending *p, const MPI_Status *status)
{
    return !p->ops->begin_complete || !p->active || p->settled || is_cancelled(p, status) ||
           p->ops->begin_complete(p, status);
}

bool pw_pending_begin_prepare(pw_pending *p)
{
    return !p->ops->begin_start || !p->persistent || p->active || p->native || p->ops->begin_start(p);
}

void pw_pending_choose(pw_pending *p)
{
    if (p->ops->choose && p->persistent && !p->active)
        p->native = !p->ops->choose(p);
}

int pw_pending_prepare(pw_pending *p)
{
    int rc;

    if (p->stand_in != MPI_REQUEST_NULL)
        return pw_mpi_report(comm_of(p), MPI_ERR_REQUEST);
    if (!p->persistent || p->active)
        return MPI_SUCCESS; /* an error of the program, which MPI reports */
    rc = p->ops->start && !p->native ? p->ops->start(p) : MPI_SUCCESS;
    return pw_mpi_report(comm_of(p), rc);
}

void pw_pending_started(pw_pending *p, MPI_Request request)
{
    p->active = !p->native;
    p->settled = false;
    if (p->stand_in != MPI_REQUEST_NULL)
        count(&pw_pending_live, 1);
    if (request == p->request)
        return;
    pw_pending_node_remove(&p->node);
    p->request = request;
    pw_pending_node_insert(&p->node, pw_request_key(request)); /* no other thread knows the new request yet */
}

static void forget_comm(void *comm, pw_pending_node *node)
{
    pw_pending *p = of_node(node);

    if (comm_of(p) == *(MPI_Comm *)comm)
        __atomic_store_n(&p->comm, MPI_COMM_NULL, __ATOMIC_RELAXED);
}

void pw_pending_forget_comm(MPI_Comm comm)
{
    pw_pending_node_each(forget_comm, &comm);
}

void pw_pending_close(void)
{
    pw_pending_node *node;

    while ((node = pw_pending_node_take_any()) != NULL)
        destroy(of_node(node));
}
