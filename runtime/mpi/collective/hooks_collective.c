/* Collectives that move data between all ranks, from and to a root, and between neighbours; and reductions. */
#include "runtime/mpi/collective/hooks_collective.h"

#include "runtime/mpi/strategy/operand.h"

PW_COLLECTIVES(PW_COLLECTIVE_HOOKS)
PW_NEIGHBOURHOODS(PW_COLLECTIVE_HOOKS)

/*
 * MPI_Reduce and MPI_Allreduce (MPI 4.0 section 6.9), blocking, nonblocking and persistent.
 *
 * MPI combines elements of the user's type, so packing gains nothing: MPI gets buffers in host memory as they are. For
 * buffers in GPU memory, with an MPI that does not take them, MPI gets mirrors in host memory. Counts, types and
 * operations stay the caller's, so each rank decides alone. A user-defined operation then sees host memory.
 */

/* The rest of the work is that of other collectives. The types of calls with null buffers are learned, so that the next
 * call knows them. */
static pw_verdict reduction_call(pw_collective *c, int *rc)
{
    if (pw_operands_are_native(c->send.buf, c->recv.buf, c->send.type))
        return (!c->send.buf || !c->recv.buf) && c->send.count > 0 ? PW_LEARN : PW_PASS;
    return pw_collective_call(c, rc);
}

/* clang-format off */
#define BOTH_PARAMS(pointer, side) \
    const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op,
#define OPERAND(buffer) \
    {.form = PW_SIDE_ONE, .buf = (void *)(buffer), .count = count, .type = datatype, .computes = true}
#define BOTH_SIDE(side) .send = OPERAND(sendbuf), .recv = OPERAND(recvbuf), .op = op,
#define BOTH_ARGS(side) c->send.buf, c->recv.buf, c->send.count, c->send.type, c->op,
/* clang-format on */

PW_HOOKS(reduction, Reduce, Ireduce, Reduce_init, BOTH, NONE, ROOT, PW_REDUCE)
PW_HOOKS(reduction, Allreduce, Iallreduce, Allreduce_init, BOTH, NONE, ALL, PW_ALLREDUCE)
