/*
 * One-sided communication: the origin of puts and gets may be a stage, targets are as the caller gave them. A stage
 * goes to MPI as bytes, against the target's type: both MPIs move signatures byte by byte (docs/mpi.md).
 *
 * Accumulating calls work on basic elements, which bytes do not have: they are left to MPI.
 */
#include "base/env.h"
#include "runtime/one_sided/rma_cost.h"
#include "runtime/one_sided/rma_ops.h"
#include "runtime/reach.h"
#include "runtime/registry.h"

#include "hooks.h"
#include "next.h"

#include <limits.h>

/* ---- transfers -------------------------------------------------------------------------------------------------- */

/* Decided when first asked, in this order of bits; threads that decide at once find the same. */
enum { KNOWN = 1, WHOLE = 2, FORCED = 4 };

/*
 * WHOLE: the calls that complete operations come to this library, too. FORCED: the user has named a strategy, and costs
 * are not asked.
 */
static int decide(void)
{
    static const char *const symbols[] = {"MPI_Win_fence",       "MPI_Win_complete",        "MPI_Win_unlock",
                                          "MPI_Win_unlock_all",  "MPI_Win_flush",           "MPI_Win_flush_all",
                                          "MPI_Win_flush_local", "MPI_Win_flush_local_all", "MPI_Win_free"};
    int answer = KNOWN | WHOLE;

    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++)
        if (!pw_reach_is_ours(symbols[i]))
            answer &= ~WHOLE;
    if (!pw_pending_is_seen())
        answer &= ~WHOLE;
    return *pw_env_string(PW_ENV_STRATEGY) ? answer | FORCED : answer;
}

static int decided(void)
{
    static _Atomic int known;
    int answer = atomic_load_explicit(&known, memory_order_relaxed);

    if (!answer) {
        answer = decide();
        atomic_store_explicit(&known, answer, memory_order_relaxed);
    }
    return answer;
}

/* Whether the target of this window may be written and read by this process's own CPU, as far as that can be told. */
static bool is_direct(MPI_Win win)
{
    int found = 0, *flavor = NULL;

    return PMPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &flavor, &found) == MPI_SUCCESS && found &&
           (*flavor == MPI_WIN_FLAVOR_ALLOCATE || *flavor == MPI_WIN_FLAVOR_SHARED);
}

/* For host memory; GPU memory is for the strategies to judge. */
static bool pays(const pw_message *m, const pw_entry *target, MPI_Win win)
{
    pw_rma_transfer transfer = {
        .get = m->direction == PW_RECV, .bytes = m->bytes, .blocks = m->count * m->entry->blocks};

    if (m->place.kind != PW_PLACE_HOST || decided() & FORCED)
        return true;
    if (target->layout)
        return false;
    transfer.direct = PW_MPI_IS_OPEN_MPI && is_direct(win); /* MPICH is judged without */
    return pw_rma_pays(&transfer);
}

/* Whether all of a type's objects are bytes one after another. */
static bool is_contiguous(MPI_Datatype type)
{
    MPI_Count size, lb, extent, true_lb, true_extent;

    return PMPI_Type_size_x(type, &size) == MPI_SUCCESS && PMPI_Type_get_extent_x(type, &lb, &extent) == MPI_SUCCESS &&
           PMPI_Type_get_true_extent_x(type, &true_lb, &true_extent) == MPI_SUCCESS && size == extent &&
           size == true_extent && lb == true_lb;
}

/*
 * MPICH's requests of transfers between a contiguous origin and a non-contiguous target complete when the transfer has
 * begun (4.0.2: a get's data comes later, a put's origin is still read).
 */
static bool is_request_honest(const pw_entry *target, MPI_Datatype target_datatype)
{
    return PW_MPI_IS_OPEN_MPI || (!target->layout && is_contiguous(target_datatype));
}

typedef enum op_kind { PLAIN, WITH_REQUEST } op_kind;

/* NULL: the call is native, and *verdict is what its hook returns. */
static pw_rma_op *begin(pw_direction direction, op_kind kind, const void *buf, MPI_Count count, MPI_Datatype datatype,
                        int rank, MPI_Datatype target_datatype, MPI_Win win, pw_verdict *verdict)
{
    pw_entry *target = pw_registry_find(target_datatype);
    pw_message m = {.sort = PW_CALL_ONE_SIDED,
                    .direction = direction,
                    .entry = pw_registry_find(datatype),
                    .buf = (void *)buf,
                    .count = count};

    *verdict = (!m.entry || !target) && count > 0 && rank != MPI_PROC_NULL ? PW_LEARN : PW_PASS;
    if (!m.entry || !target || rank == MPI_PROC_NULL || win == MPI_WIN_NULL || !pw_message_describe(&m) ||
        !(decided() & WHOLE) || !pays(&m, target, win) ||
        (kind == WITH_REQUEST && !is_request_honest(target, target_datatype)))
        return NULL;
    return pw_rma_open(&m);
}

/* After MPI's call. `request` is NULL for operations without. */
static pw_verdict end(pw_rma_op *op, MPI_Win win, int target, const MPI_Request *request, int rc)
{
    if (rc != MPI_SUCCESS)
        pw_rma_drop(op);
    else if (request)
        pw_rma_track_request(op, win, target, *request);
    else
        pw_rma_track(op, win, target);
    return PW_DONE;
}

pw_verdict pw_hook_Put(const void *origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype, int target_rank,
                       MPI_Aint target_disp, MPI_Count target_count, MPI_Datatype target_datatype, MPI_Win win,
                       bool large, int *rc)
{
    pw_verdict verdict;
    pw_rma_op *op =
        begin(PW_SEND, PLAIN, origin_addr, origin_count, origin_datatype, target_rank, target_datatype, win, &verdict);

    if (!op)
        return verdict;
    *rc = pw_call_Put(op->stage.data, op->stage.bytes, MPI_BYTE, target_rank, target_disp, target_count,
                      target_datatype, win, large || op->stage.bytes > INT_MAX);
    return end(op, win, target_rank, NULL, *rc);
}

pw_verdict pw_hook_Get(void *origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype, int target_rank,
                       MPI_Aint target_disp, MPI_Count target_count, MPI_Datatype target_datatype, MPI_Win win,
                       bool large, int *rc)
{
    pw_verdict verdict;
    pw_rma_op *op =
        begin(PW_RECV, PLAIN, origin_addr, origin_count, origin_datatype, target_rank, target_datatype, win, &verdict);

    if (!op)
        return verdict;
    *rc = pw_call_Get(op->stage.data, op->stage.bytes, MPI_BYTE, target_rank, target_disp, target_count,
                      target_datatype, win, large || op->stage.bytes > INT_MAX);
    return end(op, win, target_rank, NULL, *rc);
}

pw_verdict pw_hook_Rput(const void *origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype, int target_rank,
                        MPI_Aint target_disp, MPI_Count target_count, MPI_Datatype target_datatype, MPI_Win win,
                        MPI_Request *request, bool large, int *rc)
{
    pw_verdict verdict;
    pw_rma_op *op = begin(PW_SEND, WITH_REQUEST, origin_addr, origin_count, origin_datatype, target_rank,
                          target_datatype, win, &verdict);

    if (!op)
        return verdict;
    *rc = pw_call_Rput(op->stage.data, op->stage.bytes, MPI_BYTE, target_rank, target_disp, target_count,
                       target_datatype, win, request, large || op->stage.bytes > INT_MAX);
    return end(op, win, target_rank, request, *rc);
}

pw_verdict pw_hook_Rget(void *origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype, int target_rank,
                        MPI_Aint target_disp, MPI_Count target_count, MPI_Datatype target_datatype, MPI_Win win,
                        MPI_Request *request, bool large, int *rc)
{
    pw_verdict verdict;
    pw_rma_op *op = begin(PW_RECV, WITH_REQUEST, origin_addr, origin_count, origin_datatype, target_rank,
                          target_datatype, win, &verdict);

    if (!op)
        return verdict;
    *rc = pw_call_Rget(op->stage.data, op->stage.bytes, MPI_BYTE, target_rank, target_disp, target_count,
                       target_datatype, win, request, large || op->stage.bytes > INT_MAX);
    return end(op, win, target_rank, request, *rc);
}

/* ---- what completes them ---------------------------------------------------------------------------------------- */

/* After MPI's call. When it has failed, operations stay for the next. */
static pw_verdict settle(MPI_Win win, int target, uint64_t mark, int *rc)
{
    if (*rc == MPI_SUCCESS)
        *rc = pw_win_fail(win, pw_rma_settle(win, target, mark));
    return PW_DONE;
}

pw_verdict pw_hook_Win_fence(int assertion, MPI_Win win, int *rc)
{
    uint64_t mark = pw_rma_mark(win);

    *rc = pw_next.MPI_Win_fence(assertion, win);
    return settle(win, PW_RMA_ALL_TARGETS, mark, rc);
}

#define ALL_TARGETS(call)                                 \
    pw_verdict pw_hook_##call(MPI_Win win, int *rc)       \
    {                                                     \
        uint64_t mark = pw_rma_mark(win);                 \
                                                          \
        *rc = pw_next.MPI_##call(win);                    \
        return settle(win, PW_RMA_ALL_TARGETS, mark, rc); \
    }

#define ONE_TARGET(call)                                          \
    pw_verdict pw_hook_##call(int rank, MPI_Win win, int *rc)     \
    {                                                             \
        uint64_t mark = pw_rma_mark(win);                         \
                                                                  \
        *rc = pw_next.MPI_##call(rank, win);                      \
        return rank >= 0 ? settle(win, rank, mark, rc) : PW_DONE; \
    }

ALL_TARGETS(Win_complete)
ALL_TARGETS(Win_unlock_all)
ALL_TARGETS(Win_flush_all)
ALL_TARGETS(Win_flush_local_all)
ONE_TARGET(Win_unlock)
ONE_TARGET(Win_flush)
ONE_TARGET(Win_flush_local)

/* Nothing of a window outlives it: its handle may be the next one's. */
pw_verdict pw_hook_Win_free(MPI_Win *win, int *rc)
{
    MPI_Win old;
    uint64_t mark;

    if (!win)
        return PW_PASS;
    old = *win;
    mark = pw_rma_mark(old);
    *rc = pw_next.MPI_Win_free(win);
    if (*rc == MPI_SUCCESS)
        pw_rma_settle(old, PW_RMA_ALL_TARGETS, mark);
    return PW_DONE;
}
