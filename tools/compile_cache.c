/* `packwright compile --cache`: what a run would compile, stored before it. */
#include "jit-cache/cache.h"
#include "jit-cache/hash_map.h"
#include "tools/compile.h"

#include <stdio.h>

static pw_status compile_entry(const pw_backend *backend, const pw_aot_type *t, const pw_target *target, pw_hash key,
                               const char *dir, pw_diag *diag)
{
    char names[2][PW_SYMBOL_TEXT];
    pw_compile_job job = {
        .shape = t->shape, .target = target, .emit = PW_EMIT_SHARED, .pack_name = names[0], .unpack_name = names[1]};
    pw_blob object = {0};
    pw_status status;

    pw_kernel_symbols(key, names[0], names[1]);
    status = backend->compile(&job, &object, diag);
    if (status == PW_OK)
        status = pw_cache_store(dir, key, &object, diag);
    pw_blob_free(&object);
    return status;
}

/* Why a run would look for no kernel of this type; NULL when it would. */
static const char *needs_none(const pw_aot_type *t)
{
    if (!t->shape)
        return "left to MPI: too irregular";
    if (t->type.root->size == 0 || pw_nest_is_contiguous(t->nest))
        return "needs no kernel: contiguous";
    return pw_backend_takes(t->shape) ? NULL : "needs no kernel: packed by the interpreter, being too irregular";
}

/* `done` has the keys stored so far, since many types share one kernel. */
static pw_status store(const pw_input *input, const pw_aot_type *t, const pw_backend *backend, const pw_target *target,
                       const char *dir, pw_hash_map *done, pw_diag *diag)
{
    pw_hash key = pw_cache_key(t->shape, target, backend->name);
    char text[PW_HASH_TEXT], label[PW_INPUT_LABEL];
    bool known = pw_hash_map_get(done, key) != NULL;
    pw_status status = PW_OK;

    if (!known)
        status = compile_entry(backend, t, target, key, dir, diag);
    if (status == PW_OK && !known && pw_hash_map_put(done, key, done) != PW_OK)
        status = pw_diag_set(diag, PW_ERR_NOMEM, "out of memory");
    if (status != PW_OK)
        return status;
    pw_hash_text(key, text);
    pw_input_label(input, t->item, label);
    printf("%s  %s  %s%s\n", text, target->cpu, label, known ? " (shares it)" : "");
    return PW_OK;
}

static pw_status store_type(const pw_input *input, const pw_aot_type *t, const pw_backend *backend,
                            const pw_target *targets, int ntargets, const char *dir, pw_hash_map *done)
{
    const char *why = needs_none(t);
    pw_status status = PW_OK;
    pw_diag diag = {0};
    char label[PW_INPUT_LABEL];

    if (why) {
        pw_input_label(input, t->item, label);
        printf("# %s %s\n", label, why);
        return PW_OK;
    }
    for (int k = 0; k < ntargets && status == PW_OK; k++)
        status = store(input, t, backend, &targets[k], dir, done, &diag);
    if (status != PW_OK)
        pw_input_error(input, t->item, &diag);
    return status;
}

pw_status pw_aot_fill_cache(const pw_input *input, const pw_aot_types *types, const pw_target *targets, int ntargets,
                            const char *dir)
{
    pw_diag diag = {0};
    const pw_backend *backend = pw_backend_load("llvm", &diag);
    pw_hash_map done = {0};
    pw_status status = PW_OK;

    if (!backend) {
        fprintf(stderr, "packwright: %s\n", diag.text);
        return PW_ERR_NOT_FOUND;
    }
    for (int64_t i = 0; i < types->n && status == PW_OK; i++)
        status = store_type(input, &types->at[i], backend, targets, ntargets, dir, &done);
    pw_hash_map_clear(&done);
    return status;
}
