/*
 * GPU kernels on the CPU: their text compiled by the C++ compiler over an emulated grid (emulate.h), their launches by
 * the launch code that a GPU would get, compared with pw_walk byte for byte, with guard bytes around both buffers.
 */
#ifndef PW_TESTS_CODEGEN_NVRTC_EMULATION_H
#define PW_TESTS_CODEGEN_NVRTC_EMULATION_H

#include "codegen/nvrtc/launch.h"
#include "codegen/nvrtc/source.h"
#include "codegen/nvrtc/tier0.h"
#include "passes/passes.h"

/* A kernel as the emulation compiles it: runs one block. */
typedef void emulated_kernel(const void *params, uint32_t block, uint32_t grid);

/* Canonicalised and lowered; fails the test, naming `label`, when that fails. */
pw_nest *lower(const pw_type *type, const char *label);

/* The kernels of all jobs as a library, to be closed with dlclose. */
void *emulate(const pw_compile_job *jobs);

typedef struct subject {
    const pw_type *type;
    const pw_nest *nest;
    const char *label;
    uint64_t seed;
    int64_t count;
} subject;

/* Pack and unpack of `count` objects by the specialised kernel (symbols pack and unpack of `lib`), at several places of
 * the buffers and for several GPUs. */
void check_kernel(const subject *s, void *lib, const pw_shape *shape, const char *pack, const char *unpack);

/* The same by the kernels of tier 0; false when the nest is not for them. */
bool check_tier0(const subject *s, void *lib, pw_gpu_tier0 *tier0);

#endif
