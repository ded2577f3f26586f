/*
 * The hooks of calls that complete one-sided operations (MPI 4.0 section 12.5). Data: none. Invariant: the mark is
 * taken before MPI is called, so that no operation is settled which MPI has not completed.
 */
#include "runtime/exchange/xpmem.h"
#include "runtime/mpi/one_sided/internal.h"

#include "hooks.h"
#include "next.h"

/* Settles operations after MPI's call. If that has failed, the operations wait for the next call. */
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

#define ALL_TARGETS(call, next)                           \
    pw_verdict pw_hook_##call(MPI_Win win, int *rc)       \
    {                                                     \
        uint64_t mark = pw_rma_mark(win);                 \
                                                          \
        *rc = (next)(win);                                \
        return settle(win, PW_RMA_ALL_TARGETS, mark, rc); \
    }

#define ONE_TARGET(call, next)                                    \
    pw_verdict pw_hook_##call(int rank, MPI_Win win, int *rc)     \
    {                                                             \
        uint64_t mark = pw_rma_mark(win);                         \
                                                                  \
        *rc = (next)(rank, win);                                  \
        return rank >= 0 ? settle(win, rank, mark, rc) : PW_DONE; \
    }

/* MPICH's local flush (4.0.2, ucx) does not wait for contiguous gets under way if MPICH has carried out a put to the
 * same target at once. Staging buffers are contiguous, so the full flush is called instead. */
#define LOCALLY(call) (PW_MPI_IS_OPEN_MPI ? pw_next.MPI_Win_flush_local##call : pw_next.MPI_Win_flush##call)

ALL_TARGETS(Win_complete, pw_next.MPI_Win_complete)
ALL_TARGETS(Win_unlock_all, pw_next.MPI_Win_unlock_all)
ALL_TARGETS(Win_flush_all, pw_next.MPI_Win_flush_all)
ALL_TARGETS(Win_flush_local_all, LOCALLY(_all))
ONE_TARGET(Win_unlock, pw_next.MPI_Win_unlock)
ONE_TARGET(Win_flush, pw_next.MPI_Win_flush)
ONE_TARGET(Win_flush_local, LOCALLY())

/* ---- windows ----------------------------------------------------------------------------------------------------- */

#define ALLOCATE(call, shared)                                                                                      \
    pw_verdict pw_hook_##call(MPI_Aint size, MPI_Aint unit, MPI_Info info, MPI_Comm comm, void *base, MPI_Win *win, \
                              bool large, int *rc)                                                                  \
    {                                                                                                               \
        *rc = pw_call_##call(size, unit, info, comm, base, win, large);                                             \
        if (*rc == MPI_SUCCESS)                                                                                     \
            pw_mapped_enter(*win, comm, shared);                                                                    \
        return PW_DONE;                                                                                             \
    }

ALLOCATE(Win_allocate, false)
ALLOCATE(Win_allocate_shared, true)

/* Settles all operations of the window, since MPI may reuse its handle for the next window. */
pw_verdict pw_hook_Win_free(MPI_Win *win, int *rc)
{
    MPI_Win old;
    uint64_t mark;

    if (!win)
        return PW_PASS;
    old = *win;
    mark = pw_rma_mark(old);
    pw_xpmem_note_removal();
    *rc = pw_next.MPI_Win_free(win);
    if (*rc == MPI_SUCCESS)
        pw_rma_settle(old, PW_RMA_ALL_TARGETS, mark);
    return PW_DONE;
}
