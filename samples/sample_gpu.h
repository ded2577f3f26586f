/*
 * GPU memory for the samples' --device, through the CUDA driver, which is found when it is asked for: the samples need
 * no CUDA to build, and none to run without --device.
 */
#ifndef SAMPLE_GPU_H
#define SAMPLE_GPU_H

#include "sample.h"

#include <dlfcn.h>

static inline void gpu_check(int result, const char *call)
{
    if (result) {
        fprintf(stderr, "%s: CUDA error %d\n", call, result);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static inline void *gpu_symbol(const char *name)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    void *symbol = driver ? dlsym(driver, name) : NULL;

    if (!symbol) {
        fprintf(stderr, "--device needs the CUDA driver: %s\n", dlerror());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return symbol;
}

/* Calls a function of the driver by its name and the types of its arguments. */
#define GPU_CALL(name, types, ...) gpu_check(((int(*) types)gpu_symbol(#name))(__VA_ARGS__), #name)

/* The GPUs of this rank's node, and the ranks there that take them. */
typedef struct gpu_node {
    int gpus, ranks;
} gpu_node;

/* Takes a GPU for this rank: those of a node are dealt out in turns, so that ranks beyond them share. */
static inline gpu_node gpu_start(void)
{
    MPI_Comm node;
    int rank, ranks, devices = 0, device = 0;
    void *context;

    GPU_CALL(cuInit, (unsigned), 0);
    GPU_CALL(cuDeviceGetCount, (int *), &devices);
    gpu_check(devices == 0, "no GPU");
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &rank);
    MPI_Comm_size(node, &ranks);
    MPI_Comm_free(&node);
    GPU_CALL(cuDeviceGet, (int *, int), &device, rank % devices);
    GPU_CALL(cuDevicePrimaryCtxRetain, (void **, int), &context, device);
    GPU_CALL(cuCtxSetCurrent, (void *), context);
    return (gpu_node){devices, ranks};
}

static inline void *gpu_allocate(size_t bytes)
{
    uint64_t address = 0;

    GPU_CALL(cuMemAlloc_v2, (uint64_t *, size_t), &address, bytes ? bytes : 1);
    return (void *)(uintptr_t)address;
}

static inline void gpu_free(void *p)
{
    if (p)
        GPU_CALL(cuMemFree_v2, (uint64_t), (uint64_t)(uintptr_t)p);
}

static inline void gpu_upload(void *to, const void *from, size_t bytes)
{
    GPU_CALL(cuMemcpyHtoD_v2, (uint64_t, const void *, size_t), (uint64_t)(uintptr_t)to, from, bytes);
}

static inline void gpu_download(void *to, const void *from, size_t bytes)
{
    GPU_CALL(cuMemcpyDtoH_v2, (void *, uint64_t, size_t), to, (uint64_t)(uintptr_t)from, bytes);
}

#endif
