/*
 * The part of the CUDA driver API that the runtime uses. The prototypes are written by hand, so that the build needs no
 * CUDA toolkit. The functions come from the driver that the application has loaded; this file never loads it.
 */
#ifndef PW_RUNTIME_GPU_DRIVER_H
#define PW_RUNTIME_GPU_DRIVER_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint64_t pw_cu_ptr;

/* CUDA_MEMCPY2D of cuda.h. */
typedef struct pw_cu_copy_2d {
    size_t src_x, src_y;
    int src_type;
    const void *src_host;
    pw_cu_ptr src_device;
    void *src_array;
    size_t src_pitch;
    size_t dst_x, dst_y;
    int dst_type;
    void *dst_host;
    pw_cu_ptr dst_device;
    void *dst_array;
    size_t dst_pitch;
    size_t width, height;
} pw_cu_copy_2d;

/* CUDA_KERNEL_NODE_PARAMS of cuda.h. */
typedef struct pw_cu_kernel_node {
    void *function;
    unsigned grid[3], block[3], shared;
    void **params, **extra;
} pw_cu_kernel_node;

/* CUipcMemHandle and CUuuid of cuda.h. */
typedef struct pw_cu_ipc {
    unsigned char bytes[64];
} pw_cu_ipc;

typedef struct pw_cu_uuid {
    unsigned char bytes[16];
} pw_cu_uuid;

/* Values of cuda.h. */
enum { PW_CU_OK = 0, PW_CU_NO_MEMORY = 2, PW_CU_NOT_INITIALIZED = 3, PW_CU_DEINITIALIZED = 4, PW_CU_NOT_READY = 600 };
enum { PW_CU_MEMORY_HOST = 1, PW_CU_MEMORY_DEVICE = 2, PW_CU_MEMORY_UNIFIED = 4 };
enum {
    PW_CU_POINTER_CONTEXT = 1,
    PW_CU_POINTER_MEMORY_TYPE = 2,
    PW_CU_POINTER_ON_DEVICE = 3,
    PW_CU_POINTER_BUFFER_ID = 7,
    PW_CU_POINTER_IS_MANAGED = 8,
    PW_CU_POINTER_DEVICE = 9,
    PW_CU_POINTER_IS_ALLOCATED = 13 /* by cuMemAlloc: the driver says "legacy, capable of IPC" */
};
enum { PW_CU_RANGE_LAST_PREFETCH = 4, PW_CU_DEVICE_CPU = -1 };
enum { PW_CU_MULTIPROCESSORS = 16, PW_CU_THREADS = 39, PW_CU_MAJOR = 75, PW_CU_MINOR = 76 };
enum { PW_CU_HOST_PORTABLE = 1, PW_CU_HOST_MAPPED = 2 };
/* PW_CU_REGISTER_READ is for memory that this process may only read. */
enum { PW_CU_REGISTER_PORTABLE = 1, PW_CU_REGISTER_MAPPED = 2, PW_CU_REGISTER_READ = 8 };
enum { PW_CU_IPC_PEER_ACCESS = 1, PW_CU_P2P_ATOMICS = 3 };
enum { PW_CU_STREAM_DEFAULT = 0, PW_CU_STREAM_NON_BLOCKING = 1, PW_CU_EVENT_UNTIMED = 2 };

/* X(field, symbol, arguments); handles are opaque pointers. */
#define PW_CU_CALLS(X)                                                                                          \
    X(pointer_attributes, "cuPointerGetAttributes", (unsigned, const int *, void **, pw_cu_ptr))                \
    X(device_get, "cuDeviceGet", (int *, int))                                                                  \
    X(device_attribute, "cuDeviceGetAttribute", (int *, int, int))                                              \
    X(primary_retain, "cuDevicePrimaryCtxRetain", (void **, int))                                               \
    X(primary_release, "cuDevicePrimaryCtxRelease_v2", (int))                                                   \
    X(context_push, "cuCtxPushCurrent_v2", (void *))                                                            \
    X(context_pop, "cuCtxPopCurrent_v2", (void **))                                                             \
    X(context_current, "cuCtxGetCurrent", (void **))                                                            \
    X(context_device, "cuCtxGetDevice", (int *))                                                                \
    X(alloc, "cuMemAlloc_v2", (pw_cu_ptr *, size_t))                                                            \
    X(free, "cuMemFree_v2", (pw_cu_ptr))                                                                        \
    X(host_alloc, "cuMemHostAlloc", (void **, size_t, unsigned))                                                \
    X(host_free, "cuMemFreeHost", (void *))                                                                     \
    X(host_device_pointer, "cuMemHostGetDevicePointer_v2", (pw_cu_ptr *, void *, unsigned))                     \
    X(copy, "cuMemcpyAsync", (pw_cu_ptr, pw_cu_ptr, size_t, void *))                                            \
    X(copy_2d, "cuMemcpy2DAsync_v2", (const pw_cu_copy_2d *, void *))                                           \
    X(fill, "cuMemsetD8Async", (pw_cu_ptr, unsigned char, size_t, void *))                                      \
    X(stream_create, "cuStreamCreate", (void **, unsigned))                                                     \
    X(stream_destroy, "cuStreamDestroy_v2", (void *))                                                           \
    X(stream_wait, "cuStreamSynchronize", (void *))                                                             \
    X(stream_query, "cuStreamQuery", (void *))                                                                  \
    X(event_create, "cuEventCreate", (void **, unsigned))                                                       \
    X(event_destroy, "cuEventDestroy_v2", (void *))                                                             \
    X(event_wait, "cuEventSynchronize", (void *))                                                               \
    X(event_record, "cuEventRecord", (void *, void *))                                                          \
    X(module_load, "cuModuleLoadData", (void **, const void *))                                                 \
    X(module_unload, "cuModuleUnload", (void *))                                                                \
    X(module_function, "cuModuleGetFunction", (void **, void *, const char *))                                  \
    X(launch, "cuLaunchKernel",                                                                                 \
      (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **)) \
    X(error_name, "cuGetErrorName", (int, const char **))

/* Functions that older drivers do not have: the field is then NULL. */
#define PW_CU_OPTIONAL_CALLS(X)                                                                                      \
    X(context_id, "cuCtxGetId", (void *, unsigned long long *))                                                      \
    X(range_attribute, "cuMemRangeGetAttribute", (void *, size_t, int, pw_cu_ptr, size_t))                           \
    X(address_range, "cuMemGetAddressRange_v2", (pw_cu_ptr *, size_t *, pw_cu_ptr))                                  \
    X(host_register, "cuMemHostRegister_v2", (void *, size_t, unsigned))                                             \
    X(host_unregister, "cuMemHostUnregister", (void *))                                                              \
    X(ipc_get, "cuIpcGetMemHandle", (pw_cu_ipc *, pw_cu_ptr))                                                        \
    X(ipc_open, "cuIpcOpenMemHandle_v2", (pw_cu_ptr *, pw_cu_ipc, unsigned))                                         \
    X(ipc_close, "cuIpcCloseMemHandle", (pw_cu_ptr))                                                                 \
    X(device_uuid, "cuDeviceGetUuid", (pw_cu_uuid *, int))                                                           \
    X(p2p_attribute, "cuDeviceGetP2PAttribute", (int *, int, int, int))                                              \
    X(graph_create, "cuGraphCreate", (void **, unsigned))                                                            \
    X(graph_destroy, "cuGraphDestroy", (void *))                                                                     \
    X(graph_add_kernel, "cuGraphAddKernelNode", (void **, void *, void *const *, size_t, const pw_cu_kernel_node *)) \
    X(graph_instantiate, "cuGraphInstantiateWithFlags", (void **, void *, unsigned long long))                       \
    X(graph_exec_destroy, "cuGraphExecDestroy", (void *))                                                            \
    X(graph_set_kernel, "cuGraphExecKernelNodeSetParams", (void *, void *, const pw_cu_kernel_node *))               \
    X(graph_launch, "cuGraphLaunch", (void *, void *))

typedef struct pw_cu_calls {
#define X(field, symbol, args) int(*field) args;
    PW_CU_CALLS(X)
    PW_CU_OPTIONAL_CALLS(X)
#undef X
} pw_cu_calls;

/* Complete once pw_cu_find has returned true. */
extern pw_cu_calls pw_cu;

/* Finds the functions in the driver that the process has loaded, and remembers success. Returns false, and logs that
 * once, if there is no driver or it lacks a function. Thread safe. */
bool pw_cu_find(void);
/* Whether nothing in the process has initialised the driver yet. Takes nanoseconds. Only once pw_cu_find is true. */
bool pw_cu_sleeps(void);

/* Returns PW_OK, or the status of a failed call of the driver; logs the failure (level info) and the call's name. */
pw_status pw_cu_check(int result, const char *call);

static inline pw_cu_ptr pw_cu_address(const void *p)
{
    return (pw_cu_ptr)(uintptr_t)p;
}

#endif
