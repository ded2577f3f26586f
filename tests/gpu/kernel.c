#include "tests/gpu/kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PARAM_WORDS = 4096 };

static size_t table_bytes(const pw_table *t)
{
    return (size_t)t->n * (size_t)t->width;
}

/* The bytes of every table of the nest, in the order in which pw_shape_bind numbers them. */
static size_t bytes_of_table(const pw_nest *nest, const void *data)
{
    for (int r = 0; r < nest->nregions; r++) {
        const pw_region *region = &nest->regions[r];

        if (region->blocks && region->blocks->offs.data == data)
            return table_bytes(&region->blocks->offs);
        if (region->blocks && region->blocks->starts.data == data)
            return table_bytes(&region->blocks->starts);
        if (region->blocks && region->blocks->packed_offs.data == data)
            return table_bytes(&region->blocks->packed_offs);
        for (int d = 0; d < region->ndims; d++) {
            const pw_table *tables[] = {region->dims[d].table, region->dims[d].packed_table};

            for (int i = 0; i < 2; i++)
                if (tables[i] && tables[i]->data == data)
                    return table_bytes(tables[i]);
        }
    }
    return 0;
}

bool gpu_kernel_upload(gpu_kernel *k)
{
    int n = k->shape->ntables;
    const void **device = pw_arena_array(k->arena, (size_t)n, sizeof *device);

    k->tables = calloc((size_t)n + 1, sizeof *k->tables);
    if (!device || !k->tables)
        return false;
    for (int i = 0; i < n; i++) {
        size_t bytes = bytes_of_table(k->nest, k->args.tables[i]);

        k->table_bytes += bytes;
        k->tables[i] = gpu_alloc(bytes);
        gpu_upload(k->tables[i], k->args.tables[i], bytes);
        device[i] = (const void *)(uintptr_t)k->tables[i];
    }
    k->args.tables = device;
    return true;
}

bool gpu_kernel_make(gpu_kernel *k, const pw_type *type, int number)
{
    pw_type canonical;
    pw_diag diag = {0};

    *k = (gpu_kernel){.arena = pw_arena_create()};
    snprintf(k->pack, sizeof k->pack, "pack_%d", number);
    snprintf(k->unpack, sizeof k->unpack, "unpack_%d", number);
    if (pw_canonicalise(type, k->arena, &canonical, NULL, &diag) != PW_OK ||
        pw_lower(&canonical, &k->nest, NULL, &diag) != PW_OK || pw_shape_create(k->nest, &k->shape) != PW_OK ||
        pw_shape_bind(k->shape, k->nest, k->arena, &k->args) != PW_OK) {
        fprintf(stderr, "type %d: %s\n", number, diag.text);
        return false;
    }
    if (pw_gpu_plan_create(k->shape, &k->plan, &diag) != PW_OK)
        k->plan = NULL;
    return true;
}

void gpu_kernel_free(gpu_kernel *k)
{
    for (int i = 0; k->tables && i < k->shape->ntables; i++)
        gpu_free(k->tables[i]);
    free(k->tables);
    pw_gpu_plan_destroy(k->plan);
    pw_shape_unref(k->shape);
    pw_nest_destroy(k->nest);
    pw_arena_destroy(k->arena);
}

bool gpu_kernels_compile(gpu_kernel *kernels, int n, int arch, pw_blob *cubin)
{
    pw_compile_job *jobs = calloc((size_t)n, sizeof *jobs), *last = NULL;
    pw_target target = {.arch = "nvptx64"};
    pw_diag diag = {0};
    const pw_backend *backend = pw_backend_load("nvrtc", &diag);
    bool ok = backend && jobs;

    snprintf(target.cpu, sizeof target.cpu, "sm_%d", arch);
    for (int i = 0; ok && i < n; i++) {
        if (!kernels[i].plan)
            continue;
        jobs[i] = (pw_compile_job){.shape = kernels[i].shape,
                                   .target = &target,
                                   .emit = PW_EMIT_SHARED,
                                   .pack_name = kernels[i].pack,
                                   .unpack_name = kernels[i].unpack};
        jobs[i].next = last;
        last = &jobs[i];
    }
    ok = ok && last && backend->compile(last, cubin, &diag) == PW_OK;
    if (!ok)
        fprintf(stderr, "compile: %s\n", diag.text);
    free(jobs);
    return ok;
}

void gpu_kernels_find(gpu_kernel *kernels, int n, gpu_module module)
{
    char big[64];

    for (int k = 0; k < n; k++) {
        const char *names[] = {kernels[k].pack, kernels[k].unpack};

        for (int i = 0; kernels[k].plan && i < 2; i++) {
            snprintf(big, sizeof big, "%s%s", names[i], PW_GPU_BIG_SUFFIX);
            kernels[k].function[i][0] = gpu_find(module, names[i]);
            kernels[k].function[i][1] = gpu_find(module, big);
        }
    }
}

bool gpu_kernel_start_on(gpu_stream s, const gpu_kernel *k, const gpu_info *gpu, bool unpack, const pw_gpu_call *call)
{
    pw_gpu_device device = {.multiprocessors = gpu->multiprocessors, .threads = gpu->threads};
    uint64_t params[MAX_PARAM_WORDS];
    pw_gpu_launch launch;
    pw_gpu_call directed = *call;

    directed.direction = unpack;
    if (pw_gpu_plan_param_bytes(k->plan) > sizeof params ||
        pw_gpu_launch_make(k->plan, &directed, &device, params, &launch) != PW_OK)
        return false;
    if (launch.grid > 0)
        gpu_launch_on(s, k->function[unpack][launch.big], launch.grid, launch.block, params, launch.param_bytes);
    return true;
}

bool gpu_kernel_start(const gpu_kernel *k, const gpu_info *gpu, bool unpack, int64_t count, gpu_ptr dst, gpu_ptr src)
{
    const pw_gpu_call call = {
        .args = &k->args, .count = count, .dst = (void *)(uintptr_t)dst, .src = (const void *)(uintptr_t)src};

    return gpu_kernel_start_on(NULL, k, gpu, unpack, &call);
}
