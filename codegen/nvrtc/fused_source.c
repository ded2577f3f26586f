/* The text of the kernels that carry out several moves in one launch. */
#include "codegen/nvrtc/fused.h"
#include "codegen/nvrtc/source.h"

/* Writes the kernels of every size in both directions. fused.c's RESIDENT is the number of blocks that a multiprocessor
 * holds. */
void pw_gpu_fused_put(FILE *f, const pw_compile_job *job)
{
    fputs(pw_gpu_fused_prelude(), f);
    for (int i = 0; i < 4; i++) {
        bool unpack = i & 1, large = i & 2;
        fprintf(f, "PW_KERNEL(%s%s, pw_params<%d>, 4)\n{\n    pw_fused<%s>(p, PW_BLOCK, PW_GRID);\n}\n\n",
                unpack ? job->unpack_name : job->pack_name, large ? PW_GPU_FUSED_SUFFIX : "",
                large ? PW_GPU_FUSED_LARGE : PW_GPU_FUSED_SMALL, unpack ? "true" : "false");
    }
}
