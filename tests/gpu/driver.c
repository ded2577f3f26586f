#include "tests/gpu/driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

/* Prototypes of cuda.h, with opaque pointers for its handles. */
#define CALLS(X)                                                                                                \
    X(init, "cuInit", (unsigned))                                                                               \
    X(count, "cuDeviceGetCount", (int *))                                                                       \
    X(get, "cuDeviceGet", (int *, int))                                                                         \
    X(name, "cuDeviceGetName", (char *, int, int))                                                              \
    X(attribute, "cuDeviceGetAttribute", (int *, int, int))                                                     \
    X(retain, "cuDevicePrimaryCtxRetain", (void **, int))                                                       \
    X(current, "cuCtxSetCurrent", (void *))                                                                     \
    X(wait, "cuCtxSynchronize", (void))                                                                         \
    X(alloc, "cuMemAlloc_v2", (gpu_ptr *, size_t))                                                              \
    X(free, "cuMemFree_v2", (gpu_ptr))                                                                          \
    X(alloc_host, "cuMemHostAlloc", (void **, size_t, unsigned))                                                \
    X(host_pointer, "cuMemHostGetDevicePointer_v2", (gpu_ptr *, void *, unsigned))                              \
    X(free_host, "cuMemFreeHost", (void *))                                                                     \
    X(upload, "cuMemcpyHtoD_v2", (gpu_ptr, const void *, size_t))                                               \
    X(download, "cuMemcpyDtoH_v2", (void *, gpu_ptr, size_t))                                                   \
    X(copy, "cuMemcpyDtoDAsync_v2", (gpu_ptr, gpu_ptr, size_t, void *))                                         \
    X(fill, "cuMemsetD8_v2", (gpu_ptr, unsigned char, size_t))                                                  \
    X(load, "cuModuleLoadData", (void **, const void *))                                                        \
    X(unload, "cuModuleUnload", (void *))                                                                       \
    X(find, "cuModuleGetFunction", (void **, void *, const char *))                                             \
    X(launch, "cuLaunchKernel",                                                                                 \
      (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **)) \
    X(event, "cuEventCreate", (void **, unsigned))                                                              \
    X(record, "cuEventRecord", (void *, void *))                                                                \
    X(event_wait, "cuEventSynchronize", (void *))                                                               \
    X(elapsed, "cuEventElapsedTime", (float *, void *, void *))

/* The singleton: the driver's functions. */
static struct {
#define X(field, symbol, args) int(*field) args;
    CALLS(X)
#undef X
} cu;

static void check(int result, const char *call)
{
    if (result != 0) {
        fprintf(stderr, "%s failed with CUDA error %d\n", call, result);
        exit(1);
    }
}

static bool find_calls(void *lib, const char **why)
{
#define X(field, symbol, args)                   \
    *(void **)&cu.field = dlsym(lib, symbol);    \
    if (!cu.field) {                             \
        *why = "the CUDA driver has no " symbol; \
        return false;                            \
    }
    CALLS(X)
#undef X
    return true;
}

enum { ATTR_MULTIPROCESSORS = 16, ATTR_THREADS = 39, ATTR_MAJOR = 75, ATTR_MINOR = 76 };

bool gpu_open(gpu_info *info, const char **why)
{
    void *lib = dlopen("libcuda.so.1", RTLD_NOW), *context;
    int n = 0, device;

    *why = "no libcuda.so.1";
    if (!lib || !find_calls(lib, why))
        return false;
    *why = "the CUDA driver finds no GPU";
    if (cu.init(0) != 0 || cu.count(&n) != 0 || n == 0)
        return false;
    check(cu.get(&device, 0), "cuDeviceGet");
    check(cu.name(info->name, sizeof info->name, device), "cuDeviceGetName");
    check(cu.attribute(&info->multiprocessors, ATTR_MULTIPROCESSORS, device), "cuDeviceGetAttribute");
    check(cu.attribute(&info->threads, ATTR_THREADS, device), "cuDeviceGetAttribute");
    check(cu.attribute(&info->major, ATTR_MAJOR, device), "cuDeviceGetAttribute");
    check(cu.attribute(&info->minor, ATTR_MINOR, device), "cuDeviceGetAttribute");
    check(cu.retain(&context, device), "cuDevicePrimaryCtxRetain");
    check(cu.current(context), "cuCtxSetCurrent");
    return true;
}

gpu_ptr gpu_alloc(size_t bytes)
{
    gpu_ptr p = 0;

    check(cu.alloc(&p, bytes ? bytes : 1), "cuMemAlloc");
    return p;
}

void *gpu_alloc_mapped(size_t bytes, gpu_ptr *device)
{
    enum { PORTABLE_AND_MAPPED = 3 };
    void *p;

    check(cu.alloc_host(&p, bytes ? bytes : 1, PORTABLE_AND_MAPPED), "cuMemHostAlloc");
    check(cu.host_pointer(device, p, 0), "cuMemHostGetDevicePointer");
    return p;
}

void gpu_free(gpu_ptr p)
{
    check(cu.free(p), "cuMemFree");
}

void gpu_free_mapped(void *p)
{
    check(cu.free_host(p), "cuMemFreeHost");
}

void gpu_upload(gpu_ptr to, const void *from, size_t bytes)
{
    if (bytes > 0)
        check(cu.upload(to, from, bytes), "cuMemcpyHtoD");
}

void gpu_download(void *to, gpu_ptr from, size_t bytes)
{
    if (bytes > 0)
        check(cu.download(to, from, bytes), "cuMemcpyDtoH");
}

void gpu_fill(gpu_ptr p, unsigned char value, size_t bytes)
{
    if (bytes > 0)
        check(cu.fill(p, value, bytes), "cuMemsetD8");
}

void gpu_copy(gpu_ptr to, gpu_ptr from, size_t bytes)
{
    check(cu.copy(to, from, bytes, NULL), "cuMemcpyDtoD");
}

gpu_module gpu_load(const void *cubin)
{
    gpu_module m;

    check(cu.load(&m, cubin), "cuModuleLoadData");
    return m;
}

gpu_function gpu_find(gpu_module module, const char *name)
{
    gpu_function f;

    check(cu.find(&f, module, name), name);
    return f;
}

void gpu_unload(gpu_module module)
{
    check(cu.unload(module), "cuModuleUnload");
}

void gpu_launch(gpu_function f, uint32_t grid, uint32_t block, void *params, size_t bytes)
{
    static void *const pointer = (void *)1, *const size = (void *)2; /* CU_LAUNCH_PARAM_BUFFER_POINTER, _SIZE */
    void *extra[] = {pointer, params, size, &bytes, NULL};

    check(cu.launch(f, grid, 1, 1, block, 1, 1, 0, NULL, NULL, extra), "cuLaunchKernel");
}

void gpu_wait(void)
{
    check(cu.wait(), "cuCtxSynchronize");
}

gpu_event gpu_event_make(void)
{
    gpu_event e;

    check(cu.event(&e, 0), "cuEventCreate");
    return e;
}

void gpu_event_record(gpu_event e)
{
    check(cu.record(e, NULL), "cuEventRecord");
}

float gpu_event_microseconds(gpu_event from, gpu_event to)
{
    float ms;

    check(cu.event_wait(to), "cuEventSynchronize");
    check(cu.elapsed(&ms, from, to), "cuEventElapsedTime");
    return ms * 1000;
}
