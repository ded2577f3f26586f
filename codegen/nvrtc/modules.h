/*
 * The modules that a kernel cache holds for GPUs: one for the shape of each layout, and two that serve all layouts,
 * tier 0 and fused moves, which go through the cache as the kernels of shapes that stand for them. The runtime and
 * `packwright compile --cache` compile all of them here, so that what is stored under a key is the same.
 */
#ifndef PW_CODEGEN_NVRTC_MODULES_H
#define PW_CODEGEN_NVRTC_MODULES_H

#include "codegen/backend.h"

/* The functions of the module for fused moves; the others have the names that the job gives, or tier 0's own. */
#define PW_GPU_FUSED_PACK "pw_fused_pack"
#define PW_GPU_FUSED_UNPACK "pw_fused_unpack"

/* The folder beside libpackwright-nvrtc.so that holds the modules built with the library: a cache directory. */
#define PW_GPU_SHIPPED "packwright-kernels"

/* Compiles the module that the job's shape is, or stands for, by the backend "nvrtc". */
pw_status pw_gpu_module_compile(const pw_backend *nvrtc, const pw_compile_job *job, pw_blob *out, pw_diag *diag);

#endif
