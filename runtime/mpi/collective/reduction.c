/*
 * Reductions of GPU memory with an MPI that does not take it: mirrors stand in for the buffers. Counts, types and
 * operation stay the caller's, so MPI checks them. Everything else is left to MPI as it is.
 */
#include "runtime/mpi/collective/reduction.h"

#include "runtime/mpi/errors.h"
#include "runtime/mpi/requests/pending.h"

/* ---- the substitutes -----------------------------------------------------------------------------------------------
 */

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

static int call(pw_operation *head, const void *substitute)
{
    const pw_reduction *r = substitute;

    (void)head;
    return r->next(r);
}

static const pw_operation_kind kind = {
    .bytes = sizeof(operation), .pack = pack, .unpack = unpack, .call = call, .close = close};

static pw_status open_side(pw_operand *o, const pw_reduction_side *side, const pw_entry *entry, const void *buf)
{
    *o = (pw_operand){.buf = NULL};
    return side->use ? pw_operand_open(o, PW_CALL_COLLECTIVE, pw_use_role(side->use), entry, buf, side->count) : PW_OK;
}

/* Opens what is needed and turns the call into its substitute. */
static pw_status open_sides(operation *o, pw_reduction *r, pw_reduction_side *send, pw_reduction_side *recv)
{
    const pw_entry *entry = pw_registry_find(r->type);
    bool same = send->use && recv->use && r->send == r->recv; /* an error, which MPI reports */
    pw_status status;

    o->head.kind = &kind;
    if (same) {
        recv->use = PW_USE_READ | PW_USE_WRITE;
        recv->count = recv->count > send->count ? recv->count : send->count;
        send->use = 0;
    }
    status = open_side(&o->send, send, entry, r->send);
    if (status == PW_OK)
        status = open_side(&o->recv, recv, entry, r->recv);
    else
        o->recv = (pw_operand){.buf = NULL};
    if (status != PW_OK) {
        close(&o->head);
        return status;
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
    pw_reduction_side send, recv;
    pw_communicator unknown;
    const pw_communicator *group = pw_communicator_look(r->way.comm, &unknown, rc);
    pw_status status;
    operation o;

    if (!group)
        return PW_DONE; /* MPI has reported an invalid communicator */
    if (!pw_reduction_check(r, group, &send, &recv))
        return PW_PASS;
    status = open_sides(&o, &substitute, &send, &recv);
    if (status == PW_OK && !pw_operand_is_open(&o.send) && !pw_operand_is_open(&o.recv))
        return PW_PASS;
    if (status == PW_OK)
        status = pw_operation_carry_out(&o.head, &r->way, &substitute, rc);
    if (status != PW_OK)
        *rc = pw_mpi_fail(r->way.comm, status);
    return PW_DONE;
}

/* Returns whether the call combines any elements: only then does MPI check the type. */
static bool combines(const pw_reduction *r)
{
    return r->family == PW_REDUCE_SCATTER ? r->counts.at && pw_count_at(r->counts, 0) > 0 : r->count > 0;
}

pw_verdict pw_reduction_call(const pw_reduction *r, int *rc)
{
    const pw_entry *entry;

    /* The types of calls with null buffers are learned, so that the next call knows them. */
    if (pw_operands_are_native(r->send, r->recv, r->type))
        return (!r->send || !r->recv) && combines(r) ? PW_LEARN : PW_PASS;
    entry = pw_operand_entry(r->type, r->send);
    if (!entry)
        return combines(r) ? PW_LEARN : PW_PASS;
    if (!is_needed(r, entry))
        return PW_PASS;
    if (r->way.mode != PW_BLOCKING && (!r->way.request || !pw_pending_is_seen()))
        return PW_PASS;
    return stage_and_call(r, rc);
}
