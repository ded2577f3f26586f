/* Makes grid and parameters of one call. */
#include "codegen/nvrtc/launch.h"

#include "codegen/nvrtc/region_call.h"

#include <string.h>

enum {
    MAX_REGION_BLOCKS = 1 << 20, /* a region gets at most so many blocks of threads; each then takes several turns */
    CHUNKED_FROM = 2 << 10,      /* bytes of a list that blocks of threads take by spans, rather than by entries */
    LEAST_SPAN = 2 << 10,
    MOST_SPAN = 32 << 10, /* PW_LIST_GROUPS groups of 32 words of 4 bytes */
    GOOD_SPAN = 16 << 10, /* larger ones only where there are still WAVES for all */
    WAVES = 8,            /* spans for each block of threads that runs at once, so that the last ones end together */
    SHORT_SPAN = 6000,    /* of lists by bytes: PW_ODD_GROUPS groups of 32 slots, less PW_LIST_WINDOW */
    FEW_WAVES = 4         /* at most so many blocks for each that runs at once, where they shall be few */
};

/* ---- the grid ------------------------------------------------------------------------------------------------ */

/* Returns what a thread takes one of: a word, or several narrow ones. */
static int64_t thread_units(const pw_gpu_region *g, const uint64_t *rec)
{
    int64_t units = (int64_t)rec[PW_REC_UNITS];
    return rec[PW_REC_FLAGS] & PW_FLAG_NARROW ? pw_ceil_div(units, PW_NARROW_BYTES / g->word) : units;
}

/*
 * Blocks for a region, `full` of which fill its share of the GPU. A thread takes several words when there are enough;
 * when there are not, fewer words a thread are sooner done. Where every word costs a granule, one a thread is enough in
 * flight, and memory does better with what is close together in time.
 */
static int64_t region_blocks(const pw_gpu_region *g, const uint64_t *rec, int64_t full)
{
    int64_t units = thread_units(g, rec), blocks = units;
    if (g->kind == PW_GPU_WORDS) {
        int64_t most = pw_ceil_div(units, PW_GPU_THREADS);
        blocks = pw_ceil_div(units, PW_GPU_THREADS * g->batch);
        if (rec[PW_REC_FLAGS] & PW_FLAG_SPARSE)
            blocks = most;
        else if (blocks < full / 2)
            blocks = most;
        if (rec[PW_REC_FLAGS] & PW_FLAG_FEW && blocks > FEW_WAVES * full)
            blocks = FEW_WAVES * full;
    } else if (g->kind != PW_GPU_TILE && !(rec[PW_REC_FLAGS] & PW_FLAG_CHUNKED)) {
        blocks = pw_ceil_div(units, PW_GPU_THREADS >> rec[PW_REC_LANES]);
    }
    return blocks < MAX_REGION_BLOCKS ? blocks : MAX_REGION_BLOCKS;
}

/* Writes steps with which a block's words are contiguous on the packed side, if each of its threads takes several. */
static void write_steps(const pw_gpu_region *g, uint64_t *rec)
{
    int64_t blocks = (int64_t)rec[PW_REC_BLOCKS], several = PW_GPU_THREADS * g->batch;
    bool full = blocks * several <= thread_units(g, rec) + several;
    rec[PW_REC_CHUNK] = (uint64_t)(full ? several : PW_GPU_THREADS);
    rec[PW_REC_STEP] = (uint64_t)(full ? PW_GPU_THREADS : blocks * PW_GPU_THREADS);
}

static int64_t blocks_at_once(const pw_gpu_plan *plan, const pw_gpu_call *call, const pw_gpu_device *device)
{
    int resident = plan->resident[call->direction];
    int threads = device->threads > 0 ? device->threads : 2048, most = threads / PW_GPU_THREADS;
    int64_t full = (int64_t)device->multiprocessors * (most < resident ? most : resident);
    return full > 0 ? full : 1;
}

/* Returns the share part / all of `whole`, at least 1. */
static int64_t share_of(int64_t whole, int64_t part, int64_t all)
{
    int64_t share = all > 0 ? (int64_t)((double)whole * (double)part / (double)all) : whole;
    return share > 1 ? share : 1;
}

/* Shares out `full` blocks among the regions of words, and numbers all blocks through. Returns how many there are. */
static int64_t share_blocks(const pw_gpu_plan *plan, uint64_t *w, int64_t full, int64_t most)
{
    int64_t all = 0, words = 0, next = 0;
    for (int i = 0; i < plan->nregions; i++)
        if (plan->regions[i].kind == PW_GPU_WORDS)
            words += thread_units(&plan->regions[i], w + plan->regions[i].record);
    for (int i = 0; i < plan->nregions; i++) {
        const pw_gpu_region *g = &plan->regions[i];
        uint64_t *rec = w + g->record;
        rec[PW_REC_BLOCKS] = (uint64_t)region_blocks(g, rec, share_of(full, thread_units(g, rec), words));
        all += (int64_t)rec[PW_REC_BLOCKS];
    }
    for (int i = 0; i < plan->nregions; i++) {
        const pw_gpu_region *g = &plan->regions[i];
        uint64_t *rec = w + g->record;
        if (most > 0 && all > most && rec[PW_REC_BLOCKS] > 0)
            rec[PW_REC_BLOCKS] = (uint64_t)share_of(most, (int64_t)rec[PW_REC_BLOCKS], all);
        write_steps(g, rec);
        rec[PW_REC_FIRST] = (uint64_t)next;
        next += (int64_t)rec[PW_REC_BLOCKS];
        w[2 * i] = (uint64_t)next;
        w[2 * i + 1] = (uint64_t)g->record | (uint64_t)g->code << 32;
    }
    return next;
}

/* ---- launches -------------------------------------------------------------------------------------------------- */

/* Bounds spans that go through shared memory. Unpacking is faster if one window holds the whole span. */
static int64_t staged_span(const pw_region_call *c)
{
    int64_t most = pw_region_is_short(c) ? SHORT_SPAN : PW_GPU_ODD_SPAN,
            window = (PW_LIST_WINDOW - 64) * pw_region_mean_block(c);
    if (!pw_gpu_region_is_odd(c->g))
        return pw_region_is_aligned(c) ? MOST_SPAN : PW_GPU_ASKEW_SPAN;
    return c->call->direction == PW_UNPACK && window < most ? window & -16 : most;
}

/* Returns how many packed bytes of a list a block of threads takes: few enough for all blocks to get some, and several
 * spans for each if there are enough. */
static int64_t list_span(const pw_region_call *c, int64_t full)
{
    int64_t leaf = pw_region_value(c, c->g->shape->leaf_size), total, span, most;
    if (__builtin_mul_overflow(leaf, c->call->count, &total))
        total = INT64_MAX;
    span = total / full;
    if (span > GOOD_SPAN)
        span = span / WAVES > GOOD_SPAN ? span / WAVES : GOOD_SPAN;
    span = span < MOST_SPAN ? (span + 15) & -16 : MOST_SPAN;
    most = staged_span(c);
    span = span < most ? span : most;
    return span < LEAST_SPAN ? LEAST_SPAN : span;
}

static pw_status make_region(const pw_gpu_plan *plan, int region, const pw_gpu_call *call, int64_t full, uint64_t *w,
                             pw_region_call *c)
{
    const pw_gpu_region *g = &plan->regions[region];
    *c = (pw_region_call){.g = g, .call = call, .rec = w + g->record};
    if (__builtin_mul_overflow(pw_region_value(c, plan->shape->size), call->count, &c->total))
        c->total = INT64_MAX;
    c->chunked = g->kind == PW_GPU_LIST && pw_region_value(c, g->shape->leaf_size) >= CHUNKED_FROM;
    if (g->joined && (pw_gpu_region_is_odd(g) || !pw_region_is_aligned(c)))
        c->chunked = false;
    c->span = c->chunked ? list_span(c, full) : 0;
    return pw_region_write(c);
}

/* Returns the largest number that the kernel divides: a number of units, or of bytes. */
static int64_t counted_units(const pw_region_call *c)
{
    bool bytes = c->g->kind == PW_GPU_PIECES;
    return bytes && c->units < INT64_MAX / PW_GPU_PART_BYTES ? PW_GPU_PART_BYTES * c->units : c->units;
}

static void write_head(const pw_gpu_call *call, uint64_t *params)
{
    params[PW_HEAD_DST] = (uint64_t)(uintptr_t)call->dst;
    params[PW_HEAD_SRC] = (uint64_t)(uintptr_t)call->src;
    params[PW_HEAD_FLAG] = (uint64_t)(uintptr_t)call->flag.where;
    params[PW_HEAD_ENDS] = (uint64_t)(uintptr_t)call->flag.ends;
}

pw_status pw_gpu_launch_make(const pw_gpu_plan *plan, const pw_gpu_call *call, const pw_gpu_device *device,
                             uint64_t *params, pw_gpu_launch *out)
{
    uint64_t *w = params + PW_GPU_HEAD_WORDS;
    int64_t full = blocks_at_once(plan, call, device);
    pw_gpu_launch l = {.big = call->big,
                       .block = PW_GPU_THREADS,
                       .shared = (uint32_t)plan->shared_bytes[call->direction],
                       .param_bytes = pw_gpu_plan_param_bytes(plan)};
    memset(params, 0, l.param_bytes);
    for (int i = 0; i < plan->nregions; i++) {
        pw_region_call c;
        pw_status status = make_region(plan, i, call, full, w, &c);
        if (status != PW_OK)
            return status;
        l.big |= counted_units(&c) >= INT64_C(1) << 31;
        if (__builtin_add_overflow(l.total_units, c.units, &l.total_units))
            return PW_ERR_OVERFLOW;
    }
    if (l.big)
        pw_region_write_magics64(plan, w);
    l.grid = (uint32_t)share_blocks(plan, w, full, device->max_grid);
    write_head(call, params);
    *out = l;
    return PW_OK;
}
