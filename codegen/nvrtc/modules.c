#include "codegen/nvrtc/modules.h"

#include "codegen/nvrtc/fused.h"
#include "codegen/nvrtc/tier0.h"

/* Compiles tier 0: one module for five shapes. */
static pw_status compile_tier0(const pw_backend *nvrtc, const pw_compile_job *job, pw_blob *out, pw_diag *diag)
{
    pw_gpu_tier0 *tier0;
    pw_status status = pw_gpu_tier0_create(&tier0, diag);

    if (status != PW_OK)
        return status;
    status = nvrtc->compile(pw_gpu_tier0_jobs(tier0, job->target, job->emit), out, diag);
    pw_gpu_tier0_destroy(tier0);
    return status;
}

/* Compiles the fused kernels. They have names of their own, since there are more than two. */
static pw_status compile_fused(const pw_backend *nvrtc, const pw_compile_job *job, pw_blob *out, pw_diag *diag)
{
    pw_compile_job named = *job;

    named.pack_name = PW_GPU_FUSED_PACK;
    named.unpack_name = PW_GPU_FUSED_UNPACK;
    return nvrtc->compile(&named, out, diag);
}

pw_status pw_gpu_module_compile(const pw_backend *nvrtc, const pw_compile_job *job, pw_blob *out, pw_diag *diag)
{
    if (pw_gpu_is_fused(job->shape))
        return compile_fused(nvrtc, job, out, diag);
    if (pw_gpu_is_tier0(job->shape))
        return compile_tier0(nvrtc, job, out, diag);
    return nvrtc->compile(job, out, diag);
}
