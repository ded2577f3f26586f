#include "bench/gpu/generic.h"

#include <string.h>

static const char text[] =
    "typedef unsigned long long u64;\n"
    "struct box { char *dst; const char *src; u64 n0, n1, n2, m1, m2, p1, p2; };\n"
    "template <class T, bool UNPACK> static __device__ void move(const box &b)\n"
    "{\n"
    "    for (u64 z = blockIdx.z * blockDim.z + threadIdx.z; z < b.n2; z += gridDim.z * blockDim.z)\n"
    "        for (u64 y = blockIdx.y * blockDim.y + threadIdx.y; y < b.n1; y += gridDim.y * blockDim.y)\n"
    "            for (u64 x = blockIdx.x * blockDim.x + threadIdx.x; x < b.n0; x += gridDim.x * blockDim.x) {\n"
    "                const u64 m = z * b.m2 + y * b.m1 + x * sizeof(T), p = z * b.p2 + y * b.p1 + x * sizeof(T);\n"
    "                *(T *)(b.dst + (UNPACK ? m : p)) = *(const T *)(b.src + (UNPACK ? p : m));\n"
    "            }\n"
    "}\n"
    "#define KERNELS(name, T) \\\n"
    "    extern \"C\" __global__ void pack_##name(const __grid_constant__ box b) { move<T, false>(b); } \\\n"
    "    extern \"C\" __global__ void unpack_##name(const __grid_constant__ box b) { move<T, true>(b); }\n"
    "KERNELS(1, unsigned char)\nKERNELS(2, unsigned short)\nKERNELS(4, unsigned)\nKERNELS(8, u64)\n"
    "KERNELS(16, ulonglong2)\n"
    "struct span { u64 *p; const u64 *q; u64 n, seed; u64 *differences; };\n"
    "static __device__ u64 hash(u64 x)\n"
    "{\n"
    "    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;\n"
    "    x = (x ^ x >> 27) * 0x94d049bb133111ebull;\n"
    "    return x ^ x >> 31;\n"
    "}\n"
    "extern \"C\" __global__ void fill(const __grid_constant__ span s)\n"
    "{\n"
    "    for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < s.n; i += gridDim.x * blockDim.x)\n"
    "        s.p[i] = hash(i + s.seed);\n"
    "}\n"
    "extern \"C\" __global__ void compare(const __grid_constant__ span s)\n"
    "{\n"
    "    for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < s.n; i += gridDim.x * blockDim.x)\n"
    "        if (((const char *)s.p)[i] != ((const char *)s.q)[i])\n"
    "            atomicAdd(s.differences, 1ull);\n"
    "}\n"
    "extern \"C\" __global__ void empty(const __grid_constant__ span s) {}\n";

typedef struct box {
    gpu_ptr dst, src;
    uint64_t n0, n1, n2, m1, m2, p1, p2;
} box;

typedef struct span {
    gpu_ptr p, q;
    uint64_t n, seed;
    gpu_ptr differences;
} span;

bool gpu_generic_compile(const gpu_store *store)
{
    pw_blob cubin;
    bool ok = gpu_store_text(store, "bench", text, &cubin);

    if (ok)
        pw_blob_free(&cubin);
    return ok;
}

bool gpu_generic_load(gpu_generic *g, const gpu_store *store)
{
    pw_blob cubin;

    if (!gpu_store_text(store, "bench", text, &cubin))
        return false;
    g->module = gpu_load(cubin.data);
    pw_blob_free(&cubin);
    for (int i = 0; i < GENERIC_WORDS; i++) {
        char name[16];

        snprintf(name, sizeof name, "pack_%d", 1 << i);
        g->pack[i] = gpu_find(g->module, name);
        snprintf(name, sizeof name, "unpack_%d", 1 << i);
        g->unpack[i] = gpu_find(g->module, name);
    }
    g->fill = gpu_find(g->module, "fill");
    g->compare = gpu_find(g->module, "compare");
    g->empty = gpu_find(g->module, "empty");
    g->differences = gpu_alloc(8);
    return true;
}

/* ---- boxes ---------------------------------------------------------------------------------------------------- */

bool gpu_generic_takes(const pw_nest *nest)
{
    const pw_region *r = nest->regions;
    int loops = 0;

    if (nest->nregions != 1 || r->npieces != 1)
        return false;
    for (int i = 0; i < r->ndims; i++) {
        loops += !r->dims[i].is_object;
        if (r->dims[i].table)
            return false;
    }
    return loops <= 2;
}

static int log_of(uint64_t n)
{
    int log = 0;

    while ((UINT64_C(1) << log) < n)
        log++;
    return log;
}

/* Threads along the three loops: as many as the counts, in powers of two, up to 512 together. */
static void shape_grid(const box *b, uint32_t *grid, uint32_t *block)
{
    const uint64_t n[] = {b->n0, b->n1, b->n2}, most[] = {INT32_MAX, 65535, 65535};
    int left = 9;

    for (int i = 0; i < 3; i++) {
        int log = log_of(n[i]) < left ? log_of(n[i]) : left;
        uint64_t blocks = (n[i] + (UINT64_C(1) << log) - 1) >> log;

        if (i == 2 && log > 6)
            log = 6;
        block[i] = 1u << log;
        grid[i] = (uint32_t)(blocks < most[i] ? blocks : most[i]);
        left -= log;
    }
}

void gpu_generic_start(const gpu_generic *g, gpu_stream s, const pw_nest *nest, bool unpack, gpu_ptr packed,
                       gpu_ptr memory)
{
    const pw_region *r = nest->regions;
    gpu_ptr m = memory + (gpu_ptr)(r->mem_off + r->pieces[0].mem_off),
            p = packed + (gpu_ptr)(r->packed_off + r->pieces[0].packed_off);
    uint64_t bits = (uint64_t)r->pieces[0].bytes | m | p | 16;
    box b = {.dst = unpack ? m : p, .src = unpack ? p : m, .n1 = 1, .n2 = 1};
    uint32_t grid[3], block[3];
    int word = 0, loop = 0;

    for (int i = r->ndims - 1; i >= 0; i--) {
        const pw_dim *d = &r->dims[i];

        if (d->is_object)
            continue;
        *(loop ? &b.n2 : &b.n1) = (uint64_t)d->count;
        *(loop ? &b.m2 : &b.m1) = (uint64_t)d->mem_stride;
        *(loop++ ? &b.p2 : &b.p1) = (uint64_t)d->packed_stride;
        bits |= (uint64_t)d->mem_stride | (uint64_t)d->packed_stride;
    }
    while (!(bits >> word & 1))
        word++;
    b.n0 = (uint64_t)r->pieces[0].bytes >> word;
    shape_grid(&b, grid, block);
    gpu_launch_3d(s, unpack ? g->unpack[word] : g->pack[word], grid, block, &b, sizeof b);
}

/* ---- fill and compare ------------------------------------------------------------------------------------------ */

static uint64_t hash(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

unsigned char gpu_random_byte(uint64_t place, uint64_t seed)
{
    return (unsigned char)(hash(place / 8 + seed) >> (place % 8 * 8));
}

enum { SWEEP_GRID = 2048, SWEEP_BLOCK = 256 };

void gpu_fill_random(const gpu_generic *g, gpu_ptr p, size_t bytes, uint64_t seed)
{
    span s = {.p = p, .n = (bytes + 7) / 8, .seed = seed};

    gpu_launch(g->fill, SWEEP_GRID, SWEEP_BLOCK, &s, sizeof s);
    gpu_wait();
}

uint64_t gpu_differences(const gpu_generic *g, gpu_ptr a, gpu_ptr b, size_t bytes)
{
    span s = {.p = a, .q = b, .n = bytes, .differences = g->differences};
    uint64_t n = 0;

    gpu_upload(g->differences, &n, sizeof n);
    gpu_launch(g->compare, SWEEP_GRID, SWEEP_BLOCK, &s, sizeof s);
    gpu_wait();
    gpu_download(&n, g->differences, sizeof n);
    return n;
}
