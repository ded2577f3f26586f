/* The CPUs that targets may name, and how the host's is found. Internal to codegen/. */
#ifndef PW_CODEGEN_TARGET_CPU_H
#define PW_CODEGEN_TARGET_CPU_H

#include "codegen/target.h"

/*
 * A CPU in LLVM's terms. `level` is the x86-64 level (1..4) that the name implies; 0 on other architectures.
 * `model` identifies the hardware: (vendor, family, first and last model) on x86, (implementer, part) of
 * the MIDR on Arm; zero where the host is never identified as this.
 */
typedef struct pw_cpu {
    const char *name;
    int level;
    bool vbmi; /* implies AVX-512 VBMI */
    uint32_t vendor, family, first, last;
} pw_cpu;

enum { PW_VENDOR_INTEL = 1, PW_VENDOR_AMD = 2 };

/* Tables end with a NULL name. */
extern const pw_cpu pw_cpus_x86[];
extern const pw_cpu pw_cpus_aarch64[];

/* Identifies this machine: the name of a known CPU, or of the best generic level that the machine offers. *level is the
 * x86-64 level; 0 elsewhere. Call it once: in a virtual machine every cpuid goes to the hypervisor, which takes
 * microseconds. */
const char *pw_cpu_detect(int *level);

#endif
