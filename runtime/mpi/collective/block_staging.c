/*
 * Packing, unpacking and releasing the runs of a staged side, however it was opened. Data: none but the staging.
 * Invariant: what has begun is finished, also after a failure; only bytes of blocks are written.
 */
#include "runtime/mpi/collective/block_staging.h"

#include "runtime/engine/memory/pool.h"
#include "runtime/engine/move/move.h"
#include "runtime/exchange/late.h"

pw_status pw_block_staging_open(pw_block_staging *b, pw_side *side)
{
    pw_status status;

    b->runs = 0;
    b->computes = b->is_apart = b->needed = false;
    b->whole.strategy = NULL;
    b->many = NULL;
    b->arrays = b->mirror = NULL;
    b->array_bytes = 0;
    if (!side->use || side->blocks == 0)
        return PW_OK;
    status = pw_block_staging_open_blocks(b, side);
    if (status == PW_OK)
        return PW_OK;
    pw_block_staging_close(b);
    return b->needed ? status : PW_OK;
}

static bool begin(pw_run *run, unsigned use)
{
    if (run->by_cpu || !(run->use & use))
        return true;
    return use == PW_USE_READ ? pw_staging_begin_pack(&run->part)
                              : pw_staging_begin_unpack(&run->part, run->part.buffer.bytes);
}

static pw_status move(pw_run *run, unsigned use)
{
    const pw_buffer *user = &run->part.buffer;
    const pw_buffer dense = {.base = run->part.data, .count = 1, .bytes = user->bytes};

    if (!run->by_cpu)
        return use == PW_USE_READ ? pw_staging_pack(&run->part) : pw_staging_unpack(&run->part, user->bytes);
    return use == PW_USE_READ ? pw_move_now(user, &dense, NULL) : pw_move_now(&dense, user, NULL);
}

static pw_status move_operand(pw_block_staging *b, unsigned use)
{
    const pw_buffer *user = &b->whole.buffer;
    pw_status status;

    if (!(b->one.use & use))
        return PW_OK;
    if (use == PW_USE_WRITE && b->mirror)
        pw_layout_pack(user->layout, b->mirror, user->count, b->whole.data);
    if (use == PW_USE_WRITE)
        return pw_staging_unpack(&b->whole, user->bytes);
    status = pw_staging_pack(&b->whole);
    if (status == PW_OK && b->mirror)
        pw_layout_unpack(user->layout, b->mirror, user->count, b->whole.data);
    return status;
}

/* Packs or unpacks all runs of this use. Before it waits for a run, it begins as many of the following runs as can
 * begin, so that they go on meanwhile. A failure of one run does not end the loop: runs that have begun must be
 * finished. Returns the first failure. */
static pw_status move_runs(pw_block_staging *b, unsigned use)
{
    pw_run *runs = pw_block_staging_runs(b);
    pw_status status = PW_OK;
    int64_t next = 0;

    for (int64_t i = 0; i < b->runs; i++) {
        pw_status one;

        if (!(runs[i].use & use))
            continue;
        for (next = next < i ? i : next; b->runs > 1 && next < b->runs && begin(&runs[next], use);)
            next++;
        one = move(&runs[i], use);
        status = status == PW_OK ? one : status;
    }
    return status;
}

static bool may_be_read(const pw_run *run, unsigned use)
{
    const int64_t least = PW_MPI_IS_OPEN_MPI ? PW_LEAST_READ : PW_LEAST_READ_BY_MPICH;

    return !run->by_cpu && run->use == use && run->part.buffer.bytes >= least;
}

/* Blocks of more than the pool expects are copied by MPI. */
void pw_block_staging_expect(pw_block_staging *b)
{
    pw_run *runs = pw_block_staging_runs(b);

    for (int64_t i = 0; b->is_apart && i < b->runs; i++)
        if (may_be_read(&runs[i], PW_USE_WRITE))
            pw_staging_expect(&runs[i].part);
}

/* Each block of GPU memory that is exchanged may be read late by its receiver. */
static void announce(pw_block_staging *b)
{
    bool late = b->whole.once && b->whole.channel && pw_buffer_is_on_device(&b->whole.buffer);
    pw_run *runs = pw_block_staging_runs(b);

    pw_staging_announce(&b->whole);
    for (int64_t i = 0; i < b->runs; i++) {
        runs[i].part.announced = b->whole.announced;
        runs[i].part.replicated = b->whole.replicated;
        if (late && may_be_read(&runs[i], PW_USE_READ))
            pw_late_begin_part(runs[i].part.data);
    }
}

pw_status pw_block_staging_pack(pw_block_staging *b)
{
    /* What MPI computes with has no runs, and travels otherwise. */
    if (pw_block_staging_is_open(b) && b->whole.role != PW_RECV && b->runs > 0)
        announce(b);
    return b->computes ? move_operand(b, PW_USE_READ) : move_runs(b, PW_USE_READ);
}

pw_status pw_block_staging_unpack(pw_block_staging *b)
{
    return b->computes ? move_operand(b, PW_USE_WRITE) : move_runs(b, PW_USE_WRITE);
}

void pw_block_staging_close(pw_block_staging *b)
{
    const pw_run *runs = pw_block_staging_runs(b);

    for (int64_t i = 0; i < b->runs; i++)
        if (runs[i].owner)
            pw_layout_unref(runs[i].part.buffer.layout);
    b->runs = 0;
    pw_staging_close(&b->whole);
    pw_pool_give(b->arrays, b->array_bytes);
    b->arrays = NULL;
    b->many = NULL;
}
