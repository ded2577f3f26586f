/* One type's kernels on the GPU: compiled with NVRTC, tables uploaded, ready to be launched. */
#ifndef PW_TESTS_GPU_KERNEL_H
#define PW_TESTS_GPU_KERNEL_H

#include "codegen/nvrtc/launch.h"
#include "codegen/nvrtc/tier0.h"
#include "passes/passes.h"
#include "tests/gpu/driver.h"

typedef struct gpu_kernel {
    pw_nest *nest;
    pw_shape *shape;
    pw_gpu_plan *plan; /* NULL: this layout has no GPU kernels */
    pw_arena *arena;
    pw_kernel_args args; /* with device addresses */
    gpu_ptr *tables;
    size_t table_bytes; /* of all tables, once they are on the GPU */
    char pack[32], unpack[32];
    gpu_function function[2][2]; /* [unpack][64-bit] */
} gpu_kernel;

/* Canonicalises, lowers and plans; needs no GPU. Prints and returns false when that fails. */
bool gpu_kernel_make(gpu_kernel *k, const pw_type *type, int number);
void gpu_kernel_free(gpu_kernel *k);

/* Copies the tables to the GPU. Must be called before the first launch. */
bool gpu_kernel_upload(gpu_kernel *k);

/* Compiles the kernels of n types (of those that have a plan) to a cubin for sm_<arch>; needs no GPU. */
bool gpu_kernels_compile(gpu_kernel *kernels, int n, int arch, pw_blob *cubin);
/* Finds the kernels in the module made of that cubin. */
void gpu_kernels_find(gpu_kernel *kernels, int n, gpu_module module);

/* Starts packing (or unpacking) `count` objects. False when the launch could not be made. */
bool gpu_kernel_start(const gpu_kernel *k, const gpu_info *gpu, bool unpack, int64_t count, gpu_ptr dst, gpu_ptr src);
bool gpu_kernel_start_on(gpu_stream s, const gpu_kernel *k, const gpu_info *gpu, bool unpack, const pw_gpu_call *call);

#endif
