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

/* Returns the machine that this process runs on; found once. */
const pw_target *pw_target_host(void);

/* cpu: "native" or a CPU name; triple: NULL for the host's or e.g. "aarch64-linux-gnu". */
pw_status pw_target_parse(const char *triple, const char *cpu, pw_target *out, pw_diag *diag);

/* Returns the target of a GPU by its compute capability. */
pw_target pw_target_gpu(int major, int minor);
/* Parses the name of a GPU such as "sm_90". False: it is no such name. Only NVRTC knows which of these exist. */
bool pw_target_parse_gpu(const char *name, pw_target *out);

/* Returns whether code for `target` can run here: for the same CPU, or for an ISA level that the host has. Code for a
 * GPU always counts, since the caller has found that GPU. */
bool pw_target_runs_here(const pw_target *target);

/* Finds the i-th target whose kernels may be looked up here, best first: the host itself, then lower levels. False:
 * there are fewer. */
bool pw_target_compatible(int i, pw_target *out);

/* Finds the i-th older GPU whose code also runs on this one, newest first: those of the same major number. False: there
 * are fewer, or this is no GPU. */
bool pw_target_older_gpu(const pw_target *gpu, int i, pw_target *out);

/* What a target offers to a code generator that chooses its own vector code. For unknown CPUs it is less than they may
 * have. */
typedef struct pw_target_isa {
    int vector_bytes;   /* widest plain vector move that pays */
    int copy_bytes;     /* the same for blocks of two cache lines and more */
    bool masked_moves;  /* cheap loads and stores under a mask, of 4- and 8-byte lanes and of bytes (AVX-512 BW+VL) */
    bool byte_shuffles; /* any bytes of a 64-byte vector in one instruction (AVX-512 VBMI) */
    bool strings;       /* rep movsb copies long blocks faster than vectors do, between the caches */
    bool eager_stores;  /* the lines of stores that wait are fetched early, and drive each other out of few sets */
    bool gathers;       /* one instruction loads words from anywhere faster than several do */
} pw_target_isa;

pw_target_isa pw_target_isa_of(const pw_target *target);

/* The first-level data cache and the second-level one of the CPUs with `strings` or `eager_stores`. */
enum { PW_NEAR_BYTES = 48 << 10, PW_MIDDLE_BYTES = 1 << 20 };

/* Returns the size of this machine's last-level cache. Copies longer than it should bypass the caches. */
enum { PW_STREAM_BYTES = 32 << 20 }; /* used where the size is unknown */
int64_t pw_target_stream_bytes(void);

#endif
