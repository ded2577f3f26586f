/* The CPUs that targets may name, and how the host's is found. Internal to codegen/. */
#ifndef PW_CODEGEN_TARGET_CPU_H
#define PW_CODEGEN_TARGET_CPU_H

#include "codegen/target.h"

/* What tells CPUs of one level apart. LLVM's tables of features have only the first. */
enum {
    PW_CPU_VBMI = 1,    /* has AVX-512 VBMI */
    PW_CPU_WIDE = 2,    /* copies long blocks faster by vectors of 64 bytes than by those of 32 */
    PW_CPU_GATHERS = 4, /* gathers words faster than it loads them one by one. AMD's CPUs do not, nor do Intel's before
                         * Sapphire Rapids, whose microcode keeps gathers from telling secrets (Gather Data Sampling) */
    PW_CPU_STRINGS = 8, /* its string instruction (rep movsb) does not read the lines that it writes whole from the
                         * cache below, as vector stores do */
    PW_CPU_EAGER = 16 /* fetches the line of every store that waits: lines that share few sets of the first-level cache
                       * drive each other out before they are stored to */
};

/*
 * A CPU in LLVM's terms. `level` is the x86-64 level (1..4) that the name implies; 0 on other architectures.
 * `model` identifies the hardware: (vendor, family, first and last model) on x86, (implementer, part) of
 * the MIDR on Arm; zero where the host is never identified as this.
 */
typedef struct pw_cpu {
    const char *name;
    int level;
    unsigned traits; /* of PW_CPU_..., those that the name implies */
    uint32_t vendor, family, first, last;
} pw_cpu;

enum { PW_VENDOR_INTEL = 1, PW_VENDOR_AMD = 2 };

/* Tables end with a NULL name. */
extern const pw_cpu pw_cpus_x86[];
extern const pw_cpu pw_cpus_aarch64[];

/* What cpuid says in the leaves that features are in: EAX to EDX of leaves 1, 7 and 0x80000001. */
typedef struct pw_cpuid {
    uint32_t leaf1[4], leaf7[4], amd[4];
} pw_cpuid;

/* Returns whether an x86 machine of this level has all that the name of `cpu` implies. */
bool pw_cpu_is_whole(const pw_cpuid *a, const pw_cpu *cpu, int level);

/* Identifies this machine: the name of a known CPU, or of the best generic level that the machine offers. *level is the
 * x86-64 level; 0 elsewhere. Call it once: in a virtual machine every cpuid goes to the hypervisor, which takes
 * microseconds. */
const char *pw_cpu_detect(int *level);

#endif
