/* The tool below Packwright for reductions and one-sided calls of one element. */
#include "tests/mpi/support/count_reductions.h"
#include "tests/mpi/support/harness.h"

#include <stddef.h>

_Atomic long count_reductions;
_Thread_local count_operands count_last;

static void note(const void *read, const void *written, const void *counts, MPI_Datatype type, MPI_Op op)
{
    count_reductions++;
    count_last = (count_operands){.read = read, .written = written, .counts = counts, .type = type, .op = op};
}

/* ---- what follows the operation ---------------------------------------------------------------------------------- */

#define PLAIN_PARAMS , MPI_Comm comm
#define PLAIN_ARGS , comm
#define ROOTED_PARAMS , int root, MPI_Comm comm
#define ROOTED_ARGS , root, comm
#define LOCAL_PARAMS
#define LOCAL_ARGS
#define BLOCKING_PARAMS
#define BLOCKING_ARGS
#define NONBLOCKING_PARAMS , MPI_Request *request
#define NONBLOCKING_ARGS , request
#define PERSISTENT_PARAMS , MPI_Info info, MPI_Request *request
#define PERSISTENT_ARGS , info, request

/* ---- one form of a call ------------------------------------------------------------------------------------------ */

#define ONE(name, count_type, counts, shape, mode)                                              \
    int MPI_##name(const void *sendbuf, void *recvbuf, count_type count, MPI_Datatype datatype, \
                   MPI_Op op shape##_PARAMS mode##_PARAMS)                                      \
    {                                                                                           \
        note(sendbuf, recvbuf, counts, datatype, op);                                           \
        return PMPI_##name(sendbuf, recvbuf, count, datatype, op shape##_ARGS mode##_ARGS);     \
    }

#if MPI_VERSION >= 4
#define BOTH(name, shape, mode)       \
    ONE(name, int, NULL, shape, mode) \
    ONE(name##_c, MPI_Count, NULL, shape, mode)
#define BOTH_VARYING(name, mode)               \
    ONE(name, const int *, count, PLAIN, mode) \
    ONE(name##_c, const MPI_Count *, count, PLAIN, mode)
#else
#define BOTH(name, shape, mode) ONE(name, int, NULL, shape, mode)
#define BOTH_VARYING(name, mode) ONE(name, const int *, count, PLAIN, mode)
#endif

#if TEST_MPI_4_CALLS
#define ALL(name, iname, shape) \
    BOTH(name, shape, BLOCKING) BOTH(iname, shape, NONBLOCKING) BOTH(name##_init, shape, PERSISTENT)
#define ALL_VARYING(name, iname) \
    BOTH_VARYING(name, BLOCKING) BOTH_VARYING(iname, NONBLOCKING) BOTH_VARYING(name##_init, PERSISTENT)
#else
#define ALL(name, iname, shape) BOTH(name, shape, BLOCKING) BOTH(iname, shape, NONBLOCKING)
#define ALL_VARYING(name, iname) BOTH_VARYING(name, BLOCKING) BOTH_VARYING(iname, NONBLOCKING)
#endif

/* clang-format off: a table */
ALL(Reduce, Ireduce, ROOTED)
ALL(Allreduce, Iallreduce, PLAIN)
ALL_VARYING(Reduce_scatter, Ireduce_scatter)
ALL(Reduce_scatter_block, Ireduce_scatter_block, PLAIN)
ALL(Scan, Iscan, PLAIN)
ALL(Exscan, Iexscan, PLAIN)
BOTH(Reduce_local, LOCAL, BLOCKING)
/* clang-format on */

/* ---- of one element ---------------------------------------------------------------------------------------------- */

int MPI_Fetch_and_op(const void *origin_addr, void *result_addr, MPI_Datatype datatype, int target_rank,
                     MPI_Aint target_disp, MPI_Op op, MPI_Win win)
{
    note(origin_addr, result_addr, NULL, datatype, op);
    return PMPI_Fetch_and_op(origin_addr, result_addr, datatype, target_rank, target_disp, op, win);
}

int MPI_Compare_and_swap(const void *origin_addr, const void *compare_addr, void *result_addr, MPI_Datatype datatype,
                         int target_rank, MPI_Aint target_disp, MPI_Win win)
{
    note(origin_addr, result_addr, NULL, datatype, count_last.op);
    count_last.compared = compare_addr;
    return PMPI_Compare_and_swap(origin_addr, compare_addr, result_addr, datatype, target_rank, target_disp, win);
}
