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

/* A kernel as the emulation compiles it: one call runs one block. */
typedef void emulated_kernel(const void *params, uint32_t block, uint32_t grid);

/* Canonicalises and lowers a type. A failure fails the test and prints `label`. */
pw_nest *lower(const pw_type *type, const char *label);

/* Compiles the kernels of all jobs to a library, to be closed with dlclose. */
void *emulate(const pw_compile_job *jobs);

typedef struct subject {
    const pw_type *type;
    const pw_nest *nest;
    const char *label;
    uint64_t seed;
    int64_t count;
} subject;

/* Packs and unpacks `count` objects by the specialised kernel (symbols pack and unpack of `lib`), at several places of
 * the buffers and for several GPUs. */
void check_kernel(const subject *s, void *lib, const pw_shape *shape, const char *pack, const char *unpack);

/* Does the same by the kernels of tier 0. False: tier 0 does not serve this nest. */
bool check_tier0(const subject *s, void *lib, pw_gpu_tier0 *tier0);

#endif
