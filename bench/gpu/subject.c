#include "bench/gpu/subject.h"

#include "codegen/generator.h"
#include "codegen/nvrtc/nvrtc.h"
#include "codegen/nvrtc/source.h"

#include <stdlib.h>
#include <string.h>

enum { COUNTED_PAYLOAD = 1 << 18 };

/* ---- the store ------------------------------------------------------------------------------------------------- */

static bool path_of(const gpu_store *store, const char *name, char *path, size_t size)
{
    return store->folder && snprintf(path, size, "%s/%s.sm_%d.cubin", store->folder, name, store->arch) < (int)size;
}

static bool read_file(const char *path, pw_blob *out)
{
    FILE *f = fopen(path, "rb");
    long size;
    bool ok = false;

    if (!f)
        return false;
    if (fseek(f, 0, SEEK_END) == 0 && (size = ftell(f)) > 0) {
        rewind(f);
        *out = (pw_blob){.data = malloc((size_t)size), .size = (size_t)size};
        ok = out->data && fread(out->data, 1, out->size, f) == out->size;
    }
    fclose(f);
    return ok;
}

static void write_file(const char *path, const pw_blob *blob)
{
    FILE *f = fopen(path, "wb");

    if (!f || fwrite(blob->data, 1, blob->size, f) != blob->size || fclose(f) != 0) {
        perror(path);
        exit(1);
    }
}

bool gpu_store_text(const gpu_store *store, const char *name, const char *source, pw_blob *cubin)
{
    char path[4096];
    bool kept = path_of(store, name, path, sizeof path);
    pw_diag diag = {0};

    if (kept && read_file(path, cubin))
        return true;
    if (pw_nvrtc_load(NULL, &diag) != PW_OK || pw_nvrtc_compile(source, store->arch, false, cubin, &diag) != PW_OK) {
        fprintf(stderr, "%s: %s\n", name, diag.text);
        return false;
    }
    if (kept)
        write_file(path, cubin);
    return true;
}

static bool store_jobs(const gpu_store *store, const char *name, const pw_compile_job *jobs, pw_blob *cubin)
{
    char path[4096];
    pw_blob source;
    pw_diag diag = {0};
    bool ok;

    if (path_of(store, name, path, sizeof path) && read_file(path, cubin))
        return true;
    if (pw_gpu_source(jobs, &source, &diag) != PW_OK) {
        fprintf(stderr, "%s: %s\n", name, diag.text);
        return false;
    }
    ok = gpu_store_text(store, name, source.data, cubin);
    pw_blob_free(&source);
    return ok;
}

bool gpu_store_tier0(const gpu_store *store, pw_gpu_tier0 *tier0, pw_blob *cubin)
{
    const pw_target target = {.arch = "nvptx64"};

    return store_jobs(store, "tier0-" PW_NVRTC_GENERATOR_VERSION, pw_gpu_tier0_jobs(tier0, &target, PW_EMIT_SHARED),
                      cubin);
}

/* ---- subjects -------------------------------------------------------------------------------------------------- */

/* Layouts too wide to be counted byte by byte are counted smaller: what repeats is the same. */
static bool count_touched(gpu_subject *s)
{
    double ratio;
    pw_arena *arena;
    pw_type small;
    bool ok;

    if (gpu_touched_count(&s->type, &s->touched))
        return true;
    arena = pw_arena_create();
    ok = gpu_row_type(s->row, COUNTED_PAYLOAD, arena, &small) && gpu_touched_count(&small, &s->touched);
    pw_arena_destroy(arena);
    ratio = ok ? (double)s->type.root->size / s->touched.size : 0;
    s->touched.size *= ratio;
    s->touched.granules *= ratio;
    s->touched.filled *= ratio;
    return ok;
}

bool gpu_subject_make(gpu_subject *s, const gpu_row *row, int64_t payload, int64_t max_span)
{
    *s = (gpu_subject){.row = row, .payload = payload, .arena = pw_arena_create()};
    if (!gpu_row_type(row, payload, s->arena, &s->type) || s->type.root->hi - s->type.root->lo > max_span ||
        s->type.root->size == 0 || !gpu_kernel_make(&s->kernel, &s->type, 0)) {
        pw_arena_destroy(s->arena);
        return false;
    }
    s->blocks = s->type.root->blocks;
    if (!s->kernel.plan || !count_touched(s)) {
        fprintf(stderr, "%s: no kernel\n", row->name);
        exit(1);
    }
    return true;
}

bool gpu_subject_compile(gpu_subject *s, const gpu_store *store, pw_blob *cubin)
{
    const pw_target target = {.arch = "nvptx64"};
    const pw_compile_job job = {.shape = s->kernel.shape,
                                .target = &target,
                                .emit = PW_EMIT_SHARED,
                                .pack_name = s->kernel.pack,
                                .unpack_name = s->kernel.unpack};
    char name[PW_HASH_TEXT + 16];

    pw_hash_text(s->kernel.shape->hash, name);
    strcat(name, "-" PW_NVRTC_GENERATOR_VERSION);
    return store_jobs(store, name, &job, cubin);
}

bool gpu_subject_load(gpu_subject *s, const gpu_store *store)
{
    pw_blob cubin;

    if (!gpu_subject_compile(s, store, &cubin))
        return false;
    s->module = gpu_load(cubin.data);
    pw_blob_free(&cubin);
    gpu_kernels_find(&s->kernel, 1, s->module);
    return gpu_kernel_upload(&s->kernel);
}

void gpu_subject_free(gpu_subject *s)
{
    if (s->module)
        gpu_unload(s->module);
    gpu_kernel_free(&s->kernel);
    pw_arena_destroy(s->arena);
}
