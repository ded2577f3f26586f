/* Targets: their names, and which of them run on this machine. */
#include "codegen/target.h"

#include "codegen/target_cpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>
#include <unistd.h>

#if defined(__x86_64__)
#define HOST_ARCH "x86_64"
#elif defined(__aarch64__)
#define HOST_ARCH "aarch64"
#else
#define HOST_ARCH "unknown"
#endif

/* Sets both names, which come from this library's tables and therefore fit. */
static void set_target(pw_target *out, const char *arch, const char *cpu)
{
    memset(out, 0, sizeof *out);
    memcpy(out->arch, arch, strlen(arch));
    memcpy(out->cpu, cpu, strlen(cpu));
}

static pw_target host;
static int host_level; /* the x86-64 level; 0: this is another architecture */
static once_flag host_once = ONCE_FLAG_INIT;

static void find_host(void)
{
    set_target(&host, HOST_ARCH, pw_cpu_detect(&host_level));
}

const pw_target *pw_target_host(void)
{
    call_once(&host_once, find_host);
    return &host;
}

/* NULL: the name is not known. */
static const pw_cpu *find_cpu(const char *arch, const char *name)
{
    const pw_cpu *table = strcmp(arch, "x86_64") == 0    ? pw_cpus_x86
                          : strcmp(arch, "aarch64") == 0 ? pw_cpus_aarch64
                                                         : NULL;
    for (; table && table->name; table++)
        if (strcmp(table->name, name) == 0)
            return table;
    return NULL;
}

/* Returns the architecture that a triple begins with. NULL: it is not supported. */
static const char *triple_arch(const char *triple)
{
    static const struct {
        const char *prefix, *arch;
    } names[] = {{"x86_64", "x86_64"}, {"amd64", "x86_64"}, {"aarch64", "aarch64"}, {"arm64", "aarch64"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t n = strlen(names[i].prefix);
        if (strncmp(triple, names[i].prefix, n) == 0 && (triple[n] == '-' || triple[n] == '\0'))
            return names[i].arch;
    }
    return NULL;
}

pw_target pw_target_gpu(int major, int minor)
{
    pw_target t = {.arch = "nvptx64"};
    snprintf(t.cpu, sizeof t.cpu, "sm_%d%d", major, minor);
    return t;
}

/* Two digits or three, the last of which is the minor number. */
bool pw_target_parse_gpu(const char *name, pw_target *out)
{
    enum { LEAST = 50 };
    const char *digits = strncmp(name, "sm_", 3) == 0 && name[3] != '0' ? name + 3 : "";
    size_t n = strspn(digits, "0123456789");
    int number = n == 2 || n == 3 ? atoi(digits) : 0;

    if (digits[n] != '\0' || number < LEAST)
        return false;
    *out = pw_target_gpu(number / 10, number % 10);
    return true;
}

static const char *generic_cpu(const char *arch)
{
    return strcmp(arch, "x86_64") == 0 ? "x86-64" : "generic";
}

pw_status pw_target_parse(const char *triple, const char *cpu, pw_target *out, pw_diag *diag)
{
    const char *arch = triple ? triple_arch(triple) : pw_target_host()->arch;
    if (!arch)
        return pw_diag_set(diag, PW_ERR_INVALID, "unknown target '%s': expected x86_64-... or aarch64-...", triple);
    if (strcmp(cpu, "native") == 0) {
        bool same = strcmp(arch, pw_target_host()->arch) == 0;
        cpu = same ? pw_target_host()->cpu : generic_cpu(arch);
    }
    if (!find_cpu(arch, cpu))
        return pw_diag_set(diag, PW_ERR_INVALID, "unknown CPU '%s' for %s", cpu, arch);
    set_target(out, arch, cpu);
    return PW_OK;
}

/* Finds the i-th generic target, from the host's level downwards. */
static bool lower_level(int i, pw_target *out)
{
    static const char *const levels[] = {"x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"};
    const pw_target *self = pw_target_host();
    const char *name = host_level - i >= 1 ? levels[host_level - i - 1] : NULL;
    if (host_level == 0 && i == 0)
        name = generic_cpu(self->arch);
    if (!name)
        return false;
    set_target(out, self->arch, name);
    return true;
}

bool pw_target_compatible(int i, pw_target *out)
{
    const pw_target *self = pw_target_host();
    pw_target best;
    /* The host may itself be one of the generic levels; it is listed once. */
    bool generic = lower_level(0, &best) && strcmp(best.cpu, self->cpu) == 0;
    if (i < 0)
        return false;
    if (i == 0) {
        *out = *self;
        return true;
    }
    return lower_level(generic ? i : i - 1, out);
}

bool pw_target_older_gpu(const pw_target *gpu, int i, pw_target *out)
{
    int number = strncmp(gpu->cpu, "sm_", 3) == 0 ? atoi(gpu->cpu + 3) : 0;
    int minor = number % 10 - 1 - i;
    if (i < 0 || minor < 0)
        return false;
    *out = pw_target_gpu(number / 10, minor);
    return true;
}

bool pw_target_runs_here(const pw_target *target)
{
    pw_target t;
    if (strcmp(target->arch, "nvptx64") == 0)
        return true;
    for (int i = 0; pw_target_compatible(i, &t); i++)
        if (strcmp(t.arch, target->arch) == 0 && strcmp(t.cpu, target->cpu) == 0)
            return true;
    return false;
}

pw_target_isa pw_target_isa_of(const pw_target *target)
{
    const pw_cpu *cpu = find_cpu(target->arch, target->cpu);
    pw_target_isa isa = {.vector_bytes = 16, .copy_bytes = 16};
    if (!cpu)
        return isa;
    isa.vector_bytes = cpu->level >= 3 ? 32 : 16;
    isa.masked_moves = cpu->level >= 4;
    isa.byte_shuffles = cpu->traits & PW_CPU_VBMI;
    isa.copy_bytes = cpu->traits & PW_CPU_WIDE ? 64 : isa.vector_bytes;
    isa.strings = cpu->traits & PW_CPU_STRINGS;
    isa.eager_stores = cpu->traits & PW_CPU_EAGER;
    isa.gathers = cpu->traits & PW_CPU_GATHERS;
    return isa;
}

int64_t pw_target_stream_bytes(void)
{
    long bytes = 0;
#ifdef _SC_LEVEL3_CACHE_SIZE
    bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
#endif
    return bytes > 0 ? bytes : PW_STREAM_BYTES;
}
