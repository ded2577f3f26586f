/* `packwright compile --cache`: compiles ahead of time what a run would compile, and stores it in the cache. */
#include "jit-cache/cache.h"
#include "codegen/nvrtc/modules.h"
#include "jit-cache/hash_map.h"
#include "tools/command.h"
#include "tools/compile/compile.h"

#include <stdio.h>

/* A processor and the backend that compiles for it. */
typedef struct processor {
    const pw_target *target;
    const pw_backend *backend;
    bool gpu;
    pw_blob tier0; /* the kernels of tier 0, for a GPU */
} processor;

typedef struct filling {
    const char *dir;
    processor *processors;
    int n;
    pw_hash_map there; /* maps the keys in the directory to what is printed for another type with that key */
} filling;

/* The values of filling.there: an entry that was there before, and one that an earlier type has stored. */
static char from_before[] = " (is there)", shared[] = " (shares it)";

static pw_status report(const pw_diag *diag)
{
    pw_command_error("compile", "%s", diag->text);
    return diag->status;
}

/* ---- one entry --------------------------------------------------------------------------------------------------- */

static pw_hash key_of(const processor *p, const pw_shape *shape)
{
    return pw_cache_key(shape, p->target, p->backend->name);
}

static pw_status compile(const processor *p, const pw_shape *shape, pw_blob *out, pw_diag *diag)
{
    char names[2][PW_SYMBOL_TEXT];
    pw_compile_job job = {
        .shape = shape, .target = p->target, .emit = PW_EMIT_SHARED, .pack_name = names[0], .unpack_name = names[1]};

    pw_kernel_symbols(key_of(p, shape), names[0], names[1]);
    return p->gpu ? pw_gpu_module_compile(p->backend, &job, out, diag) : p->backend->compile(&job, out, diag);
}

/* Returns what to print instead of compiling. NULL: the shape is to be compiled. */
static const char *why_known(const filling *f, const processor *p, const pw_shape *shape)
{
    return pw_hash_map_get(&f->there, key_of(p, shape));
}

static void say(const processor *p, const pw_shape *shape, const char *label, const char *known)
{
    char text[PW_HASH_TEXT];

    pw_hash_text(key_of(p, shape), text);
    printf("%s  %s  %s%s\n", text, p->target->cpu, label, known ? known : "");
}

/* Stores an entry. Reports failures, which are the directory's or lack of memory. */
static pw_status keep(filling *f, const processor *p, const pw_shape *shape, const pw_blob *object)
{
    pw_diag diag = {0};
    pw_hash key = key_of(p, shape);
    pw_status status = pw_cache_store(f->dir, key, object, &diag);

    if (status == PW_OK && pw_hash_map_put(&f->there, key, shared) != PW_OK)
        status = pw_diag_status(&diag, PW_ERR_NOMEM);
    return status == PW_OK ? PW_OK : report(&diag);
}

/* ---- types ------------------------------------------------------------------------------------------------------- */

/* Compiles and stores a kernel. Reports failures: one of a compile at its type, one of the directory by itself. */
static pw_status store(filling *f, const pw_input *input, const pw_aot_type *t, const processor *p)
{
    const char *known = why_known(f, p, t->shape);
    char label[PW_INPUT_LABEL];
    pw_blob object = {0};
    pw_diag diag = {0};
    pw_status status = known ? PW_OK : compile(p, t->shape, &object, &diag);

    if (status != PW_OK)
        pw_input_error(input, t->item, &diag);
    else if (!known)
        status = keep(f, p, t->shape, &object);
    pw_blob_free(&object);
    if (status != PW_OK)
        return status;
    pw_input_label(input, t->item, label);
    say(p, t->shape, label, known);
    return PW_OK;
}

/* Returns why a run would look for no kernel of this type. NULL: it would look for one. */
static const char *needs_none(const pw_aot_type *t)
{
    if (!t->shape)
        return "left to MPI: too irregular";
    return t->type.root->size == 0 || pw_nest_is_contiguous(t->nest) ? "needs no kernel: contiguous" : NULL;
}

static const char *needs_none_for(const pw_aot_type *t, bool gpu)
{
    if (gpu)
        return pw_aot_gpu_needs_none(t);
    return pw_backend_takes(t->shape) ? NULL : "needs no kernel: packed by the interpreter, being too irregular";
}

static void say_why(const pw_input *input, const pw_aot_type *t, const char *why)
{
    char label[PW_INPUT_LABEL];

    pw_input_label(input, t->item, label);
    printf("# %s %s\n", label, why);
}

/* Stores kernels for the CPUs, or for the GPUs. */
static pw_status store_for(filling *f, const pw_input *input, const pw_aot_type *t, bool gpu)
{
    const char *why = needs_none_for(t, gpu);
    pw_status status = PW_OK;
    bool said = false;

    for (int k = 0; k < f->n && status == PW_OK; k++) {
        if (f->processors[k].gpu != gpu)
            continue;
        if (!why)
            status = store(f, input, t, &f->processors[k]);
        else if (!said)
            say_why(input, t, why);
        said = true;
    }
    return status;
}

static pw_status store_types(filling *f, const pw_input *input, const pw_aot_types *types, bool cpus)
{
    pw_status status = PW_OK;

    for (int64_t i = 0; i < types->n && status == PW_OK; i++) {
        const pw_aot_type *t = &types->at[i];
        const char *why = needs_none(t);

        if (why) {
            say_why(input, t, why);
            continue;
        }
        if (cpus)
            status = store_for(f, input, t, false);
        if (status == PW_OK)
            status = store_for(f, input, t, true);
    }
    return status;
}

/* ---- GPUs -------------------------------------------------------------------------------------------------------- */

static pw_status compile_module(const processor *p, const pw_shape *shape, pw_blob *out)
{
    pw_diag diag = {0};
    pw_status status = compile(p, shape, out, &diag);

    if (status != PW_OK)
        pw_command_error("compile", "no kernels for %s: %s", p->target->cpu, diag.text);
    return status;
}

/* Compiles tier 0 for each GPU that has none. Runs before anything is written, so it finds out in time whether there is
 * an NVRTC and whether that knows all the GPUs. */
static pw_status try_gpus(filling *f, const pw_aot_gpu *gpu)
{
    pw_status status = PW_OK;

    for (int k = 0; k < f->n && status == PW_OK; k++)
        if (f->processors[k].gpu && !why_known(f, &f->processors[k], gpu->modules[0]))
            status = compile_module(&f->processors[k], gpu->modules[0], &f->processors[k].tier0);
    return status;
}

static pw_status store_modules(filling *f, const pw_aot_gpu *gpu, const processor *p)
{
    pw_status status = PW_OK;

    for (int m = 0; m < PW_AOT_GPU_MODULES && status == PW_OK; m++) {
        const char *known = why_known(f, p, gpu->modules[m]);
        pw_blob object = {0};

        if (m > 0 && !known)
            status = compile_module(p, gpu->modules[m], &object);
        if (status == PW_OK && !known)
            status = keep(f, p, gpu->modules[m], m > 0 ? &object : &p->tier0);
        if (status == PW_OK)
            say(p, gpu->modules[m], gpu->labels[m], known);
        pw_blob_free(&object);
    }
    return status;
}

/* Stores the modules that every run on GPUs asks for. */
static pw_status fill_for_gpus(filling *f)
{
    pw_aot_gpu gpu;
    pw_status status = pw_aot_gpu_load(&gpu);

    if (status == PW_OK)
        status = try_gpus(f, &gpu);
    for (int k = 0; k < f->n && status == PW_OK; k++)
        if (f->processors[k].gpu)
            status = store_modules(f, &gpu, &f->processors[k]);
    if (status == PW_OK)
        status = store_types(f, gpu.pairs, &gpu.pair_types, false);
    pw_aot_gpu_free(&gpu);
    return status;
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

static pw_status find_compilers(filling *f, const pw_target *targets, bool *gpus)
{
    pw_diag diag = {0};

    for (int k = 0; k < f->n; k++) {
        processor *p = &f->processors[k];

        *p = (processor){.target = &targets[k], .gpu = pw_aot_is_gpu(&targets[k])};
        p->backend = pw_backend_load(p->gpu ? "nvrtc" : "llvm", &diag);
        if (!p->backend) {
            report(&diag);
            return PW_ERR_NOT_FOUND;
        }
        *gpus |= p->gpu;
    }
    return PW_OK;
}

/* Notes the keys of the directory, without entries that a run would refuse: these are compiled again. */
static bool note_entry(void *arg, const pw_cache_entry *entry)
{
    filling *f = arg;

    return entry->status != PW_OK || pw_hash_map_put(&f->there, entry->key, from_before) == PW_OK;
}

static pw_status find_entries(filling *f)
{
    pw_diag diag = {0};
    pw_status status = pw_cache_list(f->dir, note_entry, f, &diag);

    return status == PW_OK ? PW_OK : report(&diag);
}

pw_status pw_aot_fill_cache(const pw_input *input, const pw_aot_types *types, const pw_target *targets, int ntargets,
                            const char *dir)
{
    processor processors[PW_AOT_CPUS + PW_AOT_GPUS] = {0};
    filling f = {.dir = dir, .processors = processors, .n = ntargets};
    bool gpus = false;
    pw_status status = find_compilers(&f, targets, &gpus);

    if (status == PW_OK)
        status = find_entries(&f);
    if (status == PW_OK && gpus)
        status = fill_for_gpus(&f);
    if (status == PW_OK)
        status = store_types(&f, input, types, true);
    for (int k = 0; k < ntargets; k++)
        pw_blob_free(&processors[k].tier0);
    pw_hash_map_clear(&f.there);
    return status;
}
