/*
 * What kernels are compiled for: an architecture and a CPU name in LLVM's terms ("znver4", "x86-64-v3",
 * "neoverse-n1"). The host's name is found without LLVM, from cpuid or the kernel's hardware
 * capabilities, so a process with a warm cache computes its keys without loading a compiler. A known
 * microarchitecture is named only if the machine offers every feature that the name implies (virtual
 * machines may hide some); else the x86-64 level that it does offer.
 */
#ifndef PW_CODEGEN_TARGET_H
#define PW_CODEGEN_TARGET_H

#include "base/hash.h"
#include "base/status.h"

typedef struct pw_target {
    char arch[16]; /* "x86_64", "aarch64" */
    char cpu[48];
} pw_target;

/* The machine this runs on; computed once. */
const pw_target *pw_target_host(void);

/* cpu: "native" or a CPU name; triple: NULL for the host's or e.g. "aarch64-linux-gnu". */
pw_status pw_target_parse(const char *triple, const char *cpu, pw_target *out, pw_diag *diag);

/* Can code for `target` run here? (The same CPU, or an ISA level that the host has.) */
bool pw_target_runs_here(const pw_target *target);

/* The i-th target whose kernels may be looked up here, best first: the host itself, then lower levels.
 * False past the end. */
bool pw_target_compatible(int i, pw_target *out);

#endif
