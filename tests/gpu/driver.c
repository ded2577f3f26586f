#include "tests/gpu/driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

/* CUDA_MEMCPY2D and CUDA_KERNEL_NODE_PARAMS of cuda.h. */
typedef struct copy_2d {
    size_t src_x, src_y;
    int src_type;
    const void *src_host;
    gpu_ptr src_device;
    void *src_array;
    size_t src_pitch;
    size_t dst_x, dst_y;
    int dst_type;
    void *dst_host;
    gpu_ptr dst_device;
    void *dst_array;
    size_t dst_pitch;
    size_t width, height;
} copy_2d;

typedef struct kernel_node {
    gpu_function function;
    unsigned grid[3], block[3], shared;
    void **params, **extra;
} kernel_node;

/* Prototypes of cuda.h, with opaque pointers for its handles. */
#define CALLS(X)                                                                                                \
    X(init, "cuInit", (unsigned))                                                                               \
    X(count, "cuDeviceGetCount", (int *))                                                                       \
    X(get, "cuDeviceGet", (int *, int))                                                                         \
    X(name, "cuDeviceGetName", (char *, int, int))                                                              \
    X(attribute, "cuDeviceGetAttribute", (int *, int, int))                                                     \
    X(retain, "cuDevicePrimaryCtxRetain", (void **, int))                                                       \
    X(current, "cuCtxSetCurrent", (void *))                                                                     \
    X(peer, "cuCtxEnablePeerAccess", (void *, unsigned))                                                        \
    X(wait, "cuCtxSynchronize", (void))                                                                         \
    X(alloc, "cuMemAlloc_v2", (gpu_ptr *, size_t))                                                              \
    X(free, "cuMemFree_v2", (gpu_ptr))                                                                          \
    X(alloc_host, "cuMemHostAlloc", (void **, size_t, unsigned))                                                \
    X(host_pointer, "cuMemHostGetDevicePointer_v2", (gpu_ptr *, void *, unsigned))                              \
    X(free_host, "cuMemFreeHost", (void *))                                                                     \
    X(upload, "cuMemcpyHtoD_v2", (gpu_ptr, const void *, size_t))                                               \
    X(download, "cuMemcpyDtoH_v2", (void *, gpu_ptr, size_t))                                                   \
    X(copy, "cuMemcpyDtoDAsync_v2", (gpu_ptr, gpu_ptr, size_t, void *))                                         \
    X(copy_any, "cuMemcpyAsync", (gpu_ptr, gpu_ptr, size_t, void *))                                            \
    X(fill, "cuMemsetD8_v2", (gpu_ptr, unsigned char, size_t))                                                  \
    X(load, "cuModuleLoadData", (void **, const void *))                                                        \
    X(unload, "cuModuleUnload", (void *))                                                                       \
    X(find, "cuModuleGetFunction", (void **, void *, const char *))                                             \
    X(launch, "cuLaunchKernel",                                                                                 \
      (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **)) \
    X(event_free, "cuEventDestroy_v2", (void *))                                                                \
    X(event, "cuEventCreate", (void **, unsigned))                                                              \
    X(record, "cuEventRecord", (void *, void *))                                                                \
    X(event_wait, "cuEventSynchronize", (void *))                                                               \
    X(elapsed, "cuEventElapsedTime", (float *, void *, void *))                                                 \
    X(event_query, "cuEventQuery", (void *))                                                                    \
    X(stream, "cuStreamCreate", (void **, unsigned))                                                            \
    X(stream_wait, "cuStreamSynchronize", (void *))                                                             \
    X(stream_query, "cuStreamQuery", (void *))                                                                  \
    X(copy_2d, "cuMemcpy2DAsync_v2", (const copy_2d *, void *))                                                 \
    X(write_value, "cuStreamWriteValue32_v2", (void *, gpu_ptr, uint32_t, unsigned))                            \
    X(graph, "cuGraphCreate", (void **, unsigned))                                                              \
    X(add_node, "cuGraphAddKernelNode", (void **, void *, const void *, size_t, const kernel_node *))           \
    X(instantiate, "cuGraphInstantiateWithFlags", (void **, void *, unsigned long long))                        \
    X(set_node, "cuGraphExecKernelNodeSetParams", (void *, void *, const kernel_node *))                        \
    X(launch_graph, "cuGraphLaunch", (void *, void *))                                                          \
    X(set_flags, "cuDevicePrimaryCtxSetFlags_v2", (int, unsigned))

/* The singleton: the driver's functions. */
static struct {
#define X(field, symbol, args) int(*field) args;
    CALLS(X)
#undef X
} cu;

static int the_device;
enum { NOT_READY = 600 };

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
    the_device = device;
    check(cu.name(info->name, sizeof info->name, device), "cuDeviceGetName");
    check(cu.attribute(&info->multiprocessors, ATTR_MULTIPROCESSORS, device), "cuDeviceGetAttribute");
    check(cu.attribute(&info->threads, ATTR_THREADS, device), "cuDeviceGetAttribute");
    check(cu.attribute(&info->major, ATTR_MAJOR, device), "cuDeviceGetAttribute");
    check(cu.attribute(&info->minor, ATTR_MINOR, device), "cuDeviceGetAttribute");
    check(cu.retain(&context, device), "cuDevicePrimaryCtxRetain");
    check(cu.current(context), "cuCtxSetCurrent");
    return true;
}

static void *primary_of(int number)
{
    void *context;
    int device;

    check(cu.get(&device, number), "cuDeviceGet");
    check(cu.retain(&context, device), "cuDevicePrimaryCtxRetain");
    return context;
}

int gpu_count(void)
{
    int n = 0;

    check(cu.count(&n), "cuDeviceGetCount");
    return n;
}

void gpu_use(int device)
{
    check(cu.current(primary_of(device)), "cuCtxSetCurrent");
}

bool gpu_reach(int device)
{
    return cu.peer(primary_of(device), 0) == 0;
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

/* CU_LAUNCH_PARAM_BUFFER_POINTER and _SIZE */
#define PARAM_POINTER ((void *)1)
#define PARAM_SIZE ((void *)2)

void gpu_launch_3d(gpu_stream s, gpu_function f, const uint32_t grid[3], const uint32_t block[3], void *params,
                   size_t bytes)
{
    void *extra[] = {PARAM_POINTER, params, PARAM_SIZE, &bytes, NULL};

    check(cu.launch(f, grid[0], grid[1], grid[2], block[0], block[1], block[2], 0, s, NULL, extra), "cuLaunchKernel");
}

void gpu_launch_params(gpu_stream s, gpu_function f, uint32_t grid, uint32_t block, void *params)
{
    check(cu.launch(f, grid, 1, 1, block, 1, 1, 0, s, &params, NULL), "cuLaunchKernel");
}

void gpu_launch_on(gpu_stream s, gpu_function f, uint32_t grid, uint32_t block, void *params, size_t bytes)
{
    gpu_launch_3d(s, f, (uint32_t[]){grid, 1, 1}, (uint32_t[]){block, 1, 1}, params, bytes);
}

void gpu_launch(gpu_function f, uint32_t grid, uint32_t block, void *params, size_t bytes)
{
    gpu_launch_on(NULL, f, grid, block, params, bytes);
}

/* ---- streams ------------------------------------------------------------------------------------------------- */

gpu_stream gpu_stream_make(void)
{
    enum { NON_BLOCKING = 1 };
    gpu_stream s;

    check(cu.stream(&s, NON_BLOCKING), "cuStreamCreate");
    return s;
}

void gpu_stream_wait(gpu_stream s)
{
    check(cu.stream_wait(s), "cuStreamSynchronize");
}

bool gpu_stream_is_done(gpu_stream s)
{
    int result = cu.stream_query(s);

    if (result != NOT_READY)
        check(result, "cuStreamQuery");
    return result == 0;
}

void gpu_copy_on(gpu_stream s, gpu_ptr to, gpu_ptr from, size_t bytes)
{
    check(cu.copy_any(to, from, bytes, s), "cuMemcpyAsync");
}

bool gpu_copy_2d_on(gpu_stream s, gpu_ptr to, size_t to_pitch, gpu_ptr from, size_t from_pitch, size_t width,
                    size_t rows)
{
    enum { UNIFIED = 4 };
    const copy_2d c = {.src_type = UNIFIED,
                       .src_device = from,
                       .src_pitch = from_pitch,
                       .dst_type = UNIFIED,
                       .dst_device = to,
                       .dst_pitch = to_pitch,
                       .width = width,
                       .height = rows};

    return cu.copy_2d(&c, s) == 0;
}

void gpu_write_on(gpu_stream s, gpu_ptr to, uint32_t value)
{
    check(cu.write_value(s, to, value, 0), "cuStreamWriteValue32");
}

void gpu_spin(bool spin)
{
    enum { AUTO, SPIN };

    check(cu.set_flags(the_device, spin ? SPIN : AUTO), "cuDevicePrimaryCtxSetFlags");
}

/* ---- graphs -------------------------------------------------------------------------------------------------- */

gpu_graph gpu_graph_make(gpu_function f, uint32_t grid, uint32_t block, void *params)
{
    const kernel_node node = {.function = f, .grid = {grid, 1, 1}, .block = {block, 1, 1}, .params = &params};
    gpu_graph g;

    check(cu.graph(&g.graph, 0), "cuGraphCreate");
    check(cu.add_node(&g.node, g.graph, NULL, 0, &node), "cuGraphAddKernelNode");
    check(cu.instantiate(&g.exec, g.graph, 0), "cuGraphInstantiateWithFlags");
    return g;
}

void gpu_graph_set(gpu_graph g, gpu_function f, uint32_t grid, uint32_t block, void *params)
{
    const kernel_node node = {.function = f, .grid = {grid, 1, 1}, .block = {block, 1, 1}, .params = &params};

    check(cu.set_node(g.exec, g.node, &node), "cuGraphExecKernelNodeSetParams");
}

void gpu_graph_launch(gpu_graph g, gpu_stream s)
{
    check(cu.launch_graph(g.exec, s), "cuGraphLaunch");
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

void gpu_event_free(gpu_event e)
{
    check(cu.event_free(e), "cuEventDestroy");
}

void gpu_event_record_on(gpu_event e, gpu_stream s)
{
    check(cu.record(e, s), "cuEventRecord");
}

void gpu_event_record(gpu_event e)
{
    gpu_event_record_on(e, NULL);
}

bool gpu_event_is_done(gpu_event e)
{
    int result = cu.event_query(e);

    if (result != NOT_READY)
        check(result, "cuEventQuery");
    return result == 0;
}

float gpu_event_microseconds(gpu_event from, gpu_event to)
{
    float ms;

    check(cu.event_wait(to), "cuEventSynchronize");
    check(cu.elapsed(&ms, from, to), "cuEventElapsedTime");
    return ms * 1000;
}
