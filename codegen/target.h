/*
 * What kernels are compiled for: an architecture and a CPU name in LLVM's terms ("znver4", "x86-64-v3",
 * "neoverse-n1"). The host's name is found without LLVM, from cpuid or the kernel's hardware
 * capabilities, so a process with a warm cache computes its keys without loading a compiler. A known
 * microarchitecture is named only if the machine offers every feature that the name implies (virtual
 * machines may hide some) and that compiled code could come to use; else the x86-64 level that it does offer.
 */
#ifndef PW_CODEGEN_TARGET_H
#define PW_CODEGEN_TARGET_H

#include "base/hash.h"
#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct pw_target {
    char arch[16]; /* "x86_64", "aarch64", "nvptx64" */
    char cpu[48];  /* of nvptx64: "sm_90" */
} pw_target;

/* The machine this runs on; computed once. */
const pw_target *pw_target_host(void);

/* cpu: "native" or a CPU name; triple: NULL for the host's or e.g. "aarch64-linux-gnu". */
pw_status pw_target_parse(const char *triple, const char *cpu, pw_target *out, pw_diag *diag);

/* The GPU of a compute capability. */
pw_target pw_target_gpu(int major, int minor);
/* ... of a name such as "sm_90". False: it is none. Which there are is known to NVRTC alone. */
bool pw_target_parse_gpu(const char *name, pw_target *out);

/* Can code for `target` run here? (The same CPU, or an ISA level that the host has.) A GPU's is taken at its word:
 * whoever asks has found it. */
bool pw_target_runs_here(const pw_target *target);

/* The i-th target whose kernels may be looked up here, best first: the host itself, then lower levels.
 * False past the end. */
bool pw_target_compatible(int i, pw_target *out);

/* The i-th older GPU whose code runs on this one, too, newest first: those of the same major number. False past the
 * end, and for what is no GPU. */
bool pw_target_older_gpu(const pw_target *gpu, int i, pw_target *out);

/* What a target offers to a code generator that chooses its own vector code. Conservative for CPUs unknown. */
typedef struct pw_target_isa {
    int vector_bytes;   /* widest plain vector move that pays */
    bool masked_moves;  /* cheap loads and stores under a mask, of 4- and 8-byte lanes and of bytes (AVX-512 BW+VL) */
    bool byte_shuffles; /* any bytes of a 64-byte vector in one instruction (AVX-512 VBMI) */
} pw_target_isa;

pw_target_isa pw_target_isa_of(const pw_target *target);

/* Size of this machine's last-level cache: copies beyond it had better bypass the caches. */
enum { PW_STREAM_BYTES = 32 << 20 }; /* where it is unknown */
int64_t pw_target_stream_bytes(void);

#endif
