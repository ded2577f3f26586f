/*
 * Purpose: operations on windows that are under way. Data: `lists`, by window, each under its lock. Invariant: an
 * operation stays listed until a call that completes it has been made.
 */
#include "runtime/mpi/one_sided/rma.h"

#include "base/env.h"
#include "runtime/engine/memory/pool.h"
#include "runtime/mpi/errors.h"
#include "runtime/mpi/one_sided/internal.h"

#include <pthread.h>

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

static void link_op(op_list *list, pw_rma_op *op)
{
    op->serial = ++list->serial;
    op->prev = NULL;
    op->next = list->first;
    if (op->next)
        op->next->prev = op;
    list->first = op;
    op->listed = true;
    atomic_fetch_add_explicit(&pw_rma_live, 1, memory_order_relaxed);
}

static void unlink_op(op_list *list, pw_rma_op *op)
{
    if (op->prev)
        op->prev->next = op->next;
    else
        list->first = op->next;
    if (op->next)
        op->next->prev = op->prev;
    op->listed = false;
    atomic_fetch_sub_explicit(&pw_rma_live, 1, memory_order_release);
}

/* ---- one operation ---------------------------------------------------------------------------------------------- */

/* The bytes of all staging buffers together, which are bounded: a program may start any number of puts before it
 * synchronises, and each staging buffer takes as much memory as its origin. */
static _Atomic int64_t staged_bytes;

static bool may_stage(int64_t bytes)
{
    return atomic_fetch_add_explicit(&staged_bytes, bytes, memory_order_relaxed) + bytes <= pw_env_size(PW_ENV_STAGING);
}

static void close_side(pw_operand *side)
{
    if (pw_staging_is_open(&side->staging))
        atomic_fetch_sub_explicit(&staged_bytes, side->staging.buffer.bytes, memory_order_relaxed);
    pw_operand_close(side);
}

/* Packs into an open staging buffer what MPI must find there. `whole`: MPI writes the whole staging buffer, so a buffer
 * that MPI only writes needs nothing. */
static pw_status fill(pw_operand *side, const pw_rma_wish *wish, bool needed, bool whole)
{
    bool allowed = may_stage(side->staging.buffer.bytes), is_read = wish->message.role == PW_SEND;
    pw_status status = allowed || needed ? PW_OK : PW_ERR_NOMEM;

    if (status == PW_OK && wish->mirrored)
        status = pw_operand_mirror(side);
    return status == PW_OK && (is_read || (wish->mirrored && !whole)) ? pw_operand_fill(side) : status;
}

/* Opens one side. If that fails, the side is empty, and MPI gets the buffer itself, unless MPI cannot touch it. */
static pw_status open_side(pw_operand *side, const pw_rma_wish *wish, int64_t brought)
{
    bool needed = pw_rma_wish_is_needed(wish);
    pw_status status;

    *side = (pw_operand){.buf = NULL};
    if (!wish || !pw_staging_open(&side->staging, &wish->message))
        return needed ? PW_ERR_NOMEM : PW_OK;
    status = fill(side, wish, needed, brought >= side->staging.buffer.bytes);
    if (status == PW_OK)
        return PW_OK;
    close_side(side);
    return needed ? status : PW_OK;
}

static void close_sides(pw_rma_op *op)
{
    close_side(&op->sent);
    close_side(&op->compared);
    close_side(&op->got);
}

void pw_rma_drop(pw_rma_op *op)
{
    close_sides(op);
    pw_pool_give(op, sizeof *op);
}

static pw_status open_sides(pw_rma_op *op, const pw_rma_wishes *w)
{
    const pw_status each[] = {open_side(&op->sent, w->sent, 0), open_side(&op->compared, w->compared, 0),
                              open_side(&op->got, w->got, w->brought)};
    pw_status first = PW_OK;

    for (size_t i = 0; i < sizeof each / sizeof *each && first == PW_OK; i++)
        first = each[i];
    return first;
}

static bool is_staged(const pw_rma_op *op)
{
    return pw_staging_is_open(&op->sent.staging) || pw_staging_is_open(&op->compared.staging) ||
           pw_staging_is_open(&op->got.staging);
}

pw_status pw_rma_open(const pw_rma_wishes *wishes, pw_rma_op **out)
{
    pw_rma_op *op = pw_pool_take(sizeof *op);
    pw_status status;

    *out = NULL;
    if (!op)
        return pw_rma_wishes_are_needed(wishes) ? PW_ERR_NOMEM : PW_OK;
    *op = (pw_rma_op){.win = 0};
    status = open_sides(op, wishes);
    op->brought = wishes->brought < op->got.staging.buffer.bytes ? wishes->brought : op->got.staging.buffer.bytes;
    if (status == PW_OK && is_staged(op))
        *out = op;
    else
        pw_rma_drop(op);
    return status;
}

static pw_status bring(pw_rma_op *op)
{
    return pw_operand_unpack_part(&op->got, op->brought);
}

pw_status pw_rma_end(pw_rma_op *op)
{
    pw_status status = bring(op);

    pw_rma_drop(op);
    return status;
}

/* Unpacks and unlinks an operation that MPI has completed, and frees it unless it has a request. The caller holds the
 * list's lock. */
static pw_status finish(op_list *list, pw_rma_op *op)
{
    pw_status status = bring(op);

    unlink_op(list, op);
    if (op->has_request)
        close_sides(op);
    else
        pw_rma_drop(op);
    return status;
}

static void track(pw_rma_op *op, MPI_Win win, int target)
{
    op_list *list;

    op->win = pw_win_key(win);
    op->target = target;
    list = list_of(op->win);
    pthread_mutex_lock(&list->lock);
    link_op(list, op);
    pthread_mutex_unlock(&list->lock);
}

void pw_rma_track(pw_rma_op *op, MPI_Win win, int target)
{
    track(op, win, target);
    pw_stagings_handed_over();
}

/* ---- those with a request --------------------------------------------------------------------------------------- */

/* A flush may have settled the operation before. */
static int request_complete(pw_pending *p, const MPI_Status *status)
{
    pw_rma_op *op = (pw_rma_op *)p;
    op_list *list = list_of(op->win);
    pw_status result;

    (void)status; /* the status of a one-sided operation only has the error */
    pthread_mutex_lock(&list->lock);
    result = op->listed ? finish(list, op) : PW_OK;
    pthread_mutex_unlock(&list->lock);
    return pw_mpi_error(result);
}

static void request_destroy(pw_pending *p)
{
    pw_rma_op *op = (pw_rma_op *)p;
    op_list *list = list_of(op->win);

    pthread_mutex_lock(&list->lock);
    if (op->listed)
        unlink_op(list, op);
    pthread_mutex_unlock(&list->lock);
    pw_rma_drop(op);
}

void pw_rma_track_request(pw_rma_op *op, MPI_Win win, int target, MPI_Request request)
{
    static const pw_pending_ops ops = {.complete = request_complete, .destroy = request_destroy, .uncancellable = true};

    pw_stagings_handed_over();
    op->pending = (pw_pending){.ops = &ops, .comm = MPI_COMM_NULL};
    op->has_request = true;
    track(op, win, target);
    pw_pending_track(request, &op->pending);
}

/* ---- synchronising ---------------------------------------------------------------------------------------------- */

uint64_t pw_rma_mark(MPI_Win win)
{
    op_list *list = list_of(pw_win_key(win));
    uint64_t mark;

    pthread_mutex_lock(&list->lock);
    mark = list->serial;
    pthread_mutex_unlock(&list->lock);
    return mark;
}

pw_status pw_rma_settle(MPI_Win win, int target, uint64_t mark)
{
    uint64_t key = pw_win_key(win);
    op_list *list = list_of(key);
    pw_status first = PW_OK;

    pthread_mutex_lock(&list->lock);
    for (pw_rma_op *op = list->first, *next; op; op = next) {
        next = op->next;
        if (op->win == key && op->serial <= mark && (target == PW_RMA_ALL_TARGETS || op->target == target)) {
            pw_status status = finish(list, op);

            first = first == PW_OK ? status : first;
        }
    }
    pthread_mutex_unlock(&list->lock);
    return first;
}

int pw_win_fail(MPI_Win win, pw_status status)
{
    int error = pw_mpi_error(status);

    if (error != MPI_SUCCESS)
        PMPI_Win_call_errhandler(win, error);
    return error;
}
