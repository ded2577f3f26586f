#include "bench/gpu/peers.h"

#include "codegen/nvrtc/start.h"

#include <stdlib.h>

static bool always(const gpu_work *w)
{
    (void)w;
    return true;
}

static void wait_for_stream(const gpu_work *w)
{
    gpu_stream_wait(w->bench->stream);
}

static void fail(const gpu_work *w, const char *what)
{
    fprintf(stderr, "%s: %s\n", w->subject->row->name, what);
    exit(1);
}

static void start_empty(const gpu_work *w)
{
    char params[40] = {0};

    gpu_launch_on(w->bench->stream, w->bench->generic.empty, 1, 256, params, sizeof params);
}

static void start_copy(const gpu_work *w)
{
    size_t bytes = (size_t)w->subject->type.root->size;

    if (w->unpack)
        gpu_copy_on(w->bench->stream, w->bench->memory, w->packed, bytes);
    else
        gpu_copy_on(w->bench->stream, w->packed, w->bench->memory, bytes);
}

/* ---- ours ------------------------------------------------------------------------------------------------------ */

static pw_gpu_call call_of(const gpu_work *w)
{
    gpu_ptr dst = w->unpack ? w->origin : w->packed, src = w->unpack ? w->packed : w->origin;

    return (pw_gpu_call){.args = &w->subject->kernel.args,
                         .count = 1,
                         .dst = (void *)(uintptr_t)dst,
                         .src = (const void *)(uintptr_t)src,
                         .direction = w->unpack};
}

static void start_specialised(const gpu_work *w)
{
    const pw_gpu_call call = call_of(w);

    if (!gpu_kernel_start_on(w->bench->stream, &w->subject->kernel, &w->bench->gpu, w->unpack, &call))
        fail(w, "no launch");
}

enum { MAX_PARAM_WORDS = 4096 };

static bool tells_of_its_end(const gpu_work *w)
{
    return pw_gpu_flag_pays(w->subject->type.root->size, w->unpack);
}

static pw_gpu_flag next_flag(gpu_flagged *f)
{
    f->value++;
    return (pw_gpu_flag){.where = (void *)(uintptr_t)f->where, .ends = (void *)(uintptr_t)f->ends};
}

static void start_as_called(const gpu_work *w)
{
    static uint64_t params[MAX_PARAM_WORDS];
    const gpu_bench *b = w->bench;
    const gpu_kernel *k = &w->subject->kernel;
    const pw_gpu_device device = {.multiprocessors = b->gpu.multiprocessors, .threads = b->gpu.threads};
    pw_gpu_call call = call_of(w);
    pw_gpu_launch l;

    if (tells_of_its_end(w))
        call.flag = next_flag(b->flagged);
    if (pw_gpu_plan_param_bytes(k->plan) > sizeof params ||
        pw_gpu_launch_make(k->plan, &call, &device, params, &l) != PW_OK || l.grid == 0)
        fail(w, "no launch");
    if (pw_gpu_graph_pays(&l)) {
        gpu_graph_set(b->flagged->graph, k->function[w->unpack][l.big], l.grid, l.block, params);
        gpu_graph_launch(b->flagged->graph, b->stream);
    } else {
        gpu_launch_on(b->stream, k->function[w->unpack][l.big], l.grid, l.block, params, l.param_bytes);
    }
}

static void wait_as_called(const gpu_work *w)
{
    const gpu_flagged *f = w->bench->flagged;

    if (!tells_of_its_end(w))
        wait_for_stream(w);
    else
        while (*f->seen != f->value)
            ;
}

void gpu_flagged_rest(gpu_bench *b)
{
    char params[40] = {0};

    gpu_graph_set(b->flagged->graph, b->generic.empty, 1, 256, params);
}

void gpu_flagged_open(gpu_bench *b)
{
    static gpu_flagged flagged;
    char params[40] = {0};

    flagged.seen = gpu_alloc_mapped(64, &flagged.where);
    *flagged.seen = 0;
    flagged.ends = gpu_alloc(64);
    gpu_fill(flagged.ends, 0, 64);
    flagged.graph = gpu_graph_make(b->generic.empty, 1, 256, params);
    b->flagged = &flagged;
}

static bool tier0_takes(const gpu_work *w)
{
    int n = pw_gpu_tier0_launches(w->subject->kernel.nest);

    return n >= 0 && n <= MAX_TIER0_LAUNCHES;
}

static void start_tier0(const gpu_work *w)
{
    const gpu_bench *b = w->bench;
    const gpu_kernel *k = &w->subject->kernel;
    const pw_gpu_device device = {.multiprocessors = b->gpu.multiprocessors, .threads = b->gpu.threads};
    const pw_gpu_call call = call_of(w);

    for (int i = 0, n = pw_gpu_tier0_launches(k->nest); i < n; i++) {
        uint64_t params[PW_GPU_TIER0_PARAM_BYTES / 8];
        pw_gpu_launch l;
        int which;

        if (pw_gpu_tier0_launch(b->tier0, k->nest, i, k->args.tables, &call, &device, params, &which, &l) != PW_OK)
            fail(w, "no launch by tier 0");
        if (l.grid > 0)
            gpu_launch_on(b->stream, b->tier0_function[which][w->unpack][l.big], l.grid, l.block, params,
                          l.param_bytes);
    }
}

/* ---- others ----------------------------------------------------------------------------------------------------- */

static bool generic_takes(const gpu_work *w)
{
    return gpu_generic_takes(w->subject->kernel.nest);
}

static void start_generic(const gpu_work *w)
{
    gpu_generic_start(&w->bench->generic, w->bench->stream, w->subject->kernel.nest, w->unpack, w->packed, w->origin);
}

/* The one loop of a region of one piece, densely packed. */
static const pw_dim *rows_of(const pw_nest *nest)
{
    const pw_region *r = nest->regions;
    const pw_dim *found = NULL;

    if (nest->nregions != 1 || r->npieces != 1)
        return NULL;
    for (int i = 0; i < r->ndims; i++) {
        if (r->dims[i].is_object)
            continue;
        if (found || r->dims[i].table || r->dims[i].packed_stride != r->leaf_size ||
            r->dims[i].mem_stride < r->leaf_size)
            return NULL;
        found = &r->dims[i];
    }
    return found;
}

static bool copy_2d(const gpu_work *w)
{
    const pw_region *r = w->subject->kernel.nest->regions;
    const pw_dim *rows = rows_of(w->subject->kernel.nest);
    gpu_ptr m = w->origin + (gpu_ptr)(r->mem_off + r->pieces[0].mem_off);
    size_t bytes = (size_t)r->leaf_size, pitch = (size_t)rows->mem_stride, n = (size_t)rows->count;

    return w->unpack ? gpu_copy_2d_on(w->bench->stream, m, pitch, w->packed, bytes, bytes, n)
                     : gpu_copy_2d_on(w->bench->stream, w->packed, bytes, m, pitch, bytes, n);
}

/* What the driver refuses shows at the first try only. */
static bool copy_2d_takes(const gpu_work *w)
{
    return rows_of(w->subject->kernel.nest) && copy_2d(w);
}

static void start_copy_2d(const gpu_work *w)
{
    if (!copy_2d(w))
        fail(w, "the driver refuses a 2-D copy");
}

typedef struct block_copies {
    const gpu_work *w;
    gpu_ptr at;
    int n;
} block_copies;

static bool start_block(void *arg, int64_t off, int64_t n)
{
    block_copies *c = arg;
    gpu_ptr m = c->w->origin + (gpu_ptr)off;

    if (c->w->unpack)
        gpu_copy_on(c->w->bench->stream, m, c->at, (size_t)n);
    else
        gpu_copy_on(c->w->bench->stream, c->at, m, (size_t)n);
    c->at += (gpu_ptr)n;
    return ++c->n < BLOCKS_TIMED;
}

static void start_blocks(const gpu_work *w)
{
    block_copies c = {.w = w, .at = w->packed};

    pw_walk(w->subject->type.root, 0, start_block, &c);
}

double gpu_peer_scale(gpu_peer_id id, const gpu_subject *s)
{
    return id == PEER_BLOCKS && s->blocks > BLOCKS_TIMED ? (double)s->blocks / BLOCKS_TIMED : 1;
}

const gpu_peer gpu_peers[PEERS] = {
    [PEER_EMPTY] = {"empty", always, start_empty, wait_for_stream},
    [PEER_COPY] = {"copy", always, start_copy, wait_for_stream},
    [PEER_SPECIALISED] = {"specialised", always, start_specialised, wait_for_stream},
    [PEER_CALLED] = {"called", always, start_as_called, wait_as_called},
    [PEER_TIER0] = {"tier0", tier0_takes, start_tier0, wait_for_stream},
    [PEER_GENERIC] = {"generic", generic_takes, start_generic, wait_for_stream},
    [PEER_COPY_2D] = {"copy2d", copy_2d_takes, start_copy_2d, wait_for_stream},
    [PEER_BLOCKS] = {"blocks", always, start_blocks, wait_for_stream},
};
