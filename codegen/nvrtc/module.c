/* The backend "nvrtc": from a job to CUDA C, and through NVRTC to PTX or a cubin. */
#include "codegen/generator.h"
#include "codegen/nvrtc/nvrtc.h"
#include "codegen/nvrtc/source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ARCHS = 128 };

/* Returns the number in a name such as "sm_90". 0: it is no such name. */
static int arch_of(const pw_target *target)
{
    char *end;
    if (strncmp(target->cpu, "sm_", 3) != 0)
        return 0;
    long arch = strtol(target->cpu + 3, &end, 10);
    return *end == '\0' && arch > 0 && arch < 10000 ? (int)arch : 0;
}

/*
 * Chooses the architecture. A cubin is for that one or a later minor number. The driver translates PTX, so for a GPU
 * newer than this NVRTC the newest known architecture is enough.
 */
static pw_status choose_arch(int wanted, bool ptx, int *out, pw_diag *diag)
{
    int archs[MAX_ARCHS], n = pw_nvrtc_architectures(archs, MAX_ARCHS), best = 0;
    for (int i = 0; i < n && i < MAX_ARCHS; i++)
        if (archs[i] <= wanted && archs[i] > best)
            best = archs[i];
    if (best == 0 || (best != wanted && !ptx))
        return pw_diag_set(diag, PW_ERR_UNSUPPORTED, "this NVRTC does not compile for sm_%d", wanted);
    *out = best;
    return PW_OK;
}

static pw_status check(const pw_compile_job *job, pw_diag *diag)
{
    if (strcmp(job->target->arch, "nvptx64") != 0 || arch_of(job->target) == 0)
        return pw_diag_set(diag, PW_ERR_UNSUPPORTED, "%s %s is no NVIDIA GPU", job->target->arch, job->target->cpu);
    if (job->emit == PW_EMIT_OBJECT)
        return pw_diag_set(diag, PW_ERR_UNSUPPORTED, "GPU kernels cannot be linked into a program");
    for (const pw_compile_job *j = job; j; j = j->next)
        if (j->embed)
            return pw_diag_set(diag, PW_ERR_UNSUPPORTED, "GPU kernels have no form with embedded arguments");
    return PW_OK;
}

static pw_status nvrtc_compile(const pw_compile_job *job, pw_blob *out, pw_diag *diag)
{
    bool ptx = job->emit == PW_EMIT_ASM || job->emit == PW_EMIT_LINES;
    pw_blob source;
    int arch;
    pw_status status = check(job, diag);
    if (status == PW_OK)
        status = pw_gpu_source(job, &source, diag);
    if (status != PW_OK)
        return status;
    if (job->emit == PW_EMIT_IR_RAW || job->emit == PW_EMIT_IR) {
        *out = source;
        return PW_OK;
    }
    status = pw_nvrtc_load(NULL, diag);
    if (status == PW_OK)
        status = choose_arch(arch_of(job->target), ptx, &arch, diag);
    if (status == PW_OK)
        status = pw_nvrtc_compile(source.data, arch, job->emit, out, diag);
    pw_blob_free(&source);
    return status;
}

static const pw_backend backend = {.name = "nvrtc", .version = PW_NVRTC_GENERATOR_VERSION, .compile = nvrtc_compile};

__attribute__((visibility("default"))) const pw_backend *pw_backend_entry(void);
const pw_backend *pw_backend_entry(void)
{
    return &backend;
}
