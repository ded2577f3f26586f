#include "runtime/collective/block_stage.h"

#include "runtime/pool.h"

bool pw_block_stage_open(pw_block_stage *b, pw_side *side)
{
    *b = (pw_block_stage){.runs = 0};
    if (!side->use || side->blocks == 0)
        return false;
    if (side->form == PW_SIDE_TYPED ? pw_block_stage_open_typed(b, side) : pw_block_stage_open_uniform(b, side))
        return true;
    pw_block_stage_close(b);
    return false;
}

static pw_stage narrow(const pw_block_stage *b, const pw_run *run)
{
    pw_stage s = b->whole;

    s.layout = run->layout;
    s.offset = run->offset;
    s.buf = run->buf;
    s.count = run->count;
    s.data = (char *)b->whole.data + run->at;
    s.bytes = run->bytes;
    return s;
}

static pw_status pack_run(const pw_block_stage *b, const pw_run *run)
{
    pw_stage part = narrow(b, run);

    if (!run->copied)
        return pw_stage_pack(&part);
    memcpy(part.data, run->buf + run->offset, (size_t)run->bytes);
    return PW_OK;
}

static pw_status unpack_run(const pw_block_stage *b, const pw_run *run)
{
    pw_stage part = narrow(b, run);

    if (!run->copied)
        return pw_stage_unpack(&part, run->bytes);
    memcpy(run->buf + run->offset, part.data, (size_t)run->bytes);
    return PW_OK;
}

pw_status pw_block_stage_pack(pw_block_stage *b)
{
    const pw_run *runs = pw_block_stage_runs(b);
    pw_status status = PW_OK;

    for (int64_t i = 0; i < b->runs && status == PW_OK; i++)
        if (runs[i].use & PW_USE_READ)
            status = pack_run(b, &runs[i]);
    return status;
}

pw_status pw_block_stage_unpack(pw_block_stage *b)
{
    const pw_run *runs = pw_block_stage_runs(b);
    pw_status status = PW_OK;

    for (int64_t i = 0; i < b->runs && status == PW_OK; i++)
        if (runs[i].use & PW_USE_WRITE)
            status = unpack_run(b, &runs[i]);
    return status;
}

void pw_block_stage_called(pw_block_stage *b)
{
    pw_run *runs = pw_block_stage_runs(b);

    for (int64_t i = 0; i < b->runs; i++)
        pw_twin_give(&runs[i].twin);
}

void pw_block_stage_close(pw_block_stage *b)
{
    const pw_run *runs = pw_block_stage_runs(b);

    pw_block_stage_called(b);
    for (int64_t i = 0; i < b->runs; i++)
        if (runs[i].owner)
            pw_layout_unref(runs[i].layout);
    b->runs = 0;
    pw_stage_close(&b->whole);
    pw_pool_give(b->arrays, b->array_bytes);
    b->arrays = NULL;
    b->many = NULL;
}
