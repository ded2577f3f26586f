/*
 * What a layout has on GPUs: the plan of its kernels, made once, and for each context its tables and functions.
 * Tables are uploaded once and do not change; a layout without them is moved by copies of the driver.
 */
#include "runtime/engine/gpu/layout.h"

#include "base/lock.h"

#include <stdlib.h>
#include <string.h>

/*
 * Bytes moved before a kernel is compiled. On an H100 tier 0 loses 0.3 to 1 us a call of a vector, whatever its size,
 * and 6 us for each region more, so that the 0.1 to 1 s of NVRTC would come back in some 100,000 calls, or 1000 of a
 * whole halo. But the worker thread has this time to spare, and a kernel stays on disk for all later runs. So the
 * threshold only keeps out layouts that move little, once or twice.
 */
enum { COMPILE_BYTES = 1 << 20, TABLE_ALIGN = 16 };

/* ---- tables ------------------------------------------------------------------------------------------------------ */

typedef void table_fn(void *arg, const pw_table *table);

/* Calls fn for each table in the order of pw_shape_bind: the lists of a region, then the tables of its loops. */
static void each_table(const pw_nest *nest, table_fn *fn, void *arg)
{
    for (int r = 0; r < nest->nregions; r++) {
        const pw_region *region = &nest->regions[r];

        if (region->blocks) {
            fn(arg, &region->blocks->offs);
            fn(arg, &region->blocks->starts);
            if (region->blocks->packed_offs.data)
                fn(arg, &region->blocks->packed_offs);
        }
        for (int d = 0; d < region->ndims; d++) {
            if (region->dims[d].table)
                fn(arg, region->dims[d].table);
            if (region->dims[d].packed_table)
                fn(arg, region->dims[d].packed_table);
        }
    }
}

typedef struct upload {
    int n;
    int64_t bytes; /* of the tables so far */
    const void **addresses;
    pw_cu_ptr to;
    char *image; /* the tables as they are copied to the device; NULL: only count bytes */
} upload;

static void lay_out(void *arg, const pw_table *t)
{
    upload *u = arg;
    int64_t bytes = t->n * t->width;

    if (u->image) {
        memcpy(u->image + u->bytes, t->data, (size_t)bytes);
        u->addresses[u->n] = (const void *)(uintptr_t)(u->to + (pw_cu_ptr)u->bytes);
    }
    u->n++;
    u->bytes += (bytes + TABLE_ALIGN - 1) & -TABLE_ALIGN;
}

/* Copies all tables to the device at once, through pinned memory. */
static pw_status copy_tables(pw_gpu_bound *b, const pw_nest *nest, int64_t bytes)
{
    pw_gpu_block *pinned = NULL;
    pw_status status = pw_gpu_take(b->gpu, PW_GPU_PINNED_MEMORY, bytes, &pinned);

    if (status == PW_OK) {
        upload u = {.addresses = b->table_addresses, .to = b->tables->device, .image = pinned->host};

        each_table(nest, lay_out, &u);
        status = pw_gpu_copy(b->gpu, b->tables->device, pinned->device, bytes);
    }
    pw_gpu_give(b->gpu, pinned);
    return status;
}

static pw_status upload_tables(pw_gpu_bound *b, const pw_nest *nest)
{
    upload sizes = {.n = 0};
    pw_status status;

    each_table(nest, lay_out, &sizes);
    b->table_addresses = calloc((size_t)sizes.n + 1, sizeof *b->table_addresses);
    if (!b->table_addresses)
        return PW_ERR_NOMEM;
    if (sizes.n == 0)
        return PW_OK;
    status = pw_gpu_take(b->gpu, PW_GPU_DEVICE_MEMORY, sizes.bytes, &b->tables);
    return status == PW_OK ? copy_tables(b, nest, sizes.bytes) : status;
}

/* ---- in a context ------------------------------------------------------------------------------------------------ */

static void bound_free(pw_gpu_bound *b)
{
    if (b->kernel)
        pw_cache_release(b->gpu->code->cache, b->kernel);
    pw_gpu_give(b->gpu, b->tables);
    free(b->table_addresses);
    free(b);
}

/* Without its tables on the device, a layout can still be moved by copies of the driver. */
static pw_gpu_bound *bound_create(const pw_gpu_layout *l, pw_gpu *gpu)
{
    pw_gpu_bound *b = calloc(1, sizeof *b);

    if (!b)
        return NULL;
    b->gpu = gpu;
    b->args.params = l->layout->args.params;
    if (upload_tables(b, l->layout->nest) != PW_OK) {
        free(b->table_addresses);
        b->table_addresses = NULL;
        return b;
    }
    b->args.tables = b->table_addresses;
    if (l->plan && gpu->code && gpu->code->cache)
        b->kernel = pw_cache_kernel(gpu->code->cache, l->layout->shape);
    return b;
}

static pw_gpu_bound *find(pw_gpu_layout *layout, const pw_gpu *gpu)
{
    pw_gpu_bound *b = atomic_load_explicit(&layout->bound, memory_order_acquire);

    while (b && b->gpu != gpu)
        b = b->next;
    return b;
}

pw_gpu_bound *pw_gpu_layout_bind(pw_gpu_layout *layout, pw_gpu *gpu)
{
    pw_gpu_bound *b = find(layout, gpu);

    if (b)
        return b;
    PW_HOLD(&layout->lock);
    b = find(layout, gpu);
    if (!b && (b = bound_create(layout, gpu)) != NULL) {
        b->next = atomic_load_explicit(&layout->bound, memory_order_relaxed);
        atomic_store_explicit(&layout->bound, b, memory_order_release);
    }
    return b;
}

/* ---- functions --------------------------------------------------------------------------------------------------- */

static void ask(pw_gpu_bound *b, int64_t bytes)
{
    const pw_gpu_code *code = b->gpu->code;
    int64_t before = atomic_fetch_add_explicit(&b->kernel->moved, bytes, memory_order_relaxed);
    int64_t hot = code->hot_bytes > 0 ? code->hot_bytes : COMPILE_BYTES;

    if (code->mode != PW_JIT_ASYNC)
        return;
    if (before < hot && before + bytes >= hot)
        pw_cache_request(code->cache, b->kernel, PW_WANT_COMPILE);
    else if (before == 0)
        pw_cache_request(code->cache, b->kernel, PW_WANT_LOAD);
}

const pw_gpu_functions *pw_gpu_layout_functions(pw_gpu_bound *b, int64_t bytes, bool now)
{
    const pw_gpu_functions *f = atomic_load_explicit(&b->functions, memory_order_acquire);

    if (f || !b->kernel || b->gpu->code->mode == PW_JIT_OFF)
        return f;
    if (now || b->gpu->code->mode == PW_JIT_SYNC)
        pw_cache_get(b->gpu->code->cache, b->kernel, PW_WANT_COMPILE);
    else if (!atomic_load_explicit(&b->kernel->code, memory_order_acquire))
        ask(b, bytes);
    f = pw_gpu_functions_of(b->gpu, b->kernel);
    if (f)
        atomic_store_explicit(&b->functions, f, memory_order_release);
    return f;
}

pw_kernel_origin pw_gpu_layout_origin(const pw_layout *layout)
{
    const pw_gpu_layout *l = (const pw_gpu_layout *)atomic_load_explicit(&layout->gpu, memory_order_acquire);
    const pw_gpu_bound *b = l ? atomic_load_explicit(&l->bound, memory_order_acquire) : NULL;
    pw_kernel_origin origin = PW_ORIGIN_NONE;

    for (; b && origin != PW_ORIGIN_COMPILED; b = b->next)
        if (b->kernel && b->kernel->origin != PW_ORIGIN_NONE)
            origin = b->kernel->origin;
    return origin;
}

/* ---- the layout -------------------------------------------------------------------------------------------------- */

static bool is_odd(const pw_gpu_plan *plan)
{
    for (int i = 0; plan && i < plan->nregions; i++)
        if (plan->regions[i].kind == PW_GPU_PIECES)
            return true;
    return false;
}

static void free_layout(pw_layout_gpu *base)
{
    pw_gpu_layout *l = (pw_gpu_layout *)base;
    pw_gpu_bound *b = atomic_load(&l->bound), *next;

    for (; b; b = next) {
        next = b->next;
        bound_free(b);
    }
    pw_gpu_plan_destroy(l->plan);
    pthread_mutex_destroy(&l->lock);
    free(l);
}

pw_gpu_layout *pw_gpu_layout_of(pw_layout *layout)
{
    pw_layout_gpu *known = atomic_load_explicit(&layout->gpu, memory_order_acquire);
    pw_gpu_layout *l;

    if (known)
        return (pw_gpu_layout *)known;
    l = calloc(1, sizeof *l);
    if (!l)
        return NULL;
    l->base.free = free_layout;
    l->layout = layout;
    pthread_mutex_init(&l->lock, NULL);
    pw_gpu_plan_create(layout->shape, &l->plan, NULL); /* writes nothing if it fails */
    l->odd = is_odd(l->plan);
    l->tier0_launches = pw_gpu_tier0_launches(layout->nest);
    l->fused_most = pw_gpu_fused_most(layout->nest);
    if (atomic_compare_exchange_strong(&layout->gpu, &known, &l->base))
        return l;
    free_layout(&l->base);
    return (pw_gpu_layout *)known;
}
