#include "runtime/collective/reduction.h"

#include "runtime/errors.h"
#include "runtime/pool.h"
#include "runtime/requests/pending.h"

/* ---- what is under way ------------------------------------------------------------------------------------------- */

typedef struct operation {
    pw_pending pending; /* of those with a request */
    pw_operand send, recv;
} operation;

static pw_status pack(operation *o)
{
    pw_status status = pw_operand_pack(&o->send);

    return status == PW_OK ? pw_operand_pack(&o->recv) : status;
}

static void close(operation *o)
{
    pw_operand_close(&o->send);
    pw_operand_close(&o->recv);
}

static pw_direction direction_of(unsigned use)
{
    return use == PW_USE_READ ? PW_SEND : use == PW_USE_WRITE ? PW_RECV : PW_BOTH;
}

static pw_status open_side(pw_operand *o, const pw_reduction_side *side, const pw_entry *entry, const void *buf)
{
    *o = (pw_operand){.direction = PW_SEND};
    return side->use ? pw_operand_open(o, PW_CALL_COLLECTIVE, direction_of(side->use), entry, buf, side->count) : PW_OK;
}

/* Opens what is needed and turns the call into its stand-in. */
static pw_status open_sides(operation *o, pw_reduction *r, pw_reduction_side *send, pw_reduction_side *recv)
{
    const pw_entry *entry = pw_registry_find(r->type);
    bool same = send->use && recv->use && r->send == r->recv; /* an error, and MPI is to see it */
    pw_status status;

    if (same) {
        recv->use = PW_USE_READ | PW_USE_WRITE;
        recv->count = recv->count > send->count ? recv->count : send->count;
        send->use = 0;
    }
    status = open_side(&o->send, send, entry, r->send);
    if (status == PW_OK)
        status = open_side(&o->recv, recv, entry, r->recv);
    else
        o->recv = (pw_operand){.direction = PW_RECV};
    if (status != PW_OK) {
        close(o);
        return status;
    }
    r->send = pw_operand_buffer(same ? &o->recv : &o->send, r->send);
    r->recv = pw_operand_buffer(&o->recv, r->recv);
    return PW_OK;
}

/* ---- without a request ------------------------------------------------------------------------------------------- */

static int carry_out(operation *o, const pw_reduction *stand_in)
{
    int rc = pw_mpi_fail(stand_in->comm, pack(o));

    if (rc == MPI_SUCCESS) {
        rc = stand_in->next(stand_in);
        if (rc == MPI_SUCCESS)
            rc = pw_mpi_fail(stand_in->comm, pw_operand_unpack(&o->recv));
    }
    close(o);
    return rc;
}

/* ---- with one ---------------------------------------------------------------------------------------------------- */

static int start(pw_pending *p)
{
    return pw_mpi_error(pack((operation *)p));
}

static int complete(pw_pending *p, const MPI_Status *status)
{
    (void)status; /* collectives transfer what was asked for */
    return pw_mpi_error(pw_operand_unpack(&((operation *)p)->recv));
}

static void destroy(pw_pending *p)
{
    close((operation *)p);
    pw_pool_give(p, sizeof(operation));
}

/* MPICH leaves in the status of a collective what an earlier operation has had there, the cancelled bit included. */
static const pw_pending_ops ops = {.start = start, .complete = complete, .destroy = destroy, .uncancellable = true};

/* A persistent one's buffer is packed at each start; MPICH 4.0.2 reads the mirror only then. */
static int launch(operation *o, const pw_reduction *stand_in)
{
    bool persistent = stand_in->mode == PW_PERSISTENT;
    operation *kept = pw_pool_take(sizeof *kept);
    int rc = pw_mpi_fail(stand_in->comm, !kept ? PW_ERR_NOMEM : persistent ? PW_OK : pack(o));

    if (rc != MPI_SUCCESS) {
        close(o);
        pw_pool_give(kept, sizeof *kept);
        return rc;
    }
    *kept = *o;
    kept->pending = (pw_pending){.ops = &ops, .comm = stand_in->comm, .persistent = persistent};
    rc = stand_in->next(stand_in);
    if (rc == MPI_SUCCESS && *stand_in->request != MPI_REQUEST_NULL) {
        pw_pending_track(*stand_in->request, &kept->pending);
        return rc;
    }
    if (rc == MPI_SUCCESS) /* done, and there will be no completing call */
        rc = pw_mpi_fail(stand_in->comm, pw_operand_unpack(&kept->recv));
    destroy(&kept->pending);
    return rc;
}

/* ---- any call ---------------------------------------------------------------------------------------------------- */

/* Is there a buffer that MPI must not have? Nothing else of the call has been looked at. */
static bool is_needed(const pw_reduction *r, const pw_entry *entry)
{
    return pw_operand_is_needed(entry, r->send, 1) || pw_operand_is_needed(entry, r->recv, 1);
}

/* A failure of ours is the call's: MPI could not do it either. */
static pw_verdict stage_and_call(const pw_reduction *r, int *rc)
{
    pw_reduction stand_in = *r;
    pw_reduction_side send, recv;
    pw_communicator unknown;
    const pw_communicator *group = pw_communicator_look(r->comm, &unknown, rc);
    operation o;

    if (!group)
        return PW_DONE; /* the first to look at the communicator is the one to complain of it */
    if (!pw_reduction_judge(r, group, &send, &recv))
        return PW_PASS;
    *rc = pw_mpi_fail(r->comm, open_sides(&o, &stand_in, &send, &recv));
    if (*rc != MPI_SUCCESS)
        return PW_DONE;
    if (!pw_operand_is_open(&o.send) && !pw_operand_is_open(&o.recv))
        return PW_PASS;
    *rc = r->mode == PW_BLOCKING ? carry_out(&o, &stand_in) : launch(&o, &stand_in);
    return PW_DONE;
}

/* MPI looks at the type of a call that combines something. */
static bool combines(const pw_reduction *r)
{
    return r->family == PW_REDUCE_SCATTER ? r->counts.at && pw_count_at(r->counts, 0) > 0 : r->count > 0;
}

pw_verdict pw_reduction_call(const pw_reduction *r, int *rc)
{
    const pw_entry *entry;

    if (pw_operands_are_native(r->send, r->recv, r->type)) /* of null buffers the type is asked next time */
        return (!r->send || !r->recv) && combines(r) ? PW_LEARN : PW_PASS;
    entry = pw_registry_find(r->type);
    if (!entry)
        return combines(r) ? PW_LEARN : PW_PASS;
    if (r->recv == MPI_IN_PLACE || !is_needed(r, entry))
        return PW_PASS;
    if (r->mode != PW_BLOCKING && (!r->request || !pw_pending_is_seen()))
        return PW_PASS;
    return stage_and_call(r, rc);
}
