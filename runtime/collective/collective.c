#include "runtime/collective/collective.h"

#include "runtime/collective/block_stage.h"
#include "runtime/errors.h"
#include "runtime/pool.h"
#include "runtime/registry.h"
#include "runtime/requests/pending.h"

/* ---- what is under way ------------------------------------------------------------------------------------------ */

typedef struct operation {
    pw_pending pending; /* of those with a request */
    pw_block_stage send, recv;
} operation;

static pw_status pack(operation *o)
{
    pw_status status = pw_block_stage_pack(&o->send);

    return status == PW_OK ? pw_block_stage_pack(&o->recv) : status;
}

/* The send side of a broadcast is written, where the root is elsewhere. */
static pw_status unpack(operation *o)
{
    pw_status status = pw_block_stage_unpack(&o->send);

    return status == PW_OK ? pw_block_stage_unpack(&o->recv) : status;
}

static void close(operation *o)
{
    pw_block_stage_close(&o->send);
    pw_block_stage_close(&o->recv);
}

static int call_next(operation *o, const pw_collective *stand_in)
{
    int rc = stand_in->next(stand_in);

    pw_block_stage_called(&o->send);
    pw_block_stage_called(&o->recv);
    return rc;
}

/* ---- with a request --------------------------------------------------------------------------------------------- */

static int start(pw_pending *p)
{
    return pw_mpi_error(pack((operation *)p));
}

static int complete(pw_pending *p, const MPI_Status *status)
{
    (void)status; /* collectives transfer what was asked for */
    return pw_mpi_error(unpack((operation *)p));
}

static void destroy(pw_pending *p)
{
    close((operation *)p);
    pw_pool_give(p, sizeof(operation));
}

/* MPICH leaves in the status of a collective what an earlier operation has had there, the cancelled bit included. */
static const pw_pending_ops ops = {.start = start, .complete = complete, .destroy = destroy, .uncancellable = true};

/* The stages of `o` are taken over, whatever comes. */
static pw_verdict launch(operation *o, const pw_collective *stand_in, int *rc)
{
    bool persistent = stand_in->mode == PW_PERSISTENT;
    operation *kept = pw_pool_take(sizeof *kept);

    if (!kept || (!persistent && pack(o) != PW_OK)) {
        close(o);
        pw_pool_give(kept, sizeof *kept);
        return PW_PASS;
    }
    *kept = *o;
    kept->pending = (pw_pending){.ops = &ops, .comm = stand_in->comm, .persistent = persistent};
    *rc = call_next(kept, stand_in);
    if (*rc == MPI_SUCCESS && *stand_in->request != MPI_REQUEST_NULL) {
        pw_pending_track(*stand_in->request, &kept->pending);
        return PW_DONE;
    }
    if (*rc == MPI_SUCCESS) /* done, and there will be no completing call */
        *rc = pw_mpi_fail(stand_in->comm, unpack(kept));
    destroy(&kept->pending);
    return PW_DONE;
}

/* ---- without ---------------------------------------------------------------------------------------------------- */

/* A failure of ours before the call leaves it to MPI: the other ranks are waiting for it. */
static pw_verdict carry_out(operation *o, const pw_collective *stand_in, int *rc)
{
    pw_verdict verdict = pack(o) == PW_OK ? PW_DONE : PW_PASS;

    if (verdict == PW_DONE)
        *rc = call_next(o, stand_in);
    if (verdict == PW_DONE && *rc == MPI_SUCCESS)
        *rc = pw_mpi_fail(stand_in->comm, unpack(o));
    close(o);
    return verdict;
}

/* ---- any call --------------------------------------------------------------------------------------------------- */

/* A type that is known to leave its buffer where it is, whatever its place among the arguments. */
static bool stays(const pw_side *side)
{
    const pw_entry *entry;

    if (side->form == PW_SIDE_NONE)
        return true;
    if (side->form == PW_SIDE_TYPED)
        return false;
    entry = pw_registry_find(side->type);
    return entry && !entry->layout && (!entry->dense || pw_memory_place_of(side->buf).kind == PW_PLACE_HOST);
}

static void learn(const pw_side *side)
{
    for (int i = 0; side->use && i < side->blocks; i++)
        if (pw_side_count(side, i) > 0 && pw_side_use(side, i)) {
            pw_registry_learn(pw_side_type(side, i));
            if (side->form != PW_SIDE_TYPED)
                break;
        }
}

static pw_verdict call_and_learn(const pw_collective *c, int *rc)
{
    *rc = c->next(c);
    if (*rc == MPI_SUCCESS) {
        learn(&c->send);
        learn(&c->recv);
    }
    return PW_DONE;
}

/* Turns the call into its stand-in: what MPI gets when it is left to it after all are the caller's own arguments. */
static pw_verdict stage_and_call(pw_collective *c, int *rc)
{
    operation o;
    bool staged = pw_block_stage_open(&o.send, &c->send);

    staged |= pw_block_stage_open(&o.recv, &c->recv);
    if (!staged)
        return PW_PASS;
    return c->mode == PW_BLOCKING ? carry_out(&o, c, rc) : launch(&o, c, rc);
}

/* Something may be left to do when the call has returned. */
static bool may_wait(const pw_collective *c)
{
    return c->mode == PW_BLOCKING || (pw_pending_is_seen() && (c->mode == PW_NONBLOCKING || pw_collective_restarts()));
}

pw_verdict pw_collective_call(pw_collective *c, int *rc)
{
    if ((stays(&c->send) && stays(&c->recv)) || !may_wait(c))
        return PW_PASS;
    switch (pw_collective_judge(c, rc)) {
    case PW_IS_SOUND: return stage_and_call(c, rc);
    case PW_IS_UNKNOWN: return call_and_learn(c, rc);
    case PW_IS_ERROR: return PW_DONE;
    default: return PW_PASS;
    }
}
