/* The hooks of reductions. */
#include "runtime/mpi/collective/hooks_collective.h"
#include "runtime/mpi/collective/reduction.h"
#include "runtime/mpi/errors.h"

/* ---- shapes ------------------------------------------------------------------------------------------------------ */

#define EQUAL_PARAMS const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op
#define EQUAL_SIDES .send = (void *)sendbuf, .recv = recvbuf, .count = count, .type = datatype, .op = op
#define EQUAL_ARGS c->send, c->recv, c->count, c->type, c->op

#define ROOTED_PARAMS EQUAL_PARAMS, int root
#define ROOTED_SIDES EQUAL_SIDES, .root = root
#define ROOTED_ARGS EQUAL_ARGS, c->root

#define VARYING_PARAMS const void *sendbuf, void *recvbuf, pw_counts recvcounts, MPI_Datatype datatype, MPI_Op op
#define VARYING_SIDES .send = (void *)sendbuf, .recv = recvbuf, .counts = recvcounts, .type = datatype, .op = op
#define VARYING_ARGS c->send, c->recv, c->counts, c->type, c->op

/* ---- the calls --------------------------------------------------------------------------------------------------- */

/* clang-format off: a table */
PW_REDUCTION_HOOKS(Reduce, Ireduce, Reduce_init, ROOTED, PW_REDUCE)
PW_REDUCTION_HOOKS(Allreduce, Iallreduce, Allreduce_init, EQUAL, PW_ALLREDUCE)
PW_REDUCTION_HOOKS(Reduce_scatter, Ireduce_scatter, Reduce_scatter_init, VARYING, PW_REDUCE_SCATTER)
PW_REDUCTION_HOOKS(Reduce_scatter_block, Ireduce_scatter_block, Reduce_scatter_block_init, EQUAL,
                   PW_REDUCE_SCATTER_BLOCK)
PW_REDUCTION_HOOKS(Scan, Iscan, Scan_init, EQUAL, PW_SCAN)
PW_REDUCTION_HOOKS(Exscan, Iexscan, Exscan_init, EQUAL, PW_EXSCAN)
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
    entry = pw_operand_entry(datatype, inbuf);
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
