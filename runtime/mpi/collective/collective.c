/*
 * A collective from its check to its completion: the sides that pay are staged, blocks to oneself are copied, blocks
 * that are read without MPI are taken out (remote.h), and MPI gets what is left. A call is either carried out whole or
 * left to MPI with the caller's own arguments; once MPI must not touch a buffer, an error is the call's.
 *
 * An operation is a collective in which MPI gets stand-ins for buffers. A blocking call packs what MPI reads, calls
 * MPI, and unpacks what MPI has written. With a request the operation moves to memory of its own and unpacks when the
 * request completes. It is closed exactly once, also when MPI refuses the call.
 */
#include "runtime/mpi/collective/collective.h"

#include "runtime/engine/gpu/memory.h"
#include "runtime/engine/memory/pool.h"
#include "runtime/exchange/gpu/foreign.h"
#include "runtime/mpi/collective/block_staging.h"
#include "runtime/mpi/collective/is_native.h"
#include "runtime/mpi/collective/remote.h"
#include "runtime/mpi/collective/self.h"
#include "runtime/mpi/entry/version.h"
#include "runtime/mpi/errors.h"
#include "runtime/mpi/strategy/operand.h"

/* ---- operations -------------------------------------------------------------------------------------------------- */

/* Plain data, which may be moved before a call has a request. */
typedef struct operation {
    pw_pending pending; /* used if the call has a request */
    pw_block_staging send, recv;
    pw_self self;
    pw_remote_request *remote; /* NULL: it has none */
} operation;

static pw_status pack(operation *o)
{
    pw_status status = pw_block_staging_pack(&o->send);

    if (status == PW_OK)
        status = pw_block_staging_pack(&o->recv);
    if (status != PW_OK)
        return status;
    pw_block_staging_expect(&o->recv);
    pw_self_begin(&o->self);
    if (o->remote)
        pw_remote_start_blocks(o->remote);
    return PW_OK;
}

static pw_status unpack(operation *o)
{
    pw_status remote = o->remote ? pw_remote_wait(o->remote) : PW_OK;
    pw_status self = pw_self_copy(&o->self);
    pw_status status = pw_block_staging_unpack(&o->recv);

    return status != PW_OK ? status : self != PW_OK ? self : remote;
}

/* Closes what stands for buffers. Calls no MPI. */
static void close_buffers(operation *o)
{
    pw_block_staging_close(&o->send);
    pw_block_staging_close(&o->recv);
    pw_self_close(&o->self);
    if (o->remote)
        pw_remote_close(o->remote);
    o->remote = NULL;
}

/* ---- with a request ---------------------------------------------------------------------------------------------- */

static int start(pw_pending *p)
{
    return pw_mpi_error(pack((operation *)p));
}

static int complete(pw_pending *p, const MPI_Status *status)
{
    (void)status; /* a collective always transfers what was asked for */
    return pw_mpi_error(unpack((operation *)p));
}

static bool is_held(pw_pending *p)
{
    pw_remote_request *remote = ((operation *)p)->remote;

    return remote && !pw_remote_is_over(remote);
}

static void destroy(pw_pending *p)
{
    close_buffers((operation *)p);
    pw_pool_give(p, sizeof(operation));
}

/* MPICH leaves in the status of a collective what an earlier operation had there, even the cancelled bit. */
static const pw_pending_ops ops = {
    .start = start, .complete = complete, .is_held = is_held, .destroy = destroy, .uncancellable = true};

/* A persistent operation is packed in each start. */
static pw_status launch(operation *o, const pw_collective *c, int *rc)
{
    bool persistent = c->way.mode == PW_PERSISTENT;
    operation *kept = pw_pool_take(sizeof *kept);
    pw_status status = !kept ? PW_ERR_NOMEM : persistent ? PW_OK : pack(o);

    if (status != PW_OK) {
        close_buffers(o);
        pw_pool_give(kept, sizeof *kept);
        return status;
    }
    *kept = *o;
    kept->pending = (pw_pending){.ops = &ops, .comm = c->way.comm, .persistent = persistent};
    *rc = c->next(c);
    if (*rc == MPI_SUCCESS && *c->way.request != MPI_REQUEST_NULL) {
        pw_pending_track(*c->way.request, &kept->pending);
        return PW_OK;
    }
    if (*rc == MPI_SUCCESS) /* MPI has completed it, so no completing call will follow */
        *rc = pw_mpi_fail(c->way.comm, unpack(kept));
    destroy(&kept->pending);
    return PW_OK;
}

/* ---- without ----------------------------------------------------------------------------------------------------- */

static pw_status run(operation *o, const pw_collective *c, int *rc)
{
    pw_status status;

    pw_gpu_foreign_gather(PW_GATHER_BLOCKS);
    status = pack(o);
    if (status == PW_OK)
        *rc = c->next(c);
    pw_gpu_foreign_gather(PW_GATHER_NOTHING);
    if (status == PW_OK && *rc == MPI_SUCCESS)
        *rc = pw_mpi_fail(c->way.comm, unpack(o));
    close_buffers(o);
    return status;
}

/* ---- any call ---------------------------------------------------------------------------------------------------- */

/* Returns whether this MPI can do with staging buffers in place of the program's. In persistent collectives MPICH
 * before 4.3 copies blocks from the send buffer when it makes the request, though the program need not have filled the
 * buffer yet; it transfers nothing from the second start on, and frees types that it does not own. Only MPIs that are
 * known to work are trusted. Reductions work in all. */
static bool may_stage(const pw_collective *c)
{
    return c->way.mode != PW_PERSISTENT || c->send.computes || pw_version_behind(PW_VERSION_MPICH) >= 4003 ||
           pw_version_behind(PW_VERSION_OPEN_MPI) >= 5000;
}

static pw_status open_sides(operation *o, pw_collective *c)
{
    pw_status sent, received;

    pw_memory_together(c->recv.form == PW_SIDE_TYPED && c->recv.blocks > 1);
    sent = pw_block_staging_open(&o->send, &c->send);
    received = pw_block_staging_open(&o->recv, &c->recv);
    pw_memory_together(false);
    return sent == PW_OK ? received : sent;
}

/* Whether MPI would read or write user memory of blocks that are copied otherwise. */
static bool needs_both_sides(const operation *o)
{
    return o->self.in_staging && !(pw_block_staging_is_open(&o->send) && pw_block_staging_is_open(&o->recv));
}

/* Turns the call into its stand-in. */
static pw_status open_all(operation *o, pw_collective *c)
{
    const pw_side send = c->send, recv = c->recv;
    pw_status status;

    o->remote = NULL;
    if (!may_stage(c)) {
        *o = (operation){.remote = NULL};
        return PW_OK;
    }
    pw_self_open(&o->self, c);
    status = open_sides(o, c);
    if (status == PW_OK && needs_both_sides(o)) {
        close_buffers(o);
        c->send = send;
        c->recv = recv;
        status = open_sides(o, c);
    }
    if (status != PW_OK)
        close_buffers(o);
    return status;
}

/* If the runtime fails before it has called MPI, it leaves the call to MPI with the caller's own arguments, since the
 * other ranks wait for this one. If MPI cannot touch the buffers, or has to do without some blocks, the call fails.
 * `remote`: of these blocks; closed if the call fails. */
static pw_verdict stage_and_call(pw_collective *c, pw_remote_request *remote, int *rc)
{
    operation o;
    pw_status status = open_all(&o, c);
    bool needed = o.send.needed || o.recv.needed || remote;

    if (status == PW_OK && !pw_block_staging_is_open(&o.send) && !pw_block_staging_is_open(&o.recv) && o.self.n == 0 &&
        !remote)
        return PW_PASS;
    if (status == PW_OK)
        o.remote = remote;
    else if (remote)
        pw_remote_close(remote);
    if (status == PW_OK)
        status = c->way.mode == PW_BLOCKING ? run(&o, c, rc) : launch(&o, c, rc);
    if (status != PW_OK && !needed)
        return PW_PASS;
    if (status != PW_OK)
        *rc = pw_mpi_fail(c->way.comm, status);
    return PW_DONE;
}

/* Returns whether the runtime may finish this call after it has returned, if it has a request. */
static bool may_wait(const pw_collective *c)
{
    return c->way.mode == PW_BLOCKING || (pw_pending_is_seen() && may_stage(c));
}

static pw_verdict carry_out(pw_collective *c, pw_collective_verdict verdict, pw_remote_request *remote, int *rc)
{
    if (verdict == PW_COLLECTIVE_SOUND)
        return stage_and_call(c, remote, rc);
    return verdict == PW_COLLECTIVE_ERROR ? PW_DONE : PW_PASS;
}

/* A call of which some blocks may go without MPI. */
static pw_verdict call_with_remote(pw_collective *c, int *rc)
{
    pw_collective_verdict verdict = pw_collective_check(c, rc);
    bool is_sound = verdict == PW_COLLECTIVE_SOUND && (c->way.mode == PW_BLOCKING || pw_pending_is_seen());
    pw_remote_request *remote;

    if (!c->group)
        return carry_out(c, verdict, NULL, rc);
    remote = pw_remote_agree(c);
    if (remote)
        remote = pw_remote_open(remote, c, verdict, is_sound);
    return remote || may_wait(c) ? carry_out(c, verdict, remote, rc) : PW_PASS;
}

pw_verdict pw_collective_call(pw_collective *c, int *rc)
{
    if (pw_remote_serves(c->family, c->send.form, c->way.comm) && c->way.mode != PW_NONBLOCKING)
        return call_with_remote(c, rc);
    if ((pw_side_is_plain(&c->send, pw_side_entry(&c->send)) && pw_side_is_plain(&c->recv, pw_side_entry(&c->recv))) ||
        !may_wait(c))
        return PW_PASS;
    return carry_out(c, pw_collective_check(c, rc), NULL, rc);
}

/*
 * MPI_Reduce and MPI_Allreduce (MPI 4.0 section 6.9), blocking, nonblocking and persistent.
 *
 * MPI combines elements of the user's type, so packing gains nothing: MPI gets buffers in host memory as they are. For
 * buffers in GPU memory, with an MPI that does not take them, MPI gets mirrors in host memory. Counts, types and
 * operations stay the caller's, so each rank decides alone. A user-defined operation then sees host memory.
 */
pw_verdict pw_reduction_call(pw_collective *c, int *rc)
{
    if (pw_operands_are_native(c->send.buf, c->recv.buf, c->send.type))
        return PW_PASS;
    return pw_collective_call(c, rc);
}
