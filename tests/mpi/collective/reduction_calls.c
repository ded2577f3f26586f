#include "tests/mpi/collective/reduction_calls.h"

#include "tests/mpi/support/harness.h"

#include <stddef.h>

/* ---- one call ---------------------------------------------------------------------------------------------------- */

#define ONE(name, ...) (a->native ? PMPI_##name(__VA_ARGS__) : MPI_##name(__VA_ARGS__))

#if MPI_VERSION >= 4
#define IN_FORM(name, count, wide, ...) \
    (a->large ? ONE(name##_c, a->send, a->recv, wide, __VA_ARGS__) : ONE(name, a->send, a->recv, count, __VA_ARGS__))
#else
#define IN_FORM(name, count, wide, ...) ONE(name, a->send, a->recv, count, __VA_ARGS__)
#endif

#if TEST_MPI_4_CALLS
#define INIT(name, count, wide, ...) IN_FORM(name, count, wide, __VA_ARGS__, MPI_INFO_NULL, request)
#else
#define INIT(name, count, wide, ...) MPI_ERR_OTHER
#endif

#define CALL(name, iname, count, wide, ...)                                    \
    (mode == BLOCKING      ? IN_FORM(name, count, wide, __VA_ARGS__)           \
     : mode == NONBLOCKING ? IN_FORM(iname, count, wide, __VA_ARGS__, request) \
                           : INIT(name##_init, count, wide, __VA_ARGS__))

int reduction_call(reduction which, reduction_mode mode, const reduction_args *a, MPI_Request *request)
{
    (void)request;
    switch (which) {
    case REDUCE: return CALL(Reduce, Ireduce, a->count, a->count, a->type, a->op, a->root, a->comm);
    case ALLREDUCE: return CALL(Allreduce, Iallreduce, a->count, a->count, a->type, a->op, a->comm);
    case REDUCE_SCATTER:
        return CALL(Reduce_scatter, Ireduce_scatter, a->counts, a->wide_counts, a->type, a->op, a->comm);
    case REDUCE_SCATTER_BLOCK:
        return CALL(Reduce_scatter_block, Ireduce_scatter_block, a->count, a->count, a->type, a->op, a->comm);
    case SCAN: return CALL(Scan, Iscan, a->count, a->count, a->type, a->op, a->comm);
    case EXSCAN: return CALL(Exscan, Iexscan, a->count, a->count, a->type, a->op, a->comm);
    default: return IN_FORM(Reduce_local, a->count, a->count, a->type, a->op);
    }
}

/* ---- what there is ----------------------------------------------------------------------------------------------- */

const char *reduction_name(reduction which)
{
    static const char *const names[REDUCTIONS] = {"Reduce", "Allreduce", "Reduce_scatter", "Reduce_scatter_block",
                                                  "Scan",   "Exscan",    "Reduce_local"};

    return names[which];
}

bool reduction_exists(reduction which, reduction_mode mode, bool large)
{
    if ((large && MPI_VERSION < 4) || (mode == PERSISTENT && !TEST_MPI_4_CALLS))
        return false;
    return which != REDUCE_LOCAL || mode == BLOCKING;
}
