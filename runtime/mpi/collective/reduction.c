/*
 * MPI_Reduce and MPI_Allreduce (MPI 4.0 section 6.9), blocking, nonblocking and persistent.
 *
 * MPI combines elements of the user's type, so packing gains nothing: MPI gets buffers in host memory as they are. For
 * buffers in GPU memory, with an MPI that does not take them, MPI gets mirrors in host memory. Counts, types and
 * operations stay the caller's, so each rank decides alone. A user-defined operation then sees host memory.
 */
#include "runtime/mpi/collective/hooks_collective.h"
#include "runtime/mpi/errors.h"
#include "runtime/mpi/strategy/operand.h"

typedef enum pw_reduction_family { PW_REDUCE, PW_ALLREDUCE } pw_reduction_family;

typedef struct pw_reduction pw_reduction;

struct pw_reduction {
    pw_reduction_family family;
    int (*next)(const pw_reduction *r); /* calls the next function with the arguments in `r` */
    void *send, *recv;                  /* `send` is not written */
    MPI_Count count;
    MPI_Datatype type;
    MPI_Op op;
    int root; /* PW_REDUCE */
    pw_collective_way way;
};

/* ---- the substitutes --------------------------------------------------------------------------------------------- */

typedef struct operation {
    pw_operation head;
    pw_operand send, recv;
} operation;

static pw_status pack(pw_operation *head)
{
    operation *o = (operation *)head;
    pw_status status = pw_operand_pack(&o->send);

    return status == PW_OK ? pw_operand_pack(&o->recv) : status;
}

static pw_status unpack(pw_operation *head)
{
    return pw_operand_unpack(&((operation *)head)->recv);
}

static void close(pw_operation *head)
{
    operation *o = (operation *)head;

    pw_operand_close(&o->send);
    pw_operand_close(&o->recv);
}

static int call(const void *substitute)
{
    return ((const pw_reduction *)substitute)->next(substitute);
}

static const pw_operation_kind kind = {
    .bytes = sizeof(operation), .pack = pack, .unpack = unpack, .call = call, .close = close};

/* Finds out how MPI uses the buffers on this rank. Returns false if MPI must check the arguments itself. Between groups
 * each group gets the result of the other; there is no contribution in place. */
static bool check(const pw_reduction *r, const pw_communicator *group, unsigned *send, unsigned *recv)
{
    bool rooted = r->family == PW_REDUCE, receives = !rooted || group->as_root == r->root;
    bool gives = !rooted || !group->between_groups || r->root >= 0, in_place = gives && r->send == MPI_IN_PLACE;

    if (rooted && !group->between_groups && (r->root < 0 || r->root >= group->size))
        return false;
    *send = gives && !in_place ? PW_USE_READ : 0;
    *recv = !receives ? 0 : in_place ? PW_USE_READ | PW_USE_WRITE : PW_USE_WRITE;
    return r->count >= 0 && !(in_place && (group->between_groups || !receives)) &&
           !(receives && r->recv == MPI_IN_PLACE);
}

static pw_status open_side(pw_operand *o, const pw_reduction *r, unsigned use, const void *buf)
{
    *o = (pw_operand){.buf = NULL};
    return use ? pw_operand_open(o, PW_CALL_COLLECTIVE, pw_use_role(use), pw_registry_find(r->type), buf, r->count)
               : PW_OK;
}

/* Opens what is needed and turns the call into its substitute. */
static pw_status open_sides(operation *o, pw_reduction *r, unsigned send, unsigned recv)
{
    bool same = send && recv && r->send == r->recv; /* an error, which MPI reports */
    pw_status sent = open_side(&o->send, r, same ? 0 : send, r->send);
    pw_status received = open_side(&o->recv, r, same ? send | recv : recv, r->recv);

    o->head.kind = &kind;
    if (sent != PW_OK || received != PW_OK) {
        close(&o->head);
        return sent != PW_OK ? sent : received;
    }
    r->send = pw_operand_buffer(same ? &o->recv : &o->send, r->send);
    r->recv = pw_operand_buffer(&o->recv, r->recv);
    return PW_OK;
}

/* ---- any call ---------------------------------------------------------------------------------------------------- */

/* Returns whether MPI cannot touch one of the buffers. The other arguments have not been checked yet. */
static bool is_needed(const pw_reduction *r, const pw_entry *entry)
{
    return pw_operand_is_needed(entry, r->send, 1) || pw_operand_is_needed(entry, r->recv, 1);
}

/* If the runtime fails, the call fails: MPI could not carry it out either. Persistent reductions work with staging
 * buffers in all MPIs: even MPICH 4.0.2 reads their buffers only when they start. */
static pw_verdict stage_and_call(const pw_reduction *r, int *rc)
{
    pw_reduction substitute = *r;
    pw_communicator unknown;
    const pw_communicator *group = pw_communicator_look(r->way.comm, &unknown, rc);
    unsigned send, recv;
    pw_status status;
    operation o;

    if (!group)
        return PW_DONE; /* MPI has reported an invalid communicator */
    if (!check(r, group, &send, &recv))
        return PW_PASS;
    status = open_sides(&o, &substitute, send, recv);
    if (status == PW_OK && !pw_operand_is_open(&o.send) && !pw_operand_is_open(&o.recv))
        return PW_PASS;
    if (status == PW_OK)
        status = pw_operation_carry_out(&o.head, &r->way, &substitute, rc);
    if (status != PW_OK)
        *rc = pw_mpi_fail(r->way.comm, status);
    return PW_DONE;
}

static pw_verdict pw_reduction_call(const pw_reduction *r, int *rc)
{
    const pw_entry *entry;

    /* The types of calls with null buffers are learned, so that the next call knows them. */
    if (pw_operands_are_native(r->send, r->recv, r->type))
        return (!r->send || !r->recv) && r->count > 0 ? PW_LEARN : PW_PASS;
    entry = pw_operand_entry(r->type, r->send);
    if (!entry)
        return r->count > 0 ? PW_LEARN : PW_PASS;
    if (!is_needed(r, entry))
        return PW_PASS;
    if (r->way.mode != PW_BLOCKING && (!r->way.request || !pw_pending_is_seen()))
        return PW_PASS;
    return stage_and_call(r, rc);
}

/* ---- the hooks --------------------------------------------------------------------------------------------------- */

#define TO_ALL_PARAMS const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op
#define TO_ALL_SIDES .send = (void *)sendbuf, .recv = recvbuf, .count = count, .type = datatype, .op = op
#define TO_ALL_ARGS c->send, c->recv, c->count, c->type, c->op

#define ROOTED_PARAMS TO_ALL_PARAMS, int root
#define ROOTED_SIDES TO_ALL_SIDES, .root = root
#define ROOTED_ARGS TO_ALL_ARGS, c->root

PW_REDUCTION_HOOKS(Reduce, Ireduce, Reduce_init, ROOTED, PW_REDUCE)
PW_REDUCTION_HOOKS(Allreduce, Iallreduce, Allreduce_init, TO_ALL, PW_ALLREDUCE)
