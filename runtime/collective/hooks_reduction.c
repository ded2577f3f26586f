/*
 * The hooks of reductions: one row for each call in its three modes. X_PARAMS are the parameters of hooks, X_SIDES what
 * they say, X_ARGS how they are passed on.
 */
#include "runtime/collective/reduction.h"
#include "runtime/errors.h"

#include "hooks.h"
#include "next.h"

/* ---- modes ------------------------------------------------------------------------------------------------------- */

#define BLOCKING_PARAMS
#define BLOCKING_MORE
#define BLOCKING_ARGS
#define NONBLOCKING_PARAMS , MPI_Request *request
#define NONBLOCKING_MORE , .request = request
#define NONBLOCKING_ARGS , r->request
#define PERSISTENT_PARAMS , MPI_Info info, MPI_Request *request
#define PERSISTENT_MORE , .info = info, .request = request
#define PERSISTENT_ARGS , r->info, r->request

/* ---- shapes ------------------------------------------------------------------------------------------------------ */

#define EQUAL_PARAMS const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op
#define EQUAL_SIDES .count = count
#define EQUAL_ARGS r->send, r->recv, r->count, r->type, r->op

#define ROOTED_PARAMS EQUAL_PARAMS, int root
#define ROOTED_SIDES EQUAL_SIDES, .root = root
#define ROOTED_ARGS EQUAL_ARGS, r->root

#define VARYING_PARAMS const void *sendbuf, void *recvbuf, pw_counts recvcounts, MPI_Datatype datatype, MPI_Op op
#define VARYING_SIDES .counts = recvcounts
#define VARYING_ARGS r->send, r->recv, r->counts, r->type, r->op

/* ---- hooks ------------------------------------------------------------------------------------------------------- */

#define REDUCTION_HOOK(name, shape, of_family, of_mode)                                            \
    static int next_##name(const pw_reduction *r)                                                  \
    {                                                                                              \
        return pw_call_##name(shape##_ARGS, r->comm of_mode##_ARGS, r->large);                     \
    }                                                                                              \
                                                                                                   \
    pw_verdict pw_hook_##name(shape##_PARAMS, MPI_Comm comm of_mode##_PARAMS, bool large, int *rc) \
    {                                                                                              \
        const pw_reduction r = {.family = of_family,                                               \
                                .mode = PW_##of_mode,                                              \
                                .next = next_##name,                                               \
                                .send = (void *)sendbuf,                                           \
                                .recv = recvbuf,                                                   \
                                shape##_SIDES,                                                     \
                                .type = datatype,                                                  \
                                .op = op,                                                          \
                                .comm = comm,                                                      \
                                .large = large of_mode##_MORE};                                    \
                                                                                                   \
        return pw_reduction_call(&r, rc);                                                          \
    }

#if PW_MPI_SINCE(4, 0)
#define INIT_HOOK(name, shape, family) REDUCTION_HOOK(name, shape, family, PERSISTENT)
#else
#define INIT_HOOK(name, shape, family)
#endif

#define REDUCTION_HOOKS(blocking, nonblocking, persistent, shape, family) \
    REDUCTION_HOOK(blocking, shape, family, BLOCKING)                     \
    REDUCTION_HOOK(nonblocking, shape, family, NONBLOCKING)               \
    INIT_HOOK(persistent, shape, family)

/* clang-format off: a table */
REDUCTION_HOOKS(Reduce, Ireduce, Reduce_init, ROOTED, PW_REDUCE)
REDUCTION_HOOKS(Allreduce, Iallreduce, Allreduce_init, EQUAL, PW_ALLREDUCE)
REDUCTION_HOOKS(Reduce_scatter, Ireduce_scatter, Reduce_scatter_init, VARYING, PW_REDUCE_SCATTER)
REDUCTION_HOOKS(Reduce_scatter_block, Ireduce_scatter_block, Reduce_scatter_block_init, EQUAL, PW_REDUCE_SCATTER_BLOCK)
REDUCTION_HOOKS(Scan, Iscan, Scan_init, EQUAL, PW_SCAN)
REDUCTION_HOOKS(Exscan, Iexscan, Exscan_init, EQUAL, PW_EXSCAN)
/* clang-format on */

/* ---- on one rank ------------------------------------------------------------------------------------------------- */

typedef struct local_reduction {
    pw_operand in, inout;
} local_reduction;

static pw_status open_local(local_reduction *l, const pw_entry *entry, const void *in, void *inout, MPI_Count count)
{
    pw_status status = pw_operand_open(&l->in, PW_CALL_COLLECTIVE, PW_SEND, entry, in, count), other;

    other = pw_operand_open(&l->inout, PW_CALL_COLLECTIVE, PW_BOTH, entry, inout, count);
    status = status == PW_OK ? other : status;
    if (status == PW_OK)
        status = pw_operand_pack(&l->in);
    return status == PW_OK ? pw_operand_pack(&l->inout) : status;
}

static void close_local(local_reduction *l)
{
    pw_operand_close(&l->in);
    pw_operand_close(&l->inout);
}

pw_verdict pw_hook_Reduce_local(const void *inbuf, void *inoutbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
                                bool large, int *rc)
{
    const pw_entry *entry;
    local_reduction l;

    if (pw_operands_are_native(inbuf, inoutbuf, datatype))
        return PW_PASS;
    entry = pw_registry_find(datatype);
    if (!entry)
        return count > 0 ? PW_LEARN : PW_PASS;
    if (!pw_operand_is_needed(entry, inbuf, count) && !pw_operand_is_needed(entry, inoutbuf, count))
        return PW_PASS;
    *rc = pw_mpi_fail(MPI_COMM_SELF, open_local(&l, entry, inbuf, inoutbuf, count));
    if (*rc == MPI_SUCCESS) {
        *rc = pw_call_Reduce_local(pw_operand_buffer(&l.in, inbuf), pw_operand_buffer(&l.inout, inoutbuf), count,
                                   datatype, op, large);
        if (*rc == MPI_SUCCESS)
            *rc = pw_mpi_fail(MPI_COMM_SELF, pw_operand_unpack(&l.inout));
    }
    close_local(&l);
    return PW_DONE;
}
