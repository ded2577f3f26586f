/* What a GPU's kernel makes of a layout: how each region is shared out among threads. */
#include "codegen/nvrtc/plan.h"
#include "jit-cache/cache.h"
#include "tools/inspect/inspect.h"

#include <inttypes.h>
#include <stdio.h>

static void why_shares(FILE *out, const pw_gpu_region *g)
{
    switch (g->kind) {
    case PW_GPU_WORDS:
        fprintf(out, "each thread moves words of %d byte%s, in the order of the packed data", g->word,
                g->word == 1 ? "" : "s");
        if (g->batch > 1)
            fprintf(out, "; %d words each, if there are enough", g->batch);
        break;
    case PW_GPU_TILE:
        fprintf(out,
                "each block of threads moves a tile of %d x %d words of %d byte%s through shared memory, so that both "
                "sides are read and written in long runs",
                g->side, g->side, g->word, g->word == 1 ? "" : "s");
        break;
    case PW_GPU_PIECES:
        fprintf(out,
                "each thread moves at most %d bytes of a piece; pieces are cut where the destination is aligned, since "
                "no word divides them",
                PW_GPU_PART_BYTES);
        break;
    case PW_GPU_LIST:
        fprintf(out, "threads share the blocks of the list, or equal spans of its packed bytes: the launch decides, by "
                     "their number and length");
        break;
    }
}

void pw_why_gpu(FILE *out, const pw_subject *s)
{
    const pw_target *gpu = &s->options->gpu;
    char key[PW_HASH_TEXT];
    pw_gpu_plan *plan;
    pw_diag diag = {0};

    if (pw_gpu_plan_create(s->shape, &plan, &diag) != PW_OK) {
        fprintf(out, "There is no kernel for GPUs: %s.\n", diag.text);
        return;
    }
    for (int i = 0; i < plan->nregions; i++) {
        if (plan->nregions > 1)
            fprintf(out, "In region %d ", i + 1);
        else
            fputs("On the GPU ", out);
        why_shares(out, &plan->regions[i]);
        fputs(".\n", out);
    }
    pw_gpu_plan_destroy(plan);
    pw_hash_text(pw_cache_key(s->shape, gpu, "nvrtc"), key);
    fprintf(out, "The kernel is %s for %s, made by generator %s.\n", key, gpu->cpu, pw_backend_version("nvrtc"));
}
