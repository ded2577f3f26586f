/*
 * Kernels for GPUs: cubins from the jit-cache, one cache for each architecture in use, and the modules that are made of
 * them in each context. NVRTC is loaded by the cache's worker thread, and only when a cubin is missing.
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
    pw_cache *cache; /* NULL: no kernels can be had */
    pw_gpu_tier0 *tier0;
    pw_kernel *tier0_kernel, *fused_kernel;
    struct pw_gpu_code *next;
} pw_gpu_code;

/* The functions of one job: [unpack][counting in 64 bits]; of fused moves: [unpack][large]. */
typedef struct pw_gpu_functions {
    void *fn[2][2];
} pw_gpu_functions;

/* The code of an architecture; never NULL for long: without memory, or when everything is off, it has no cache. Tier 0
 * is asked of the worker thread at once, but in sync mode not before a layout has no kernels of its own. */
pw_gpu_code *pw_gpu_code_of(int major, int minor);
void pw_gpu_code_close(void);

/* The functions of a kernel in this context, which must be current; loads the module when it is new. NULL: the
 * kernel is not ready, or the driver refuses it (said once). */
const pw_gpu_functions *pw_gpu_functions_of(pw_gpu *gpu, pw_kernel *kernel);
/* The same of tier 0: PW_GPU_TIER0_KERNELS of them. */
const pw_gpu_functions *pw_gpu_tier0_functions(pw_gpu *gpu);
/* ... compiled in this call, if need be. */
const pw_gpu_functions *pw_gpu_tier0_wait(pw_gpu *gpu);

/* The functions for fused moves. NULL: they are not there yet; the worker thread is asked for them, unless in sync
 * mode, when they are compiled in this call. */
const pw_gpu_functions *pw_gpu_fused_functions(pw_gpu *gpu);

/* Unloads the context's modules; it must be current. */
void pw_gpu_modules_free(pw_gpu *gpu);

#endif
