#include "tests/mpi/gpu/memory.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *library;
static bool fake;

static const char *const kind_names[GPU_KINDS] = {"device", "host", "pinned", "registered", "managed"};

const char *gpu_kind_name(gpu_kind kind)
{
    return kind_names[kind];
}

void *gpu_symbol(const char *name)
{
    void *p = dlsym(library, name);

    if (!p) {
        fprintf(stderr, "no %s\n", name);
        exit(2);
    }
    return p;
}

static long count(const char *counter, const char *name)
{
    return fake ? ((long (*)(const char *))gpu_symbol(counter))(name) : 0;
}

long gpu_calls(const char *call)
{
    return count("fake_calls", call);
}

long gpu_launches(const char *prefix)
{
    return count("fake_launches", prefix);
}

long gpu_all_launches(void)
{
    return gpu_launches("") + gpu_launches("pw_fused_") + gpu_launches("pw_t0_");
}

static void check(int result, const char *call)
{
    if (result != 0) {
        fprintf(stderr, "%s: CUDA error %d\n", call, result);
        exit(2);
    }
}

#define CALL(name, types, ...) check(((int(*) types)gpu_symbol(#name))(__VA_ARGS__), #name)

int gpu_devices(void)
{
    int n = 0;

    CALL(cuDeviceGetCount, (int *), &n);
    return n;
}

bool gpu_map(const char *path)
{
    library = dlopen(path ? path : "libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    fake = path;
    return library;
}

bool gpu_start(const char *path)
{
    if (!gpu_map(path) || ((int (*)(unsigned))gpu_symbol("cuInit"))(0) != 0 || gpu_devices() == 0) {
        printf("SKIPPED: %s\n", library ? "the CUDA driver finds no GPU" : dlerror());
        return false;
    }
    gpu_set_current(gpu_primary(0));
    return true;
}

bool gpu_is_fake(void)
{
    return fake;
}

bool gpu_mpi_is_said_aware(void)
{
    return getenv("PACKWRIGHT_GPU_AWARE") && atoi(getenv("PACKWRIGHT_GPU_AWARE")) == 1;
}

bool gpu_start_as_told(int argc, char **argv)
{
    if (!gpu_start(argc > 1 && strcmp(argv[1], "-") != 0 ? argv[1] : NULL))
        return false;
    if (gpu_is_fake())
        ((void (*)(bool))gpu_symbol("fake_open_memory"))(gpu_mpi_is_said_aware());
    return true;
}

void *gpu_primary(int device)
{
    void *context;

    CALL(cuDevicePrimaryCtxRetain, (void **, int), &context, device);
    return context;
}

/* cuCtxCreate makes it current, too. */
void *gpu_new_context(int device)
{
    void *context;

    CALL(cuCtxCreate_v2, (void **, unsigned, int), &context, 0, device);
    return context;
}

void gpu_set_current(void *context)
{
    CALL(cuCtxSetCurrent, (void *), context);
}

void gpu_set_current_of(int rank)
{
    if (!gpu_is_fake() && gpu_devices() > 1)
        gpu_set_current(gpu_primary(rank % gpu_devices()));
}

void *gpu_current(void)
{
    void *context;

    CALL(cuCtxGetCurrent, (void **), &context);
    return context;
}

gpu_memory gpu_memory_make(gpu_kind kind, size_t bytes)
{
    enum { PORTABLE_MAPPED = 3, ATTACH_GLOBAL = 1 };
    gpu_memory m = {.kind = kind, .bytes = bytes};
    uint64_t address = 0;

    switch (kind) {
    case GPU_DEVICE: CALL(cuMemAlloc_v2, (uint64_t *, size_t), &address, bytes); break;
    case GPU_MANAGED: CALL(cuMemAllocManaged, (uint64_t *, size_t, unsigned), &address, bytes, ATTACH_GLOBAL); break;
    case GPU_PINNED: CALL(cuMemHostAlloc, (void **, size_t, unsigned), (void **)&m.at, bytes, PORTABLE_MAPPED); break;
    case GPU_HOST:
    case GPU_REGISTERED: m.at = aligned_alloc(4096, (bytes + 4095) & ~(size_t)4095); break;
    case GPU_KINDS: break;
    }
    if (kind == GPU_REGISTERED)
        CALL(cuMemHostRegister_v2, (void *, size_t, unsigned), m.at, bytes, PORTABLE_MAPPED);
    if (!m.at)
        m.at = (unsigned char *)(uintptr_t)address;
    return m;
}

void gpu_memory_free(gpu_memory *m)
{
    if (m->kind == GPU_PINNED)
        CALL(cuMemFreeHost, (void *), m->at);
    else
        CALL(cuMemFree_v2, (uint64_t), (uint64_t)(uintptr_t)m->at);
    m->at = NULL;
}

static void copy(const void *to, const void *from, size_t bytes)
{
    CALL(cuMemcpy, (uint64_t, uint64_t, size_t), (uint64_t)(uintptr_t)to, (uint64_t)(uintptr_t)from, bytes);
}

void gpu_write(const gpu_memory *m, size_t offset, const void *from, size_t bytes)
{
    if (m->kind == GPU_DEVICE)
        copy(m->at + offset, from, bytes);
    else
        memcpy(m->at + offset, from, bytes);
}

void gpu_read(const gpu_memory *m, size_t offset, void *to, size_t bytes)
{
    if (m->kind == GPU_DEVICE)
        copy(to, m->at + offset, bytes);
    else
        memcpy(to, m->at + offset, bytes);
}

void gpu_report(void)
{
    if (fake)
        printf("%ld launches of tier 0, %ld of specialised kernels\n", gpu_launches("pw_t0_"), gpu_launches(""));
}
