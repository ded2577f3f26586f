/* `packwright compile --cache --gpu`: what a run on GPUs needs besides the kernels of its own types. */
#include "codegen/nvrtc/fused.h"
#include "codegen/nvrtc/plan.h"
#include "codegen/nvrtc/tier0.h"
#include "tools/command.h"
#include "tools/compile/compile.h"

#include <stdio.h>

/* Returns why a type gets no kernel. The runtime leaves types without a plan to tier 0, or to copies of the driver
 * (runtime/engine/gpu/layout.c). */
const char *pw_aot_gpu_needs_none(const pw_aot_type *t)
{
    pw_gpu_plan *plan = NULL;
    pw_status status = pw_gpu_plan_create(t->shape, &plan, NULL);

    pw_gpu_plan_destroy(plan);
    return status == PW_ERR_UNSUPPORTED ? "needs no kernel on GPUs: too much for one launch" : NULL;
}

/* The pair types that are two numbers and a hole in C; the other pair types are contiguous. */
static const char pairs[] = "short_int = MPI_SHORT_INT\n"
                            "double_int = MPI_DOUBLE_INT\n"
                            "long_int = MPI_LONG_INT\n"
                            "long_double_int = MPI_LONG_DOUBLE_INT\n";

pw_status pw_aot_gpu_load(pw_aot_gpu *out)
{
    pw_status status;

    *out = (pw_aot_gpu){.labels = {"tier 0", "several transfers in one launch"},
                        .modules = {pw_gpu_tier0_shape(), pw_gpu_fused_shape()}};
    if (!out->modules[0] || !out->modules[1]) {
        pw_command_error("compile", "out of memory");
        return PW_ERR_NOMEM;
    }
    status = pw_input_load(pairs, NULL, &out->pairs);
    return status == PW_OK ? pw_aot_types_load(out->pairs, NULL, &out->pair_types) : status;
}

void pw_aot_gpu_free(pw_aot_gpu *gpu)
{
    if (gpu->pairs)
        pw_aot_types_free(&gpu->pair_types);
    pw_input_free(gpu->pairs);
    for (int i = 0; i < PW_AOT_GPU_MODULES; i++)
        pw_shape_unref(gpu->modules[i]);
}
