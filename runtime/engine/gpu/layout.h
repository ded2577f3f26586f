/*
 * A layout on GPUs: the plan of its kernels, and for each context its tables in device memory and its functions. Hangs
 * off the pw_layout and dies with it.
 */
#ifndef PW_RUNTIME_GPU_LAYOUT_H
#define PW_RUNTIME_GPU_LAYOUT_H

#include "runtime/engine/gpu/code.h"
#include "runtime/engine/gpu/pool.h"

/* A layout in one context. Constant but for `functions`. */
typedef struct pw_gpu_bound {
    pw_gpu *gpu;
    pw_gpu_block *tables;
    const void **table_addresses; /* on the device, in the order of pw_shape_bind; NULL: could not be uploaded */
    pw_kernel_args args;          /* the layout's, with these tables */
    pw_kernel *kernel;            /* NULL: there is no plan, or no cache */
    _Atomic(const pw_gpu_functions *) functions;
    struct pw_gpu_bound *next;
} pw_gpu_bound;

typedef struct pw_gpu_layout {
    pw_layout_gpu base;
    const pw_layout *layout;
    pw_gpu_plan *plan;  /* NULL: too much for a kernel of its own */
    int tier0_launches; /* -1: not for tier 0 */
    bool odd;           /* has pieces of odd lengths, whose ends kernels move by single bytes */
    int64_t fused_most; /* bytes up to which it is launched together with others (fused.h) */
    int slice_dim;      /* the loop by which one object can be taken in parts; -1: none */
    pthread_mutex_t lock;
    _Atomic(pw_gpu_bound *) bound; /* a list; added to under the lock */
} pw_gpu_layout;

/* Made at first use. NULL: out of memory. */
pw_gpu_layout *pw_gpu_layout_of(pw_layout *layout);
/* In the context, which must be current. NULL: out of memory. */
pw_gpu_bound *pw_gpu_layout_bind(pw_gpu_layout *layout, pw_gpu *gpu);

/* How the layout's kernel for GPUs came: compiled, if that was done for any of them. Makes nothing. */
pw_kernel_origin pw_gpu_layout_origin(const pw_layout *layout);

/* The functions, if they are there; else NULL, and they are asked for when the layout has become hot: `bytes` more are
 * to be moved. With `now` they are compiled in this call. */
const pw_gpu_functions *pw_gpu_layout_functions(pw_gpu_bound *bound, int64_t bytes, bool now);

#endif
