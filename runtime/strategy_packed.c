/*
 * packed: the kernel packs into a staging buffer, which goes as an ordinary contiguous message; and the other way
 * round.
 *
 * The bytes on the wire are the same as without us - typemap order, no header - so each side decides alone. They are
 * sent as MPI_BYTE: what is matched is envelope and length, and the peer's type gives them meaning (docs/mpi.md says
 * why not MPI_PACKED).
 */
#include "base/env.h"
#include "runtime/cost.h"
#include "runtime/pool.h"
#include "runtime/registry.h"
#include "runtime/strategy.h"

#include "next.h"

#include <limits.h>

static bool can(const pw_transfer *t)
{
    return t->bytes <= pw_env_int(PW_ENV_STAGING) && (t->bytes <= INT_MAX || PW_MPI_LARGE);
}

static double cost(const pw_transfer *t)
{
    return pw_cost_packed(t->bytes, t->count * t->entry->blocks);
}

static bool start_send(pw_transfer *t, int *rc)
{
    pw_layout_pack(t->entry->layout, t->buf, t->count, t->staging);
    *rc = pw_call_Send(t->staging, t->bytes, MPI_BYTE, t->peer, t->tag, t->comm, t->bytes > INT_MAX);
    return true;
}

static bool start_recv(pw_transfer *t, int *rc)
{
    /* MPI knows nothing of the type while it receives bytes, so it cannot keep it alive. */
    t->layout = pw_layout_ref(t->entry->layout);
    if (t->status == MPI_STATUS_IGNORE)
        t->status = &t->own_status;
    *rc = pw_call_Recv(t->staging, t->bytes, MPI_BYTE, t->peer, t->tag, t->comm, t->status, t->bytes > INT_MAX);
    return true;
}

static bool start(pw_transfer *t, int *rc)
{
    t->staging = pw_pool_take(t->bytes);
    if (!t->staging)
        return false;
    return t->direction == PW_SEND ? start_send(t, rc) : start_recv(t, rc);
}

/* Bytes that have arrived; -1 when MPI cannot tell. */
static int64_t arrived(const pw_transfer *t)
{
#if PW_MPI_LARGE
    MPI_Count n = 0;

    if (PMPI_Get_count_c(t->status, MPI_BYTE, &n) != MPI_SUCCESS || n == MPI_UNDEFINED)
        return -1;
#else
    int n = 0;

    if (PMPI_Get_count(t->status, MPI_BYTE, &n) != MPI_SUCCESS || n == MPI_UNDEFINED)
        return -1;
#endif
    return n;
}

static void finish(pw_transfer *t, int *rc)
{
    if (t->direction == PW_RECV && *rc == MPI_SUCCESS) {
        t->received = arrived(t);
        if (t->received == t->bytes)
            pw_layout_unpack(t->layout, t->buf, t->count, t->staging);
        else if (t->received > 0 && t->received < t->bytes)
            pw_layout_unpack_prefix(t->layout, t->buf, t->received, t->staging);
    }
    pw_layout_unref(t->layout);
    pw_pool_give(t->staging, t->bytes);
    t->staging = NULL;
}

const pw_strategy pw_strategy_packed = {.name = "packed", .can = can, .cost = cost, .start = start, .finish = finish};
