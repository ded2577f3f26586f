/* Stands in for libpackwright-nvrtc.so: describes plans for fake_kernel.c instead of compiling them. */
#include "codegen/backend.h"
#include "codegen/generator.h"
#include "codegen/nvrtc/fused.h"
#include "codegen/nvrtc/plan.h"
#include "tests/mpi/gpu/fake.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void describe_region(const pw_gpu_region *g, fake_region *out, fake_piece *pieces, int64_t *npieces)
{
    const pw_shape_region *r = g->shape;

    *out = (fake_region){.kind = (int)g->kind,
                         .word = g->word,
                         .ndims = g->ndims,
                         .record = g->record,
                         .tail = g->tail,
                         .npieces = r->npieces,
                         .offs_width = r->block_offs.width,
                         .starts_width = r->block_starts.width,
                         .packed_offs_width = g->joined ? r->block_packed.width : 0,
                         .first_piece = (int)*npieces};
    for (int i = 0; i < g->ndims; i++) {
        out->dims[i].role = (int)g->dims[i].role;
        out->dims[i].has_table = pw_gpu_table_is_there(&g->dims[i].table);
        out->dims[i].width = g->dims[i].table.width;
        out->dims[i].packed_width = g->dims[i].packed_table.width;
        out->dims[i].packed_word = g->dims[i].packed_word;
    }
    for (int i = 0; i < r->npieces; i++)
        pieces[(*npieces)++] = (fake_piece){r->pieces[i].mem_off.value, r->pieces[i].packed_off.value,
                                            r->pieces[i].bytes.slot < 0 ? r->pieces[i].bytes.value : -1};
}

static int64_t count_pieces(const pw_shape *shape)
{
    int64_t n = 0;

    for (int i = 0; i < shape->nregions; i++)
        n += shape->regions[i].npieces;
    return n;
}

/* Appends one kernel to the blob. */
static pw_status add(const pw_compile_job *job, pw_blob *out, pw_diag *diag)
{
    int64_t pieces = count_pieces(job->shape), n = 0;
    size_t bytes =
        sizeof(fake_kernel) + (size_t)job->shape->nregions * sizeof(fake_region) + (size_t)pieces * sizeof(fake_piece);
    pw_gpu_plan *plan;
    pw_status status = pw_gpu_plan_create(job->shape, &plan, diag);
    fake_kernel *k;
    fake_region *regions;
    char *data;

    if (status != PW_OK)
        return status;
    data = realloc(out->data, out->size + bytes);
    if (!data)
        abort();
    k = (fake_kernel *)(data + out->size);
    regions = (fake_region *)(k + 1);
    *k = (fake_kernel){.magic = FAKE_MAGIC,
                       .nregions = plan->nregions,
                       .npieces = pieces,
                       .bytes = job->next ? (int64_t)bytes : 0,
                       .fused = pw_gpu_is_fused(job->shape)};
    snprintf(k->pack, sizeof k->pack, "%s", job->pack_name);
    snprintf(k->unpack, sizeof k->unpack, "%s", job->unpack_name);
    for (int i = 0; i < plan->nregions; i++)
        describe_region(&plan->regions[i], &regions[i], (fake_piece *)(regions + plan->nregions), &n);
    out->data = data;
    out->size += bytes;
    pw_gpu_plan_destroy(plan);
    return PW_OK;
}

/* FAKE_NVRTC: "refuse" compiles nothing, "tier0" nothing but tier 0 and fused moves, "own" all but those, "single" all
 * but fused moves. */
static bool is_refused(const pw_compile_job *job)
{
    const char *mode = getenv("FAKE_NVRTC");
    bool fused = pw_gpu_is_fused(job->shape), parametric = job->next || fused;

    if (!mode)
        return false;
    return !strcmp(mode, "refuse") || (!strcmp(mode, "tier0") && !parametric) || (!strcmp(mode, "own") && parametric) ||
           (!strcmp(mode, "single") && fused);
}

static pw_status compile(const pw_compile_job *job, pw_blob *out, pw_diag *diag)
{
    Elf64_Ehdr header = {
        .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT, [EI_ABIVERSION] = 8},
        .e_flags = (Elf64_Word)atoi(job->target->cpu + 3) << 8, /* as CUDA 13 has it */
        .e_type = ET_EXEC,
        .e_machine = FAKE_MACHINE,
        .e_shentsize = sizeof(Elf64_Shdr)};
    pw_status status = PW_OK;

    if (is_refused(job))
        return pw_diag_set(diag, PW_ERR_COMPILE, "refused, as the test wants");
    *out = (pw_blob){.data = malloc(sizeof header), .size = sizeof header};
    memcpy(out->data, &header, sizeof header);
    for (; job && status == PW_OK; job = job->next)
        status = add(job, out, diag);
    if (status != PW_OK)
        pw_blob_free(out);
    return status;
}

static const pw_backend backend = {.name = "nvrtc", .version = PW_NVRTC_GENERATOR_VERSION, .compile = compile};

__attribute__((visibility("default"))) const pw_backend *pw_backend_entry(void);
const pw_backend *pw_backend_entry(void)
{
    return &backend;
}
