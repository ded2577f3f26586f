/*
 * x86-64: the CPUs by name, and the host's from cpuid.
 *
 * Hypervisors hide features. A microarchitecture is named only when every feature that its LLVM name lets
 * the compiler use in plain integer and vector code is there and enabled by the system; features that need an
 * intrinsic nobody writes here (monitors, protection keys, …) do not count.
 */
#include "codegen/target_cpu.h"

#include <stddef.h>

#define INTEL PW_VENDOR_INTEL, 6
#define AMD(family) PW_VENDOR_AMD, family

enum {
    VBMI = PW_CPU_VBMI,
    WIDE = PW_CPU_WIDE,
    GATHERS = PW_CPU_GATHERS,
    STRINGS = PW_CPU_STRINGS,
    EAGER = PW_CPU_EAGER
};

const pw_cpu pw_cpus_x86[] = {
    /* name, level, traits, vendor, family, models */
    {"x86-64", 1, 0, 0, 0, 0, 0},
    {"x86-64-v2", 2, 0, 0, 0, 0, 0},
    {"x86-64-v3", 3, 0, 0, 0, 0, 0},
    {"x86-64-v4", 4, 0, 0, 0, 0, 0},
    {"nehalem", 2, 0, 0, 0, 0, 0},
    {"westmere", 2, 0, 0, 0, 0, 0},
    {"sandybridge", 2, 0, 0, 0, 0, 0},
    {"ivybridge", 2, 0, 0, 0, 0, 0},
    {"haswell", 3, 0, INTEL, 0x3f, 0x3f},
    {"broadwell", 3, 0, INTEL, 0x4f, 0x4f},
    {"broadwell", 3, 0, INTEL, 0x56, 0x56},
    {"skylake", 3, 0, INTEL, 0x9e, 0x9e},
    {"skylake-avx512", 4, 0, INTEL, 0x55, 0x55}, /* also Cascade Lake: the same but for VNNI */
    {"cascadelake", 4, 0, 0, 0, 0, 0},
    {"cooperlake", 4, 0, 0, 0, 0, 0},
    {"icelake-client", 4, VBMI | WIDE, INTEL, 0x7d, 0x7e},
    {"icelake-server", 4, VBMI | WIDE, INTEL, 0x6a, 0x6a},
    {"icelake-server", 4, VBMI | WIDE, INTEL, 0x6c, 0x6c},
    {"tigerlake", 4, VBMI | WIDE, INTEL, 0x8c, 0x8d},
    {"sapphirerapids", 4, VBMI | WIDE | GATHERS, INTEL, 0x8f, 0x8f},
    {"emeraldrapids", 4, VBMI | WIDE | GATHERS, INTEL, 0xcf, 0xcf},
    {"graniterapids", 4, VBMI | WIDE | GATHERS, INTEL, 0xad, 0xae},
    {"alderlake", 3, 0, INTEL, 0x97, 0x9a},
    {"raptorlake", 3, 0, INTEL, 0xb7, 0xb7},
    {"sierraforest", 3, 0, INTEL, 0xaf, 0xaf},
    {"znver1", 3, 0, AMD(0x17), 0x00, 0x2f},
    {"znver2", 3, 0, AMD(0x17), 0x30, 0xaf},
    {"znver3", 3, 0, AMD(0x19), 0x00, 0x0f},
    {"znver4", 4, VBMI, AMD(0x19), 0x10, 0x1f},
    {"znver3", 3, 0, AMD(0x19), 0x20, 0x5f},
    {"znver4", 4, VBMI, AMD(0x19), 0x60, 0xaf},
    {"znver5", 4, VBMI | WIDE | STRINGS | EAGER, AMD(0x1a), 0x00, 0x7f},
    {NULL, 0, 0, 0, 0, 0, 0},
};

#if defined(__x86_64__)
#include <cpuid.h>
#include <string.h>

enum { EAX, EBX, ECX, EDX };

typedef struct feature {
    uint32_t leaf;
    int reg, bit;
} feature;

/* The x86-64 psABI's levels: the features that each adds to the one below. */
static const feature level2[] = {
    {1, ECX, 0},  {1, ECX, 9},  {1, ECX, 13},        {1, ECX, 19},
    {1, ECX, 20}, {1, ECX, 23}, {0x80000001, ECX, 0}}; /* SSE3..SSE4.2, CX16, POPCNT, LAHF */
static const feature level3[] = {{1, ECX, 28}, {7, EBX, 5},  {7, EBX, 3},  {7, EBX, 8},
                                 {1, ECX, 29}, {1, ECX, 12}, {1, ECX, 22}, {0x80000001, ECX, 5}};
static const feature level4[] = {{7, EBX, 16}, {7, EBX, 17}, {7, EBX, 28}, {7, EBX, 30}, {7, EBX, 31}};
/* VBMI, VBMI2, GFNI, VAES, VPCLMULQDQ, VNNI, BITALG, VPOPCNTDQ, IFMA */
static const feature vbmi_class[] = {{7, ECX, 1},  {7, ECX, 6},  {7, ECX, 8},  {7, ECX, 9}, {7, ECX, 10},
                                     {7, ECX, 11}, {7, ECX, 12}, {7, ECX, 14}, {7, EBX, 21}};
/* Enhanced rep movsb, which firmware may turn off and hypervisors may hide. */
static const feature fast_strings[] = {{7, EBX, 9}};
/* Every CPU from Haswell and Zen on has AES and PCLMULQDQ. */
static const feature modern[] = {{1, ECX, 25}, {1, ECX, 1}};
/* Every Zen has SSE4A, SHA and ADX. */
static const feature zen[] = {{0x80000001, ECX, 6}, {7, EBX, 29}, {7, EBX, 19}};

static void ask(uint32_t leaf, uint32_t r[4])
{
    if (!__get_cpuid_count(leaf, 0, &r[EAX], &r[EBX], &r[ECX], &r[EDX]))
        memset(r, 0, 4 * sizeof *r);
}

static bool has_all(const pw_cpuid *a, const feature *f, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const uint32_t *r = f[i].leaf == 1 ? a->leaf1 : f[i].leaf == 7 ? a->leaf7 : a->amd;

        if (!(r[f[i].reg] >> f[i].bit & 1))
            return false;
    }
    return true;
}

#define HAS(list) has_all(a, list, sizeof list / sizeof *list)

/* Returns whether the system saves these registers (XCR0). */
static bool os_saves(const pw_cpuid *a, uint64_t mask)
{
    uint32_t lo, hi;
    if (!(a->leaf1[ECX] >> 27 & 1))
        return false;
    __asm__("xgetbv" : "=a"(lo), "=d"(hi) : "c"(0));
    return (((uint64_t)hi << 32 | lo) & mask) == mask;
}

static int level_of(const pw_cpuid *a)
{
    if (!HAS(level2))
        return 1;
    if (!HAS(level3) || !os_saves(a, 0x6)) /* SSE and AVX state */
        return 2;
    return HAS(level4) && os_saves(a, 0xe6) ? 4 : 3; /* opmask and ZMM state */
}

static uint32_t host_vendor(void)
{
    uint32_t r[4] = {0};
    char name[13] = {0};
    if (!__get_cpuid(0, &r[EAX], &r[EBX], &r[ECX], &r[EDX]))
        return 0;
    memcpy(name, &r[EBX], 4);
    memcpy(name + 4, &r[EDX], 4);
    memcpy(name + 8, &r[ECX], 4);
    if (strcmp(name, "GenuineIntel") == 0)
        return PW_VENDOR_INTEL;
    return strcmp(name, "AuthenticAMD") == 0 ? PW_VENDOR_AMD : 0;
}

static const pw_cpu *model_of(const pw_cpuid *a)
{
    uint32_t vendor = host_vendor(), id = a->leaf1[EAX];
    uint32_t family = (id >> 8 & 15) + ((id >> 8 & 15) == 15 ? id >> 20 & 255 : 0);
    uint32_t model = (id >> 4 & 15) | (id >> 12 & 0xf0);
    for (const pw_cpu *c = pw_cpus_x86; c->name; c++)
        if (vendor && c->vendor == vendor && c->family == family && model >= c->first && model <= c->last)
            return c;
    return NULL;
}

bool pw_cpu_is_whole(const pw_cpuid *a, const pw_cpu *c, int level)
{
    return c->level <= level && HAS(modern) && (!(c->traits & VBMI) || HAS(vbmi_class)) &&
           (!(c->traits & STRINGS) || HAS(fast_strings)) && (c->vendor != PW_VENDOR_AMD || HAS(zen));
}

const char *pw_cpu_detect(int *level)
{
    static const char *const levels[] = {"x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"};
    pw_cpuid a; /* each leaf is read once */
    const pw_cpu *c;

    ask(1, a.leaf1);
    ask(7, a.leaf7);
    ask(0x80000001, a.amd);
    c = model_of(&a);
    *level = level_of(&a);
    return c && pw_cpu_is_whole(&a, c, *level) ? c->name : levels[*level - 1];
}
#endif
