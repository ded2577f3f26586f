/*
 * Carries out a staged collective or reduction: packs, calls MPI, unpacks; with a request the operation moves to
 * memory of its own and unpacks when the request completes. It is closed exactly once, also when MPI refuses the
 * call.
 */
#include "runtime/mpi/collective/collective.h"

#include "runtime/engine/memory/pool.h"
#include "runtime/exchange/gpu/foreign.h"
#include "runtime/mpi/errors.h"

/* ---- with a request ---------------------------------------------------------------------------------------------- */

static int start(pw_pending *p)
{
    pw_operation *o = (pw_operation *)p;

    return pw_mpi_error(o->kind->pack(o));
}

static int complete(pw_pending *p, const MPI_Status *status)
{
    pw_operation *o = (pw_operation *)p;

    (void)status; /* a collective always transfers what was asked for */
    return pw_mpi_error(o->kind->unpack(o));
}

static void destroy(pw_pending *p)
{
    pw_operation *o = (pw_operation *)p;

    o->kind->close(o);
    pw_pool_give(o, o->kind->bytes);
}

static bool is_held(pw_pending *p)
{
    pw_operation *o = (pw_operation *)p;

    return o->kind->is_held && o->kind->is_held(o);
}

/* MPICH leaves in the status of a collective what an earlier operation had there, even the cancelled bit. */
static const pw_pending_ops ops = {
    .start = start, .complete = complete, .is_held = is_held, .destroy = destroy, .uncancellable = true};

/* Moves an operation to memory that lives until its request completes, and packs it; a persistent operation is packed
 * in each start instead. On failure the operation is closed. */
static pw_status keep(pw_operation *o, const pw_collective_way *way, pw_operation **out)
{
    bool persistent = way->mode == PW_PERSISTENT;
    pw_operation *kept = pw_pool_take(o->kind->bytes);
    pw_status status = !kept ? PW_ERR_NOMEM : persistent ? PW_OK : o->kind->pack(o);

    if (status != PW_OK) {
        o->kind->close(o);
        pw_pool_give(kept, o->kind->bytes);
        return status;
    }
    memcpy(kept, o, (size_t)o->kind->bytes);
    kept->pending = (pw_pending){.ops = &ops, .comm = way->comm, .persistent = persistent};
    *out = kept;
    return PW_OK;
}

static pw_status launch(pw_operation *o, const pw_collective_way *way, const void *substitute, int *rc)
{
    pw_operation *kept;
    pw_status status = keep(o, way, &kept);

    if (status != PW_OK)
        return status;
    *rc = kept->kind->call(substitute);
    if (*rc == MPI_SUCCESS && *way->request != MPI_REQUEST_NULL) {
        pw_pending_track(*way->request, &kept->pending);
        return PW_OK;
    }
    if (*rc == MPI_SUCCESS) /* MPI has completed it, so no completing call will follow */
        *rc = pw_mpi_fail(way->comm, kept->kind->unpack(kept));
    destroy(&kept->pending);
    return PW_OK;
}

/* ---- without ----------------------------------------------------------------------------------------------------- */

static pw_status run(pw_operation *o, const pw_collective_way *way, const void *substitute, int *rc)
{
    pw_status status;

    pw_gpu_foreign_gather(PW_GATHER_BLOCKS);
    status = o->kind->pack(o);
    if (status == PW_OK)
        *rc = o->kind->call(substitute);
    pw_gpu_foreign_gather(PW_GATHER_NOTHING);
    if (status == PW_OK && *rc == MPI_SUCCESS)
        *rc = pw_mpi_fail(way->comm, o->kind->unpack(o));
    o->kind->close(o);
    return status;
}

pw_status pw_operation_carry_out(pw_operation *o, const pw_collective_way *way, const void *substitute, int *rc)
{
    return way->mode == PW_BLOCKING ? run(o, way, substitute, rc) : launch(o, way, substitute, rc);
}
