/* Launches of fused moves without a GPU: their jobs, one after the other. */
#include "codegen/nvrtc/fused.h"
#include "tests/mpi/gpu/fake.h"

#include <string.h>

typedef struct run {
    const fake_context_t *context;
    const uint64_t *address, *rec, *loops;
    int nloops, kind;
    bool unpack, tabled;
    int64_t inner; /* iteration of the innermost loop */
    int error;
} run;

static uint64_t entry(run *r, uint64_t table, uint64_t width, int64_t i)
{
    const void *p = fake_reach(r->context, table + (uint64_t)i * width, (size_t)width, false);

    if (!p) {
        r->error = FAKE_FAULT;
        return 0;
    }
    return width == 2 ? *(const uint16_t *)p : width == 4 ? *(const uint32_t *)p : *(const uint64_t *)p;
}

static void copy(run *r, uint64_t mem, uint64_t packed, uint64_t bytes)
{
    void *to = fake_reach(r->context, r->address[PW_JOB_DST] + (r->unpack ? mem : packed), (size_t)bytes, false);
    void *from = fake_reach(r->context, r->address[PW_JOB_SRC] + (r->unpack ? packed : mem), (size_t)bytes, false);

    if (bytes == 0)
        return;
    if (!to || !from)
        r->error = FAKE_FAULT;
    else
        memcpy(to, from, (size_t)bytes);
}

static void copy_block(run *r, uint64_t mem, uint64_t packed)
{
    const uint64_t *x = r->rec + PW_JOB_EXTRA;
    uint64_t offs = x[5] & 255, starts = x[5] >> 8 & 255, begin = entry(r, x[2], starts, r->inner);

    copy(r, mem + x[1] * entry(r, x[0], offs, r->inner), packed + x[3] + x[4] * begin,
         x[4] * (entry(r, x[2], starts, r->inner + 1) - begin));
}

static void leaf(run *r, uint64_t mem, uint64_t packed)
{
    if (r->kind == PW_JOB_LIST)
        copy_block(r, mem, packed);
    else if (r->kind != PW_JOB_PARTS)
        copy(r, mem, packed, UINT64_C(1) << r->kind);
    else if (r->inner == 0)
        copy(r, mem, packed, r->rec[PW_JOB_EXTRA + 3]);
}

/* Walks the loops, the outermost one first. */
static void walk(run *r, int loop, uint64_t mem, uint64_t packed)
{
    const uint64_t *l = r->loops + PW_JOB_LOOP_WORDS * loop, *x = r->rec + PW_JOB_EXTRA;
    int64_t count = (int64_t)(l[PW_JOB_LOOP_COUNT] & UINT32_MAX);

    if (loop < 0) {
        leaf(r, mem, packed);
        return;
    }
    for (int64_t i = 0; i < count && !r->error; i++) {
        uint64_t off = (uint64_t)i * (uint64_t)((int64_t)l[PW_JOB_LOOP_MEM] >> 6);

        if (loop == 0)
            r->inner = i;
        if (r->tabled && loop == (int)(x[2] >> 8))
            off += x[1] * entry(r, x[0], x[2] & 255, i);
        walk(r, loop - 1, mem + off, packed + (uint64_t)i * l[PW_JOB_LOOP_PACKED]);
    }
}

int fake_run_fused(const fake_context_t *context, bool unpack, const uint64_t *params)
{
    const uint64_t *w = params + PW_GPU_HEAD_WORDS;
    int error = FAKE_OK;

    for (uint64_t i = 0; i < w[0] && error == FAKE_OK; i++) {
        run r = {.context = context,
                 .unpack = unpack,
                 .address = w + 1 + w[0] + PW_JOB_ADDRESSES * i,
                 .rec = w + (w[1 + i] >> 32)};
        uint64_t shape = r.rec[PW_JOB_SHAPE];

        r.kind = (int)(shape & 255);
        r.nloops = (int)(shape >> 8 & 255);
        r.tabled = shape >> 16 & PW_JOB_TABLE;
        r.loops = r.rec + (shape >> 24 & 255);
        walk(&r, r.nloops - 1, 0, 0);
        error = r.error;
    }
    return error;
}
