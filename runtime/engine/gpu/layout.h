/*
 * A layout on GPUs: the plan of its kernels, and for each context the tables in device memory and the functions. The
 * pw_layout owns this state and frees it.
 */
#ifndef PW_RUNTIME_GPU_LAYOUT_H
#define PW_RUNTIME_GPU_LAYOUT_H

#include "runtime/engine/gpu/code.h"
#include "runtime/engine/gpu/pool.h"

/* A layout in one context. Only `functions` changes after it was made. */
typedef struct pw_gpu_bound {
    pw_gpu *gpu;
    pw_gpu_block *tables;
    const void **table_addresses; /* on the device, in the order of pw_shape_bind; NULL: the upload failed */
    pw_kernel_args args;          /* the arguments of the layout, with these tables */
    pw_kernel *kernel;            /* NULL: there is no plan or no cache */
    _Atomic(const pw_gpu_functions *) functions;
    struct pw_gpu_bound *next;
} pw_gpu_bound;

typedef struct pw_gpu_layout {
    pw_layout_gpu base;
    const pw_layout *layout;
    pw_gpu_plan *plan;  /* NULL: the layout is too large for a kernel of its own */
    int tier0_launches; /* launches that tier 0 needs for one move; -1: tier 0 cannot do it */
    bool odd;           /* some pieces have odd lengths: kernels move their ends by single bytes */
    int64_t fused_most; /* the largest transfer in bytes that shares a launch with others (fused.h) */
    pthread_mutex_t lock;
    _Atomic(pw_gpu_bound *) bound; /* a list, which grows under the lock */
} pw_gpu_layout;

/* Returns the GPU state of a layout and makes it at first use. NULL: out of memory. */
pw_gpu_layout *pw_gpu_layout_of(pw_layout *layout);
/* Returns the layout in a context, which must be current, and makes it at first use. NULL: out of memory. */
pw_gpu_bound *pw_gpu_layout_bind(pw_gpu_layout *layout, pw_gpu *gpu);

/* Where the layout's kernels for GPUs came from: PW_ORIGIN_COMPILED if any of them was compiled. Makes nothing. */
pw_kernel_origin pw_gpu_layout_origin(const pw_layout *layout);

/* Returns the functions of the layout's own kernel. NULL: they are not ready; the call counts `bytes` more bytes to be
 * moved, and asks the worker thread for the kernel once the layout is hot. With `now` this call compiles it. */
const pw_gpu_functions *pw_gpu_layout_functions(pw_gpu_bound *bound, int64_t bytes, bool now);

#endif
