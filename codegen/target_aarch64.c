/*
 * AArch64: the CPUs by name, and the host's from the MIDR and the kernel's hardware capabilities. A named
 * core is used only when the capabilities that its LLVM name implies are there; else "generic" (Armv8.0).
 */
#include "codegen/target_cpu.h"

#include <stddef.h>

#define CORE(implementer, part) implementer, 0, part, part

const pw_cpu pw_cpus_aarch64[] = {
    {"generic", 0, 0, 0, 0, 0, 0},
    {"cortex-a53", 0, 0, CORE(0x41, 0xd03)},
    {"cortex-a57", 0, 0, CORE(0x41, 0xd07)},
    {"cortex-a72", 0, 0, CORE(0x41, 0xd08)},
    {"neoverse-n1", 0, 0, CORE(0x41, 0xd0c)},
    {"neoverse-v1", 0, 0, CORE(0x41, 0xd40)},
    {"neoverse-n2", 0, 0, CORE(0x41, 0xd49)},
    {"neoverse-v2", 0, 0, CORE(0x41, 0xd4f)},
    {"a64fx", 0, 0, CORE(0x46, 0x001)},
    {"tsv110", 0, 0, CORE(0x48, 0xd01)},
    {"ampere1", 0, 0, CORE(0xc0, 0xac3)},
    {"ampere1a", 0, 0, CORE(0xc0, 0xac4)},
    {NULL, 0, 0, 0, 0, 0, 0},
};

#if defined(__aarch64__)
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>

/* AT_HWCAP and AT_HWCAP2 bits of the kernel's ABI. */
enum {
    CAP_AES = 1 << 3,
    CAP_ATOMICS = 1 << 8,
    CAP_RDM = 1 << 12,
    CAP_DOTPROD = 1 << 20,
    CAP_SVE = 1 << 22,
    CAP2_SVE2 = 1 << 1
};

static uint64_t read_midr(void)
{
    unsigned long long midr = 0;
    FILE *f = fopen("/sys/devices/system/cpu/cpu0/regs/identification/midr_el1", "re");
    if (!f)
        return 0;
    if (fscanf(f, "%llx", &midr) != 1)
        midr = 0;
    fclose(f);
    return midr;
}

static bool has_capabilities(const char *name)
{
    unsigned long cap = getauxval(AT_HWCAP), cap2 = getauxval(AT_HWCAP2);
    unsigned long need = CAP_AES, need2 = 0;
    bool sve2 = strcmp(name, "neoverse-n2") == 0 || strcmp(name, "neoverse-v2") == 0;
    bool sve = sve2 || strcmp(name, "neoverse-v1") == 0 || strcmp(name, "a64fx") == 0;
    if (strncmp(name, "cortex", 6) != 0)
        need |= CAP_ATOMICS | CAP_RDM;
    if (strncmp(name, "neoverse", 8) == 0)
        need |= CAP_DOTPROD;
    if (sve)
        need |= CAP_SVE;
    if (sve2)
        need2 |= CAP2_SVE2;
    return (cap & need) == need && (cap2 & need2) == need2;
}

const char *pw_cpu_detect(int *level)
{
    uint64_t midr = read_midr();
    uint32_t implementer = midr >> 24 & 0xff, part = midr >> 4 & 0xfff;
    *level = 0;
    for (const pw_cpu *c = pw_cpus_aarch64; c->name; c++)
        if (c->vendor && c->vendor == implementer && c->first == part && has_capabilities(c->name))
            return c->name;
    return "generic";
}
#endif

#if !defined(__x86_64__) && !defined(__aarch64__)
const char *pw_cpu_detect(int *level)
{
    *level = 0;
    return "generic";
}
#endif
