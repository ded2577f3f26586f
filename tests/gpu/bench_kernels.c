/*
 * Speed of the GPU kernels against the limit: the bytes that a layout touches, in granules of 64, over the
 * bandwidth of a device copy measured in the same run. Medians over interleaved runs, timed with events.
 *
 * usage: bench_gpu_kernels [repetitions]. Exits 77 where there is no GPU.
 */
#include "frontend/ddt/ddt.h"
#include "tests/gpu/kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SKIPPED = 77, MAX_REPS = 101, COPY_BYTES = 256 << 20, GRANULE = 64 };

static const char *const rows[] = {
    "vec(512 1 2)[double]",
    "vec(131072 1 2)[double]",
    "vec(8388608 1 2)[double]",
    "vec(16777216 1 4)[float]",
    "vec(262144 64 512)[byte]",
    "vec(65536 64 256)[double]",
    "vec(16384 512 1024)[double]",
    "sub(256 256 256 | 3 250 250 | 3 3 3)[ctg(8)[double]]",
    "sub(256 256 256 | 250 3 250 | 3 3 3)[ctg(8)[double]]",
    "sub(256 256 256 | 250 250 3 | 3 3 3)[ctg(8)[double]]",
    "ctg(1024)[resized(0 8)[vec(1024 1 1024)[double]]]",
    "ctg(4096)[resized(0 8)[vec(4096 1 4096)[double]]]",
    "idxb(1: sample(1000000, 8000000, 1))[float]",
    "idxb(3: sample(1000000, 4000000, 1))[double]",
    "ctg(131072)[resized(0 88)[struct(0: 10*double, 80: int)]]",
    "hvec(2 1 75497472)[vec(4096 96 1536)[ctg(6)[float]]]",
};

static int compare(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;

    return (x > y) - (x < y);
}

static float median(float *t, int n)
{
    qsort(t, (size_t)n, sizeof *t, compare);
    return t[n / 2];
}

/* Granules touched, counting neighbours in packed order that share one once. */
typedef struct touched {
    int64_t granules, last;
} touched;

static bool touch(void *arg, int64_t off, int64_t n)
{
    touched *t = arg;
    int64_t first = off / GRANULE, last = (off + n - 1) / GRANULE;

    t->granules += last - first + (first != t->last);
    t->last = last;
    return true;
}

/* What the memory side must move at least: no more than the whole span, however the blocks share granules. */
static int64_t touched_bytes(const pw_type *type)
{
    touched t = {.last = -1};
    int64_t span = type->root->hi - type->root->lo;

    pw_walk(type->root, 0, touch, &t);
    return t.granules * GRANULE < span ? t.granules * GRANULE : span;
}

static float time_copy(gpu_ptr to, gpu_ptr from, size_t bytes, gpu_event a, gpu_event b)
{
    gpu_event_record(a);
    gpu_copy(to, from, bytes);
    gpu_event_record(b);
    return gpu_event_microseconds(a, b);
}

static float time_kernel(const gpu_kernel *k, const gpu_info *gpu, bool unpack, gpu_ptr dst, gpu_ptr src, gpu_event a,
                         gpu_event b)
{
    gpu_event_record(a);
    if (!gpu_kernel_start(k, gpu, unpack, 1, dst, src))
        exit(1);
    gpu_event_record(b);
    return gpu_event_microseconds(a, b);
}

static bool parse_row(const char *text, pw_arena *arena, pw_type *out)
{
    pw_builder b = {.arena = arena};
    pw_ddt_unit *unit;
    pw_dt t;
    pw_diag diag;
    bool ok = pw_ddt_parse(text, strlen(text), NULL, NULL, &unit) == PW_OK;

    if (!ok)
        return false;
    ok = pw_ddt_build(unit, 0, 0, &b, &t, &diag) == PW_OK;
    if (ok)
        *out = pw_dt_finish(t);
    pw_ddt_destroy(unit);
    return ok;
}

static void bench_row(const char *text, const gpu_info *gpu, int reps, double copy_bandwidth)
{
    static float pack[MAX_REPS], unpack[MAX_REPS];
    pw_arena *arena = pw_arena_create();
    gpu_event a = gpu_event_make(), b = gpu_event_make();
    gpu_ptr memory, packed, origin;
    gpu_module module;
    gpu_kernel k;
    pw_type type;
    double limit;

    if (!parse_row(text, arena, &type) || !gpu_kernel_make(&k, &type, 0) || !k.plan ||
        !gpu_kernels_compile(&k, 1, gpu, &module)) {
        printf("%-60s no kernel\n", text);
        exit(1);
    }
    memory = gpu_alloc((size_t)(type.root->hi - type.root->lo));
    packed = gpu_alloc((size_t)type.root->size);
    gpu_fill(memory, 1, (size_t)(type.root->hi - type.root->lo));
    origin = memory - (gpu_ptr)type.root->lo;
    for (int i = -3; i < reps; i++) {
        float p = time_kernel(&k, gpu, false, packed, origin, a, b);
        float u = time_kernel(&k, gpu, true, origin, packed, a, b);

        if (i >= 0) {
            pack[i] = p;
            unpack[i] = u;
        }
    }
    limit = (double)(touched_bytes(&type) + type.root->size) / copy_bandwidth / 1e3;
    printf("%-60s %9.1f KiB %9.1f %9.1f us, limit %8.1f us: %5.2f %5.2f\n", text, (double)type.root->size / 1024,
           (double)median(pack, reps), (double)median(unpack, reps), limit, limit / (double)median(pack, reps),
           limit / (double)median(unpack, reps));
    gpu_free(memory);
    gpu_free(packed);
    gpu_kernel_free(&k);
    gpu_unload(module);
    pw_arena_destroy(arena);
}

int main(int argc, char **argv)
{
    int reps = argc > 1 ? atoi(argv[1]) : 31;
    static float copies[MAX_REPS];
    gpu_info gpu;
    const char *why;
    gpu_ptr from, to;
    gpu_event a, b;
    double bandwidth;

    if (!gpu_open(&gpu, &why)) {
        printf("SKIPPED: %s\n", why);
        return SKIPPED;
    }
    reps = reps < 1 || reps > MAX_REPS ? 31 : reps;
    a = gpu_event_make();
    b = gpu_event_make();
    from = gpu_alloc(COPY_BYTES);
    to = gpu_alloc(COPY_BYTES);
    gpu_fill(from, 1, COPY_BYTES);
    for (int i = 0; i < reps; i++)
        copies[i] = time_copy(to, from, COPY_BYTES, a, b);
    bandwidth = 2.0 * COPY_BYTES / (double)median(copies, reps) / 1e3;
    gpu_free(from);
    gpu_free(to);
    printf("%s: device copy %.0f GB/s (read + write); medians of %d; pack, unpack; ratios to the limit\n", gpu.name,
           bandwidth, reps);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        bench_row(rows[i], &gpu, reps, bandwidth);
    return 0;
}
