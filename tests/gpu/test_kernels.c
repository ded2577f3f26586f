/*
 * GPU kernels on a GPU: random types packed and unpacked between device memory, and to and from mapped host
 * memory, against tier 0 on the CPU, with guard bytes around both buffers.
 *
 * usage: test_gpu_kernels [types [first-seed]]. Exits 77, for "skipped", where there is no GPU.
 */
#include "codegen/interp/interp.h"
#include "tests/gpu/kernel.h"
#include "tests/support/random_ir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 32, GUARD = 64, GUARD_BYTE = 0xa5, SKIPPED = 77 };

typedef struct buffers {
    int64_t total, lo, span;        /* packed bytes; memory touched by all objects */
    unsigned char *memory, *packed; /* what memory holds, and what packing it must give */
} buffers;

static void *allocate(int64_t bytes)
{
    void *p = calloc(1, (size_t)bytes + 1);

    if (!p) {
        fprintf(stderr, "out of memory\n");
        exit(1);
    }
    return p;
}

static buffers make_buffers(const pw_type *type, const pw_nest *nest, int64_t count, uint64_t seed)
{
    pw_rng rng = {.state = seed};
    buffers b = {.total = count * nest->size};
    int64_t hi;

    pw_random_bounds(type, count, &b.lo, &hi);
    b.span = hi - b.lo;
    b.memory = allocate(b.span);
    b.packed = allocate(b.total);
    pw_rng_fill(&rng, b.memory, (size_t)b.span);
    pw_interp_pack(nest, (void *)((uintptr_t)b.memory - (uintptr_t)b.lo), count, b.packed);
    return b;
}

/* `bytes` bytes between guards; *guarded gets the host's view of all of it, and the inner device address is returned.
 */
static bool same(const unsigned char *got, const unsigned char *want, int64_t bytes)
{
    for (int i = 0; i < GUARD; i++)
        if (got[i] != GUARD_BYTE || got[GUARD + bytes + i] != GUARD_BYTE)
            return false;
    return memcmp(got + GUARD, want, (size_t)bytes) == 0;
}

/*
 * Runs a kernel, and knows by the flag that it writes that it is over; the flag must not come before the data (which
 * the caller compares), and the counter must be ready for the next launch.
 */
static bool run_to_flag(const gpu_kernel *k, const gpu_info *gpu, bool unpack, int64_t count, gpu_ptr dst, gpu_ptr src)
{
    static volatile uint64_t *seen;
    static gpu_ptr where, ends;
    static uint64_t value;
    pw_gpu_call call = {
        .args = &k->args, .count = count, .dst = (void *)(uintptr_t)dst, .src = (const void *)(uintptr_t)src};
    pw_gpu_ends left;

    if (!seen) {
        seen = gpu_alloc_mapped(sizeof *seen, &where);
        *seen = 0;
        ends = gpu_alloc(sizeof left);
        gpu_fill(ends, 0, sizeof left);
    }
    call.flag = (pw_gpu_flag){.where = (void *)(uintptr_t)where, .ends = (void *)(uintptr_t)ends};
    value += count * k->nest->size > 0;
    if (!gpu_kernel_start_on(NULL, k, gpu, unpack, &call))
        return false;
    for (int64_t patience = INT64_C(1) << 32; *seen != value; patience--)
        if (patience == 0)
            return false;
    gpu_download(&left, ends, sizeof left);
    return left.arrivals == 0;
}

/* Packs into `packed` (device or mapped memory of total + 2 * GUARD bytes) and compares. */
static bool check_pack(const gpu_kernel *k, const gpu_info *gpu, const buffers *b, int64_t count, gpu_ptr memory,
                       gpu_ptr packed, int off)
{
    unsigned char *got = allocate(b->total + 2 * GUARD);
    bool ok;

    gpu_fill(packed, GUARD_BYTE, (size_t)b->total + 2 * GUARD + 16);
    ok = run_to_flag(k, gpu, false, count, packed + GUARD + (gpu_ptr)off, memory - (gpu_ptr)b->lo);
    gpu_download(got, packed + (gpu_ptr)off, (size_t)b->total + 2 * GUARD);
    ok = ok && same(got, b->packed, b->total);
    free(got);
    return ok;
}

static bool check_unpack(const gpu_kernel *k, const gpu_info *gpu, const buffers *b, int64_t count, gpu_ptr packed)
{
    unsigned char *got = allocate(b->span + 2 * GUARD), *want = allocate(b->span);
    gpu_ptr memory = gpu_alloc((size_t)b->span + 2 * GUARD);
    bool ok;

    memset(want, GUARD_BYTE, (size_t)b->span);
    pw_interp_unpack(k->nest, (void *)((uintptr_t)want - (uintptr_t)b->lo), count, b->packed);
    gpu_upload(packed, b->packed, (size_t)b->total);
    gpu_fill(memory, GUARD_BYTE, (size_t)b->span + 2 * GUARD);
    ok = gpu_kernel_start(k, gpu, true, count, memory + GUARD - (gpu_ptr)b->lo, packed);
    gpu_wait();
    gpu_download(got, memory, (size_t)b->span + 2 * GUARD);
    ok = ok && same(got, want, b->span);
    gpu_free(memory);
    free(got);
    free(want);
    return ok;
}

static bool check_count(const gpu_kernel *k, const gpu_info *gpu, const pw_type *type, uint64_t seed, int64_t count)
{
    buffers b = make_buffers(type, k->nest, count, seed);
    size_t room = (size_t)b.total + 2 * GUARD + 16;
    gpu_ptr memory = gpu_alloc((size_t)b.span + 16), packed = gpu_alloc(room), mapped;
    void *host = gpu_alloc_mapped(room, &mapped);
    int off = (int)(seed % 3 == 0 ? seed % 16 : 0);
    bool ok;

    gpu_upload(memory, b.memory, (size_t)b.span);
    ok = check_pack(k, gpu, &b, count, memory, packed, off) && check_pack(k, gpu, &b, count, memory, mapped, 0);
    if (ok && !pw_random_overlaps(type, count))
        ok = check_unpack(k, gpu, &b, count, packed) && check_unpack(k, gpu, &b, count, mapped);
    gpu_free(memory);
    gpu_free(packed);
    gpu_free_mapped(host);
    free(b.memory);
    free(b.packed);
    return ok;
}

static bool check_type(const gpu_kernel *k, const gpu_info *gpu, const pw_type *type, uint64_t seed)
{
    const int64_t counts[] = {1, 3, (int64_t)(seed % 40)};

    for (int i = 0; i < 3; i++) {
        if (!check_count(k, gpu, type, seed, counts[i])) {
            char *text = pw_print(type, 32);

            fprintf(stderr, "FAILED: seed %llu, count %lld\n%s", (unsigned long long)seed, (long long)counts[i], text);
            free(text);
            return false;
        }
    }
    return true;
}

/* Returns the number of failures. */
static int check_batch(const gpu_info *gpu, uint64_t first, int n, int *checked)
{
    pw_arena *arena = pw_arena_create();
    pw_builder b = {.arena = arena};
    pw_type types[BATCH];
    gpu_kernel kernels[BATCH];
    gpu_module module;
    pw_blob cubin;
    int failures = 0;

    for (int i = 0; i < n; i++) {
        pw_random_options options = {.max_size = (first + (uint64_t)i) % 16 == 0 ? 200000 : 4096};

        types[i] = pw_random_type(&b, first + (uint64_t)i, &options);
        if (!gpu_kernel_make(&kernels[i], &types[i], i) || !gpu_kernel_upload(&kernels[i]))
            exit(1);
    }
    if (!gpu_kernels_compile(kernels, n, 10 * gpu->major + gpu->minor, &cubin))
        exit(1);
    module = gpu_load(cubin.data);
    pw_blob_free(&cubin);
    gpu_kernels_find(kernels, n, module);
    for (int i = 0; i < n; i++) {
        if (kernels[i].plan) {
            ++*checked;
            failures += !check_type(&kernels[i], gpu, &types[i], first + (uint64_t)i);
        }
        gpu_kernel_free(&kernels[i]);
    }
    gpu_unload(module);
    pw_arena_destroy(arena);
    return failures;
}

int main(int argc, char **argv)
{
    int types = argc > 1 ? atoi(argv[1]) : 320, failures = 0, checked = 0;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    gpu_info gpu;
    const char *why;

    if (!gpu_open(&gpu, &why)) {
        printf("SKIPPED: %s\n", why);
        return SKIPPED;
    }
    for (int done = 0; done < types && failures < 10; done += BATCH)
        failures += check_batch(&gpu, seed + (uint64_t)done, types - done < BATCH ? types - done : BATCH, &checked);
    printf("%s: %d types, %d with GPU kernels, %d failed\n", gpu.name, types, checked, failures);
    return failures > 0;
}
