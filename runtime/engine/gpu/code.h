/*
 * Kernels for GPUs. The jit-cache holds cubins, in one cache for each architecture in use. Each context loads modules
 * from them. The cache's worker thread loads NVRTC, and only when a cubin is missing.
 */
#ifndef PW_RUNTIME_GPU_CODE_H
#define PW_RUNTIME_GPU_CODE_H

#include "codegen/nvrtc/fused.h"
#include "codegen/nvrtc/tier0.h"
#include "jit-cache/cache.h"
#include "runtime/engine/gpu/device.h"
#include "runtime/engine/layout/layout.h"

typedef struct pw_gpu_code {
    int major, minor;
    pw_jit_mode mode;
    int64_t hot_bytes;
    pw_cache *cache; /* NULL: this architecture gets no kernels */
    pw_gpu_tier0 *tier0;
    pw_kernel *tier0_kernel, *fused_kernel;
    struct pw_gpu_code *next;
} pw_gpu_code;

/* The functions of one kernel, by pw_direction and by whether they count in 64 bits; for the fused kernel the second
 * index says whether it is the large one. */
typedef struct pw_gpu_functions {
    void *fn[2][2];
} pw_gpu_functions;

/* Returns the code of an architecture. It has no cache when memory is short or PACKWRIGHT_JIT is off. The first call
 * asks the worker thread for the kernels of tier 0; in sync mode the first layout without a kernel of its own asks. */
pw_gpu_code *pw_gpu_code_of(int major, int minor);
/* Ends the threads that compile; what is compiled stays in use. */
void pw_gpu_stop(void);
void pw_gpu_code_close(void);

/* Returns the functions of a kernel in this context, which must be current, and loads the module at first use. NULL:
 * there is no kernel, it is not ready, or the driver refuses it (which is logged once). */
const pw_gpu_functions *pw_gpu_functions_of(pw_gpu *gpu, pw_kernel *kernel);
/* Returns the functions of tier 0, an array of PW_GPU_TIER0_KERNELS. With `now` this call compiles them if they are not
 * ready. NULL: they are not ready, or that failed. */
const pw_gpu_functions *pw_gpu_tier0_functions(pw_gpu *gpu, bool now);

/* Returns the functions for fused moves. NULL: they are not ready, and this call has asked the worker thread for them.
 * In sync mode this call compiles them. */
const pw_gpu_functions *pw_gpu_fused_functions(pw_gpu *gpu);

/* Unloads the modules of a context, which must be current. */
void pw_gpu_modules_free(pw_gpu *gpu);

#endif
