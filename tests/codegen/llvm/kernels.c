#include "tests/codegen/llvm/kernels.h"

#include "tests/support/judge.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <setjmp.h>

#include <cmocka.h>

/* ---- kernels ------------------------------------------------------------------------------------- */

void kernels_init(kernels *k)
{
    pw_diag diag = {0};
    *k = (kernels){.backend = pw_backend_load("llvm", &diag)};
    if (!k->backend) {
        print_error("%s\n", diag.text);
        fail();
    }
}

void kernels_free(kernels *k)
{
    for (int i = 0; i < k->n; i++)
        dlclose(k->list[i].handle);
    free(k->list);
    *k = (kernels){0};
}

void *load_blob(const pw_blob *blob)
{
    /* Each library has a name of its own: dlopen takes an equal name for the same library. */
    char path[] = "/tmp/packwright-test-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, blob->data, blob->size), blob->size);
    close(fd);
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    unlink(path);
    if (!handle) {
        print_error("%s\n", dlerror());
        fail();
    }
    return handle;
}

/* ---- one type, one count --------------------------------------------------------------------------- */

typedef struct subject {
    const pw_type *type;
    const pw_shape *shape;
    const pw_target *target;
    int64_t count;
    const char *label;
} subject;

static void complain(const subject *s, const char *what, int64_t at)
{
    char *type = pw_print(s->type, 64), *shape = pw_shape_print(s->shape);
    print_error("%s: %s is wrong at byte %" PRId64 " (count %" PRId64 ", for %s)\n%s\n%s\n", s->label, what, at,
                s->count, s->target->cpu, type, shape);
    free(type);
    free(shape);
    fail();
}

/* Buffers begin at a page that cannot be touched, then end at one. */
static void check_both(const subject *s, pw_judge_run *run, void *how, uint64_t seed)
{
    static const pw_judge_place places[] = {{0, 0}, {PW_AT_END, PW_AT_END}};
    pw_judge j;
    pw_judge_init(&j, s->type, s->count, seed);
    for (int i = 0; i < 2; i++) {
        int64_t at = pw_judge_pack(&j, places[i], 0, j.total, run, how);
        if (at != PW_JUDGED_RIGHT)
            complain(s, "pack", at);
        at = j.overlaps ? PW_JUDGED_RIGHT : pw_judge_unpack(&j, places[i], 0, j.total, run, how);
        if (at != PW_JUDGED_RIGHT)
            complain(s, "unpack", at);
    }
    pw_judge_free(&j);
}

/* ---- the two forms of kernels ----------------------------------------------------------------------- */

static pw_nest *lower(const pw_type *type, const char *label)
{
    pw_arena *arena = pw_arena_create();
    pw_nest *nest = NULL;
    pw_type canonical;
    pw_diag diag = {0};
    pw_status status = pw_canonicalise(type, arena, &canonical, NULL, &diag);
    if (status == PW_OK)
        status = pw_lower(&canonical, &nest, NULL, &diag);
    if (status != PW_OK) {
        print_error("%s: %s\n", label, diag.text);
        fail();
    }
    pw_arena_destroy(arena);
    return nest;
}

static void compile(kernels *k, const pw_compile_job *job, const char *label, pw_blob *out)
{
    pw_diag diag = {0};
    if (k->backend->compile(job, out, &diag) != PW_OK) {
        char *shape = pw_shape_print(job->shape);
        print_error("%s: %s\n%s\n", label, diag.text, shape);
        free(shape);
        fail();
    }
    k->compiled++;
}

const kernel *kernels_get(kernels *k, const pw_shape *shape, const pw_target *target, const char *label)
{
    pw_hash target_hash = pw_hash_bytes(target->cpu, strlen(target->cpu));
    char pack[PW_SYMBOL_TEXT], unpack[PW_SYMBOL_TEXT];
    pw_blob blob;
    for (int i = 0; i < k->n; i++)
        if (pw_hash_equal(k->list[i].shape, shape->hash) && pw_hash_equal(k->list[i].target, target_hash))
            return &k->list[i];
    if (k->n == k->cap) {
        k->cap = k->cap ? 2 * k->cap : 64;
        k->list = realloc(k->list, (size_t)k->cap * sizeof *k->list);
        assert_non_null(k->list);
    }
    pw_kernel_symbols(shape->hash, pack, unpack);
    pw_compile_job job = {
        .shape = shape, .target = target, .emit = PW_EMIT_SHARED, .pack_name = pack, .unpack_name = unpack};
    compile(k, &job, label, &blob);
    kernel *added = &k->list[k->n++];
    added->shape = shape->hash;
    added->target = target_hash;
    added->handle = load_blob(&blob);
    added->pack = (pw_kernel_fn *)dlsym(added->handle, pack);
    added->unpack = (pw_kernel_fn *)dlsym(added->handle, unpack);
    assert_non_null(added->pack);
    assert_non_null(added->unpack);
    pw_blob_free(&blob);
    return added;
}

typedef struct bound {
    const kernel *kernel;
    pw_kernel_args args;
} bound;

static void run_bound(void *how, const pw_judge_call *c)
{
    const bound *b = how;
    (c->unpack ? b->kernel->unpack : b->kernel->pack)(c->dst, c->src, c->count, &b->args);
}

/* Returns the same arguments with which any number of bytes is enough to bypass the caches. */
static pw_kernel_args streaming(const pw_shape *shape, const pw_kernel_args *args, pw_arena *arena)
{
    pw_kernel_args out = *args;
    int64_t *params = pw_arena_copy(arena, args->params, (size_t)shape->nparams * sizeof *params);
    assert_non_null(params);
    params[shape->stream_bytes.slot] = 0;
    out.params = params;
    return out;
}

void check_kernel(kernels *k, const pw_type *type, int64_t count, const pw_target *target, uint64_t seed,
                  const char *label)
{
    pw_nest *nest = lower(type, label);
    pw_shape *shape;
    pw_arena *arena = pw_arena_create();
    bound how;
    assert_int_equal(pw_shape_create(nest, &shape), PW_OK);
    assert_int_equal(pw_shape_bind(shape, nest, arena, &how.args), PW_OK);
    how.kernel = kernels_get(k, shape, target, label);
    subject s = {.type = type, .shape = shape, .target = target, .count = count, .label = label};
    check_both(&s, run_bound, &how, seed);
    how.args = streaming(shape, &how.args, arena);
    check_both(&s, run_bound, &how, seed);
    pw_arena_destroy(arena);
    pw_shape_unref(shape);
    pw_nest_destroy(nest);
}

typedef void embedded_fn(void *dst, const void *src, int64_t count);

static void run_embedded(void *how, const pw_judge_call *c)
{
    embedded_fn *fn = (embedded_fn *)dlsym(*(void **)how, c->unpack ? "my_unpack" : "my_pack");
    assert_non_null(fn);
    fn(c->dst, c->src, c->count);
}

void check_embedded(kernels *k, const pw_type *type, int64_t count, const pw_target *target, uint64_t seed,
                    const char *label)
{
    pw_nest *nest = lower(type, label);
    pw_shape *shape;
    pw_arena *arena = pw_arena_create();
    pw_kernel_args args;
    pw_blob blob;
    assert_int_equal((seed & 1 ? pw_shape_create_baked : pw_shape_create)(nest, &shape), PW_OK);
    assert_int_equal(pw_shape_bind(shape, nest, arena, &args), PW_OK);
    pw_compile_job job = {.shape = shape,
                          .target = target,
                          .emit = PW_EMIT_SHARED,
                          .pack_name = "my_pack",
                          .unpack_name = "my_unpack",
                          .embed = &args,
                          .nest = nest};
    compile(k, &job, label, &blob);
    void *handle = load_blob(&blob);
    subject s = {.type = type, .shape = shape, .target = target, .count = count, .label = label};
    check_both(&s, run_embedded, &handle, seed);
    dlclose(handle);
    pw_blob_free(&blob);
    pw_arena_destroy(arena);
    pw_shape_unref(shape);
    pw_nest_destroy(nest);
}
