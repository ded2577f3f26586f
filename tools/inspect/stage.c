/* Takes a type through the compiler, up to the last stage that is wanted. */
#define _GNU_SOURCE /* asprintf */
#include "codegen/nvrtc/source.h"
#include "codegen/shape.h"
#include "frontend/ddt/ddt.h"
#include "jit-cache/cache.h"
#include "tools/inspect/inspect.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pw_status make_shape(pw_subject *s, pw_diag *diag)
{
    pw_status status = pw_shape_create(s->nest, &s->shape);

    if (status != PW_OK)
        return pw_diag_set(diag, status, "cannot make the shape: %s", pw_status_text(status));
    s->key = pw_cache_key(s->shape, &s->options->target, "llvm");
    return PW_OK;
}

/* The canonical form of the first type of the input. */
static pw_status find_source(pw_subject *s, pw_diag *diag)
{
    pw_type raw;
    pw_status status = pw_input_build(s->input, 0, s->arena, &raw);

    return status == PW_OK ? pw_canonicalise(&raw, s->arena, &s->source, NULL, diag) : status;
}

static pw_status make_nest(pw_subject *s, pw_diag *diag)
{
    pw_status status;

    if (!s->options->join || s->item == 0)
        return pw_lower(&s->canonical, &s->nest, &s->run, diag);
    status = find_source(s, diag);
    return status == PW_OK ? pw_lower_join(&s->source, &s->canonical, &s->nest, &s->run, diag) : status;
}

pw_status pw_subject_prepare(pw_subject *s, pw_stage last, pw_diag *diag)
{
    pw_status status;

    s->arena = pw_arena_create();
    if (!s->arena)
        return pw_diag_status(diag, PW_ERR_NOMEM);
    s->run = (pw_pass_options){.dump = s->dump ? s->dump : stdout,
                               .print_after = s->dump ? "all" : s->options->print_after,
                               .elide = s->options->elide,
                               .verify = true};
    status = pw_input_build(s->input, s->item, s->arena, &s->raw);
    if (status == PW_OK && last >= PW_STAGE_CANONICAL)
        status = pw_canonicalise(&s->raw, s->arena, &s->canonical, &s->run, diag);
    if (status == PW_OK && last >= PW_STAGE_NEST)
        status = make_nest(s, diag);
    if (status == PW_OK && last >= PW_STAGE_SHAPE)
        status = make_shape(s, diag);
    return status;
}

void pw_subject_release(pw_subject *s)
{
    pw_shape_unref(s->shape);
    pw_nest_destroy(s->nest);
    pw_arena_destroy(s->arena);
    s->shape = NULL;
    s->nest = NULL;
    s->arena = NULL;
}

/* ---- text --------------------------------------------------------------------------------------- */

static pw_status compile_for(const pw_subject *s, const pw_backend *backend, const pw_target *target, pw_emit emit,
                             pw_blob *out, pw_diag *diag)
{
    char pack[PW_SYMBOL_TEXT], unpack[PW_SYMBOL_TEXT];
    pw_compile_job job = {.shape = s->shape, .target = target, .emit = emit, .pack_name = pack, .unpack_name = unpack};

    pw_kernel_symbols(pw_cache_key(s->shape, target, backend->name), pack, unpack);
    return backend->compile(&job, out, diag);
}

/* Text is NUL-terminated. */
static pw_status take_text(pw_blob *blob, char **out, pw_diag *diag)
{
    *out = strndup(blob->data, blob->size);
    pw_blob_free(blob);
    return *out ? PW_OK : pw_diag_status(diag, PW_ERR_NOMEM);
}

static pw_status compile(const pw_subject *s, pw_emit emit, char **out, pw_diag *diag)
{
    pw_blob blob;
    pw_status status = compile_for(s, s->backend, &s->options->target, emit, &blob, diag);

    return status == PW_OK ? take_text(&blob, out, diag) : status;
}

static pw_status compile_gpu(const pw_subject *s, pw_emit emit, char **out, pw_diag *diag)
{
    pw_blob blob;
    pw_status status = compile_for(s, s->gpu_backend, &s->options->gpu, emit, &blob, diag);

    return status == PW_OK ? take_text(&blob, out, diag) : status;
}

static int64_t count_lines(const char *from, const char *to)
{
    int64_t n = 0;

    for (; from < to; from++)
        n += *from == '\n';
    return n;
}

pw_status pw_subject_cuda(const pw_subject *s, char **out, int64_t *skipped, pw_diag *diag)
{
    const char *prelude = pw_gpu_prelude(), *kernel;
    char *whole = NULL;
    pw_status status = compile_gpu(s, PW_EMIT_IR, &whole, diag);

    if (status != PW_OK)
        return status;
    kernel = strstr(whole, prelude);
    kernel = kernel ? kernel + strlen(prelude) : whole;
    *skipped = count_lines(whole, kernel);
    *out = strdup(kernel);
    free(whole);
    return *out ? PW_OK : pw_diag_status(diag, PW_ERR_NOMEM);
}

/* CUDA without the prelude that all kernels share, unless that was asked for. */
static pw_status cuda_text(const pw_subject *s, char **out, pw_diag *diag)
{
    char *kernel = NULL;
    int64_t skipped;
    pw_status status;

    if (s->options->prelude)
        return compile_gpu(s, PW_EMIT_IR, out, diag);
    status = pw_subject_cuda(s, &kernel, &skipped, diag);
    if (status == PW_OK &&
        asprintf(out, "%s/* The %" PRId64 " lines before this, which all kernels share, are shown by --prelude. */\n",
                 kernel, skipped) < 0)
        status = pw_diag_status(diag, PW_ERR_NOMEM);
    free(kernel);
    return status;
}

pw_status pw_subject_lines(const pw_subject *s, char **out, pw_diag *diag)
{
    return compile(s, PW_EMIT_LINES, out, diag);
}

pw_status pw_subject_ptx_lines(const pw_subject *s, char **out, pw_diag *diag)
{
    return compile_gpu(s, PW_EMIT_LINES, out, diag);
}

pw_status pw_subject_cubin(const pw_subject *s, pw_blob *out, pw_diag *diag)
{
    return compile_for(s, s->gpu_backend, &s->options->gpu, PW_EMIT_SHARED_LINES, out, diag);
}

/* Adds a line end to the text, and frees the text. */
static char *with_line_end(char *text)
{
    size_t n = text ? strlen(text) : 0;
    char *longer = text ? realloc(text, n + 2) : NULL;

    if (!longer) {
        free(text);
        return NULL;
    }
    memcpy(longer + n, "\n", 2);
    return longer;
}

pw_status pw_subject_text(const pw_subject *s, pw_stage stage, char **out, pw_diag *diag)
{
    int64_t elide = s->options->elide;
    char *text = NULL;

    switch (stage) {
    case PW_STAGE_DDT: text = with_line_end(pw_ddt_print_short(&s->raw, elide)); break;
    case PW_STAGE_TREE: text = pw_print(&s->raw, elide); break;
    case PW_STAGE_CANONICAL: text = pw_print(&s->canonical, elide); break;
    case PW_STAGE_NEST: text = pw_nest_print(s->nest, elide); break;
    case PW_STAGE_SHAPE: text = pw_shape_print(s->shape); break;
    case PW_STAGE_LLVM: return compile(s, PW_EMIT_IR_RAW, out, diag);
    case PW_STAGE_LLVM_OPT: return compile(s, PW_EMIT_IR, out, diag);
    case PW_STAGE_ASM: return compile(s, PW_EMIT_ASM, out, diag);
    case PW_STAGE_CUDA: return cuda_text(s, out, diag);
    case PW_STAGE_PTX: return compile_gpu(s, PW_EMIT_ASM, out, diag);
    case PW_STAGE_COUNT: break;
    }
    if (!text)
        return pw_diag_status(diag, PW_ERR_NOMEM);
    *out = text;
    return PW_OK;
}
