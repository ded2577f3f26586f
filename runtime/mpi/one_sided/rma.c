/*
 * Purpose: operations on windows that are under way. Data: `lists`, by window, each under its lock. Invariant: an
 * operation stays listed until a call that completes it has been made.
 */
#include "runtime/mpi/one_sided/rma.h"

#include "base/env.h"
#include "base/lock.h"
#include "runtime/engine/memory/pool.h"
#include "runtime/mpi/errors.h"
#include "runtime/mpi/one_sided/internal.h"

_Atomic int64_t pw_rma_live = 1;

/* The lists of operations by window. Windows that share a list only share its lock. */
enum { LISTS = 64 };

typedef struct op_list {
    pthread_mutex_t lock;
    pw_rma_op *first;
    uint64_t serial; /* of the last operation */
} op_list;

static op_list lists[LISTS] = {[0 ... LISTS - 1] = {.lock = PTHREAD_MUTEX_INITIALIZER}};

void pw_rma_start(void)
{
    atomic_fetch_sub_explicit(&pw_rma_live, 1, memory_order_release);
}

static op_list *list_of(uint64_t win)
{
    return &lists[(win * UINT64_C(0x9e3779b97f4a7c15)) >> 58];
}

/* ---- one operation ---------------------------------------------------------------------------------------------- */

/* The bytes of all staging buffers together, which are bounded: a program may start any number of puts before it
 * synchronises, and each staging buffer takes as much memory as its origin. */
static _Atomic int64_t staged_bytes;

static bool may_stage(int64_t bytes)
{
    return atomic_fetch_add_explicit(&staged_bytes, bytes, memory_order_relaxed) + bytes <= pw_env_size(PW_ENV_STAGING);
}

void pw_rma_drop(pw_rma_op *op)
{
    atomic_fetch_sub_explicit(&staged_bytes, op->staging.buffer.bytes, memory_order_relaxed);
    pw_staging_close(&op->staging);
    pw_pool_give(op, sizeof *op);
}

pw_status pw_rma_open(const pw_message *m, int64_t brought, pw_rma_op **out)
{
    pw_rma_op *op = pw_pool_take(sizeof *op);
    bool needed = pw_mirror_is_needed(m), allowed;
    pw_status status;

    *out = NULL;
    if (!op || !pw_staging_open(&op->staging, m)) {
        pw_pool_give(op, sizeof *op);
        return needed ? PW_ERR_NOMEM : PW_OK;
    }
    op->brought = brought < op->staging.buffer.bytes ? brought : op->staging.buffer.bytes;
    allowed = may_stage(op->staging.buffer.bytes);
    status = !allowed && !needed ? PW_ERR_NOMEM : m->role == PW_SEND ? pw_staging_pack(&op->staging) : PW_OK;
    if (status == PW_OK) {
        *out = op;
        return PW_OK;
    }
    pw_rma_drop(op);
    return needed ? status : PW_OK;
}

void pw_rma_track(pw_rma_op *op, MPI_Win win, int target)
{
    uint64_t key = pw_win_key(win);
    op_list *list = list_of(key);
    PW_HOLD(&list->lock);

    op->win = key;
    op->target = target;
    op->serial = ++list->serial;
    op->next = list->first;
    list->first = op;
    atomic_fetch_add_explicit(&pw_rma_live, 1, memory_order_relaxed);
}

/* Unpacks an operation that MPI has completed, and frees it. */
static pw_status finish(pw_rma_op *op)
{
    pw_status status = op->staging.role == PW_SEND ? PW_OK : pw_staging_unpack(&op->staging, op->brought);

    atomic_fetch_sub_explicit(&pw_rma_live, 1, memory_order_release);
    pw_rma_drop(op);
    return status;
}

/* ---- synchronising ---------------------------------------------------------------------------------------------- */

uint64_t pw_rma_mark(MPI_Win win)
{
    op_list *list = list_of(pw_win_key(win));
    PW_HOLD(&list->lock);

    return list->serial;
}

pw_status pw_rma_settle(MPI_Win win, int target, uint64_t mark)
{
    uint64_t key = pw_win_key(win);
    op_list *list = list_of(key);
    pw_status first = PW_OK;
    PW_HOLD(&list->lock);

    for (pw_rma_op **link = &list->first, *op; (op = *link) != NULL;) {
        pw_status status;

        if (op->win != key || op->serial > mark || (target != PW_RMA_ALL_TARGETS && op->target != target)) {
            link = &op->next;
            continue;
        }
        *link = op->next;
        status = finish(op);
        first = first == PW_OK ? status : first;
    }
    return first;
}

int pw_win_fail(MPI_Win win, pw_status status)
{
    int error = pw_mpi_error(status);

    if (error != MPI_SUCCESS)
        PMPI_Win_call_errhandler(win, error);
    return error;
}
