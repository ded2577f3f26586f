/*
 * Orphans: operations whose request the program has freed while they were under way. The runtime keeps MPI's request to
 * learn when the operation is over; then it unpacks the data and gives staging memory back. Errors of MPI in orphans go
 * to the error handler only.
 *
 * Each sweep tests all orphans that are receives, since the program may be about to learn that their message has come.
 * It tests a few in turn of the orphans that only hold memory.
 */
#include "base/lock.h"
#include "runtime/mpi/errors.h"
#include "runtime/mpi/requests/kept.h"
#include "runtime/mpi/requests/pending.h"

enum { FEW = 8 };

typedef struct queue {
    pw_pending *first, *last;
    _Atomic int n;
} queue;

/* The singleton. A thread holds `sweeping` through calls of MPI; others leave the work to that one. */
static struct {
    pthread_mutex_t sweeping;
    pthread_mutex_t lock; /* guards the queues */
    queue owing;          /* operations with data to unpack */
    queue holding;        /* operations that only hold memory */
} orphans = {.sweeping = PTHREAD_MUTEX_INITIALIZER, .lock = PTHREAD_MUTEX_INITIALIZER};

/* This thread holds `sweeping`. MPI may call an error handler meanwhile, which may enter the runtime again. */
static _Thread_local bool is_sweeping;

static queue *queue_of(const pw_pending *p)
{
    return p->ops->complete && !p->settled ? &orphans.owing : &orphans.holding;
}

static void push(queue *q, pw_pending *p)
{
    PW_HOLD(&orphans.lock);

    p->next_orphan = NULL;
    *(q->first ? &q->last->next_orphan : &q->first) = p;
    q->last = p;
    q->n++;
}

static pw_pending *pop(queue *q)
{
    PW_HOLD(&orphans.lock);
    pw_pending *p = q->first;

    if (p) {
        q->first = p->next_orphan;
        q->n--;
    }
    return p;
}

void pw_pending_orphan(pw_pending *p)
{
    queue *q = queue_of(p);

    /* It stays claimed in the table, invisible to all but pw_pending_forget_comm, until it is dropped. */
    atomic_fetch_add_explicit(&pw_gate_unfinished, 1, memory_order_relaxed);
    pw_epoch_end();
    push(q, p);
}

/* Tests an orphan, or waits for it, and settles it if it is over. Returns whether it was. */
static bool finish(pw_pending *p, bool wait)
{
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Request request = pw_pending_below(p);
    MPI_Status status;
    int done = 1, rc;

    if (wait)
        pw_pending_await(p);
    else if (pw_pending_is_held(p))
        return false;
    rc = wait ? PMPI_Wait(&request, &status) : PMPI_Test(&request, &done, &status);
    if (rc == MPI_SUCCESS && !done)
        return false;
    if (p->stand_in != MPI_REQUEST_NULL)
        request = p->request;
    if (p->persistent || p->once) {
        if (request != MPI_REQUEST_NULL) /* Open MPI frees the requests of operations that fail */
            PMPI_Request_free(&request);
        p->persistent = false;
    }
    atomic_fetch_sub_explicit(&pw_gate_unfinished, 1, memory_order_relaxed);
    rc = pw_pending_settle(p, rc == MPI_SUCCESS ? &status : NULL, &comm);
    pw_mpi_report(comm, rc);
    return true;
}

/* Takes up to `n` orphans out of a queue, and puts back those that are not over. With `wait`, it waits for those of a
 * communicator, or for all (MPI_COMM_NULL). */
static void sweep(queue *q, int n, bool wait, MPI_Comm comm)
{
    pw_pending *p;

    while (n-- > 0 && (p = pop(q)) != NULL)
        if (!finish(p, wait && (comm == MPI_COMM_NULL || __atomic_load_n(&p->comm, __ATOMIC_RELAXED) == comm)))
            push(q, p);
}

static bool begin_sweep(bool wait)
{
    if (is_sweeping)
        return false;
    if (wait)
        pthread_mutex_lock(&orphans.sweeping);
    else if (pthread_mutex_trylock(&orphans.sweeping) != 0)
        return false;
    is_sweeping = true;
    return true;
}

void pw_pending_sweep(bool wait, MPI_Comm comm)
{
    if (begin_sweep(wait)) {
        sweep(&orphans.owing, orphans.owing.n, wait, comm);
        sweep(&orphans.holding, wait ? orphans.holding.n : FEW, wait, comm);
        is_sweeping = false;
        pthread_mutex_unlock(&orphans.sweeping);
    }
    if (wait)
        pw_kept_forget(comm);
}
