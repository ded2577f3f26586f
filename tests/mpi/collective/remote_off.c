/*
 * A network that is not open costs a packed Alltoallw no call: this program has the collective's own way
 * (runtime/mpi/collective/collective.c) alone, with stand-ins for all that it calls, which count what concerns a
 * network.
 */
#include "runtime/engine/memory/pool.h"
#include "runtime/exchange/gpu/foreign.h"
#include "runtime/mpi/collective/block_staging.h"
#include "runtime/mpi/collective/remote_slot.h"
#include "runtime/mpi/collective/self.h"
#include "runtime/mpi/entry/version.h"
#include "runtime/mpi/errors.h"
#include "runtime/mpi/strategy/operand.h"
#include "runtime/mpi/types/registry.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- the network ------------------------------------------------------------------------------------------------- */

const pw_transport *pw_remote_transport;
static const pw_transport transport;
pw_remote_request pw_remote_none;
static int asked;
static char some_blocks;

pw_remote_request *pw_remote_agree(const pw_collective *c)
{
    (void)c;
    asked++;
    return (pw_remote_request *)(void *)&some_blocks;
}

pw_remote_request *pw_remote_open(pw_remote_request *blocks, pw_collective *c, pw_collective_verdict verdict,
                                  bool sound)
{
    (void)c, (void)verdict;
    asked++;
    return sound ? blocks : NULL;
}

void pw_remote_start_blocks(pw_remote_request *q)
{
    (void)q;
    asked++;
}

bool pw_remote_is_over(pw_remote_request *q)
{
    (void)q;
    asked++;
    return true;
}

pw_status pw_remote_wait(pw_remote_request *q)
{
    (void)q;
    asked++;
    return PW_OK;
}

void pw_remote_close(pw_remote_request *q)
{
    (void)q;
    asked++;
}

/* ---- both sides are packed --------------------------------------------------------------------------------------- */

pw_handle_table pw_registry_types = PW_HANDLE_TABLE, pw_communicators = PW_HANDLE_TABLE;
static const pw_strategy packs;
static const pw_communicator group;
static int packed, unpacked;

pw_collective_verdict pw_collective_check(pw_collective *c, int *rc)
{
    (void)rc;
    c->group = &group;
    return PW_COLLECTIVE_SOUND;
}

pw_status pw_block_staging_open(pw_block_staging *b, pw_side *side)
{
    (void)side;
    *b = (pw_block_staging){.whole.strategy = &packs};
    return PW_OK;
}

pw_status pw_block_staging_pack(pw_block_staging *b)
{
    packed += pw_block_staging_is_open(b);
    return PW_OK;
}

pw_status pw_block_staging_unpack(pw_block_staging *b)
{
    unpacked += pw_block_staging_is_open(b);
    return PW_OK;
}

void pw_block_staging_expect(pw_block_staging *b)
{
    (void)b;
}

void pw_block_staging_close(pw_block_staging *b)
{
    b->whole.strategy = NULL;
}

void pw_self_open(pw_self *s, pw_collective *c)
{
    (void)c;
    *s = (pw_self){.n = 0};
}

void pw_self_begin(const pw_self *s)
{
    (void)s;
}

pw_status pw_self_copy(const pw_self *s)
{
    (void)s;
    return PW_OK;
}

void pw_self_close(pw_self *s)
{
    (void)s;
}

void pw_gpu_foreign_gather(pw_gathering gather)
{
    (void)gather;
}

int pw_mpi_error(pw_status status)
{
    return status == PW_OK ? MPI_SUCCESS : MPI_ERR_OTHER;
}

int pw_mpi_fail(MPI_Comm comm, pw_status status)
{
    (void)comm;
    return pw_mpi_error(status);
}

/* ---- what a blocking call does not reach ------------------------------------------------------------------------- */

bool pw_operands_are_native(const void *a, const void *b, MPI_Datatype type)
{
    (void)a, (void)b, (void)type;
    abort();
}

bool pw_pending_is_seen(void)
{
    abort();
}

void pw_pending_track(MPI_Request request, pw_pending *p)
{
    (void)request, (void)p;
    abort();
}

void *pw_pool_take_from(pw_pool_side side, int64_t bytes)
{
    (void)side, (void)bytes;
    abort();
}

void pw_pool_give_to(pw_pool_side side, void *buffer, int64_t bytes)
{
    (void)side, (void)buffer, (void)bytes;
    abort();
}

int pw_version_behind(const char *name)
{
    (void)name;
    abort();
}

/* ---- a call ------------------------------------------------------------------------------------------------------ */

static int called;

static int next(const pw_collective *c)
{
    (void)c;
    called++;
    return MPI_SUCCESS;
}

/* Makes one call. Returns how often the network was asked; -1: the call was not packed once. */
static int call(bool network)
{
    pw_collective c = {.family = PW_ALLTOALL,
                       .next = next,
                       .send = {.form = PW_SIDE_TYPED},
                       .recv = {.form = PW_SIDE_TYPED},
                       .way.mode = PW_BLOCKING};
    int rc = MPI_ERR_OTHER;

    asked = called = packed = unpacked = 0;
    pw_remote_transport = network ? &transport : NULL;
    if (pw_collective_call(&c, &rc) != PW_DONE || rc != MPI_SUCCESS || called != 1 || packed != 2 || unpacked != 1)
        return -1;
    return asked;
}

int main(void)
{
    int off = call(false), on = call(true);

    /* An open one is asked to agree, to open the blocks, to start, to wait, and to close. */
    if (off == 0 && on == 5)
        return 0;
    printf("asked the network %d times while it was off, and %d times while it was on\n", off, on);
    return 1;
}
