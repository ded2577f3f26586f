/*
 * A collective from its check to its completion: the sides that pay are staged, blocks to oneself are copied, blocks
 * that are read over a network are taken out, and MPI gets what is left. A call is either carried out whole or left to
 * MPI with the caller's own arguments; once MPI must not touch a buffer, an error is the call's.
 */
#include "runtime/mpi/collective/collective.h"

#include "runtime/mpi/collective/block_staging.h"
#include "runtime/mpi/collective/is_native.h"
#include "runtime/mpi/collective/remote.h"
#include "runtime/mpi/collective/self.h"
#include "runtime/mpi/entry/version.h"
#include "runtime/mpi/errors.h"
#include "runtime/mpi/types/registry.h"

/* ---- the stand-ins ----------------------------------------------------------------------------------------------- */

typedef struct operation {
    pw_operation head;
    pw_block_staging send, recv;
    pw_self self;
    pw_remote_request *remote; /* of a persistent call; NULL: it has none */
} operation;

static pw_status pack(pw_operation *head)
{
    operation *o = (operation *)head;
    pw_status status = pw_block_staging_pack(&o->send);

    if (status == PW_OK)
        status = pw_block_staging_pack(&o->recv);
    if (status == PW_OK) {
        pw_block_staging_expect(&o->recv);
        pw_self_begin(&o->self);
    }
    if (status == PW_OK && o->remote)
        pw_remote_request_start(o->remote);
    return status;
}

/* MPI writes the send side of a broadcast on ranks other than the root. */
static pw_status unpack(pw_operation *head)
{
    operation *o = (operation *)head;
    pw_status status = pw_block_staging_unpack(&o->send);
    pw_status remote = o->remote ? pw_remote_request_wait(o->remote) : PW_OK;
    pw_status self = pw_self_copy(&o->self);

    if (status == PW_OK)
        status = pw_block_staging_unpack(&o->recv);
    return status != PW_OK ? status : self != PW_OK ? self : remote;
}

static void close_sides(operation *o)
{
    pw_block_staging_close(&o->send);
    pw_block_staging_close(&o->recv);
}

static void close(pw_operation *head)
{
    operation *o = (operation *)head;

    close_sides(o);
    pw_self_close(&o->self);
    if (o->remote)
        pw_remote_request_close(o->remote);
    o->remote = NULL;
}

static bool is_held(pw_operation *head)
{
    operation *o = (operation *)head;

    return o->remote && !pw_remote_request_is_over(o->remote);
}

static int call(const void *stand_in)
{
    return ((const pw_collective *)stand_in)->next(stand_in);
}

static const pw_operation_kind kind = {
    .bytes = sizeof(operation), .pack = pack, .unpack = unpack, .call = call, .is_held = is_held, .close = close};

/* ---- any call ---------------------------------------------------------------------------------------------------- */

static void note(const pw_side *side)
{
    for (int i = 0; side->use && i < side->blocks; i++)
        if (pw_side_count(side, i) > 0 && pw_side_use(side, i)) {
            pw_registry_accepted(pw_side_type(side, i));
            if (side->form != PW_SIDE_TYPED)
                break;
        }
}

static pw_verdict call_and_note(const pw_collective *c, int *rc)
{
    *rc = c->next(c);
    if (*rc == MPI_SUCCESS) {
        note(&c->send);
        note(&c->recv);
    }
    return PW_DONE;
}

/* Returns whether this MPI can do with staging buffers in place of the program's. In persistent collectives MPICH
 * before 4.3 copies blocks from the send buffer when it makes the request, though the program need not have filled the
 * buffer yet; it transfers nothing from the second start on, and frees types that it does not own. Only MPIs that are
 * known to work are trusted. */
static bool may_stage(const pw_collective *c)
{
    return c->way.mode != PW_PERSISTENT || pw_version_behind(PW_VERSION_MPICH) >= 4003 ||
           pw_version_behind(PW_VERSION_OPEN_MPI) >= 5000;
}

static pw_status open_sides(operation *o, pw_collective *c)
{
    pw_status sent = pw_block_staging_open(&o->send, &c->send), received = pw_block_staging_open(&o->recv, &c->recv);

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

    o->head.kind = &kind;
    o->remote = NULL;
    if (!may_stage(c)) {
        *o = (operation){.head.kind = &kind};
        return PW_OK;
    }
    pw_self_open(&o->self, c);
    status = open_sides(o, c);
    if (status == PW_OK && needs_both_sides(o)) {
        close(&o->head);
        c->send = send;
        c->recv = recv;
        status = open_sides(o, c);
    }
    if (status != PW_OK)
        close(&o->head);
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
        pw_remote_request_close(remote);
    if (status == PW_OK)
        status = pw_operation_carry_out(&o.head, &c->way, c, rc);
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
    switch (verdict) {
    case PW_COLLECTIVE_SOUND: return stage_and_call(c, remote, rc);
    case PW_COLLECTIVE_UNKNOWN: return call_and_note(c, rc);
    case PW_COLLECTIVE_ERROR: return PW_DONE;
    default: return PW_PASS;
    }
}

/* A call of which some blocks may go without MPI, which then gets the call without them in any case. */
static pw_verdict call_with_remote(pw_collective *c, int *rc)
{
    pw_collective_verdict verdict = pw_collective_check(c, rc);
    pw_remote_call remote;
    pw_verdict done;
    pw_status status;

    if (verdict == PW_COLLECTIVE_ERROR)
        return PW_DONE;
    pw_remote_agree(&remote, c);
    if (verdict == PW_COLLECTIVE_LEFT)
        return PW_PASS;
    pw_remote_open(&remote, verdict == PW_COLLECTIVE_SOUND);
    done = carry_out(c, verdict, NULL, rc);
    if (done == PW_PASS)
        *rc = c->next(c);
    status = pw_remote_close(&remote);
    if (*rc == MPI_SUCCESS)
        *rc = pw_mpi_fail(c->way.comm, status);
    return PW_DONE;
}

/* Makes a persistent request of which some blocks may go without MPI. */
static pw_verdict init_with_remote(pw_collective *c, int *rc)
{
    pw_collective_verdict verdict = pw_collective_check(c, rc);
    pw_remote_request *request;
    pw_remote_call remote;

    if (verdict == PW_COLLECTIVE_ERROR)
        return PW_DONE;
    if (!c->way.request)
        return PW_PASS;
    pw_remote_agree(&remote, c);
    if (verdict == PW_COLLECTIVE_LEFT)
        return PW_PASS;
    request = pw_remote_request_open(&remote, verdict == PW_COLLECTIVE_SOUND && pw_pending_is_seen());
    return request || may_wait(c) ? carry_out(c, verdict, request, rc) : PW_PASS;
}

pw_verdict pw_collective_call(pw_collective *c, int *rc)
{
    bool has_remote = pw_remote_serves(c->family, c->send.form);

    if (has_remote && c->way.mode == PW_BLOCKING)
        return call_with_remote(c, rc);
    if (has_remote && c->way.mode == PW_PERSISTENT)
        return init_with_remote(c, rc);
    if (pw_sides_are_plain(&c->send, &c->recv) || !may_wait(c))
        return PW_PASS;
    return carry_out(c, pw_collective_check(c, rc), NULL, rc);
}
