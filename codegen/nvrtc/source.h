/*
 * CUDA C from shapes. Kernels of one source share the prelude (the files of device/); each job adds a struct
 * pw_k<job>_r<code> for every kind of region that it has, and four kernels: pack and unpack, with 32- and 64-bit
 * indices (launch.h). `packwright inspect --stage=cuda` shows them.
 */
#ifndef PW_CODEGEN_NVRTC_SOURCE_H
#define PW_CODEGEN_NVRTC_SOURCE_H

#include "codegen/backend.h"

#include <stdio.h>

/* Writes the text for all jobs of the list, NUL-terminated. */
pw_status pw_gpu_source(const pw_compile_job *jobs, pw_blob *out, pw_diag *diag);

/* The prelude as text, and the text that follows it for fused moves. */
const char *pw_gpu_prelude(void);
const char *pw_gpu_fused_prelude(void);

/* Writes the kernels of fused moves (fused.h), for a job whose shape has no regions. */
void pw_gpu_fused_put(FILE *f, const pw_compile_job *job);

#endif
