/* What the backend delivers: all kinds of output, other targets, failures, and many threads. */
#define _GNU_SOURCE /* memmem */
#include "tests/codegen/llvm/kernels.h"

#include <dlfcn.h>
#include <elf.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <setjmp.h>

#include <cmocka.h>

static const pw_backend *backend;

/* A nest with its shape, for a vector of n-byte blocks. */
typedef struct vector {
    pw_arena *arena;
    pw_nest *nest;
    pw_shape *shape;
} vector;

static bool make_vector(int n, vector *v)
{
    char text[128];
    pw_type type, canonical;
    snprintf(text, sizeof text, "type(lb 0, extent 9000) { stream 30 stride 300 { bytes %d align 1 } }", n);
    v->arena = pw_arena_create();
    return pw_parse(text, v->arena, &type, NULL, NULL) == PW_OK &&
           pw_canonicalise(&type, v->arena, &canonical, NULL, NULL) == PW_OK &&
           pw_lower(&canonical, &v->nest, NULL, NULL) == PW_OK && pw_shape_create(v->nest, &v->shape) == PW_OK;
}

static void drop_vector(vector *v)
{
    pw_shape_unref(v->shape);
    pw_nest_destroy(v->nest);
    pw_arena_destroy(v->arena);
}

static pw_compile_job job_of(const vector *v, const pw_target *target, pw_emit emit)
{
    return (pw_compile_job){
        .shape = v->shape, .target = target, .emit = emit, .pack_name = "my_pack", .unpack_name = "my_unpack"};
}

static pw_blob emit_blocks(int n, const pw_target *target, pw_emit kind)
{
    vector v;
    pw_blob blob = {0};
    pw_diag diag = {0};
    assert_true(make_vector(n, &v));
    pw_compile_job job = job_of(&v, target, kind);
    if (backend->compile(&job, &blob, &diag) != PW_OK) {
        print_error("%s\n", diag.text);
        fail();
    }
    drop_vector(&v);
    return blob;
}

static pw_blob emit(const pw_target *target, pw_emit kind)
{
    return emit_blocks(12, target, kind);
}

static void check_contains(pw_emit kind, const char *words[])
{
    pw_blob blob = emit(pw_target_host(), kind);
    assert_int_equal(strlen(blob.data), blob.size);
    for (; *words; words++)
        if (!strstr(blob.data, *words)) {
            print_error("'%s' is not in\n%s\n", *words, (char *)blob.data);
            fail();
        }
    pw_blob_free(&blob);
    assert_null(blob.data);
}

static void texts(void **state)
{
    (void)state;
    check_contains(PW_EMIT_IR_RAW, (const char *[]){"define void @my_pack(ptr noalias", "@my_unpack", NULL});
    check_contains(PW_EMIT_IR, (const char *[]){"define void @my_pack(ptr noalias", "@my_unpack", NULL});
    check_contains(PW_EMIT_ASM, (const char *[]){"my_pack:", "my_unpack:", "ret", NULL});
}

/* Kernels call no library, however long their blocks are. */
static void calls_nothing(void **state)
{
    static const char *const targets[][2] = {{"x86_64-linux-gnu", "znver4"}, {"aarch64-linux-gnu", "generic"}};
    static const int lengths[] = {300, 20000, 2000000};
    (void)state;
    for (size_t t = 0; t < 2; t++)
        for (size_t i = 0; i < 3; i++) {
            pw_target target;
            assert_int_equal(pw_target_parse(targets[t][0], targets[t][1], &target, NULL), PW_OK);
            pw_blob blob = emit_blocks(lengths[i], &target, PW_EMIT_ASM);
            assert_non_null(strstr(blob.data, "my_unpack:"));
            assert_null(strstr(blob.data, "mem"));
            pw_blob_free(&blob);
        }
}

/* A Zen 5 copies long blocks by the string instruction, other CPUs by vectors. */
static void strings(void **state)
{
    static const char *const cpus[] = {"znver5", "znver4", "emeraldrapids"};
    (void)state;
    for (int n = 200; n <= 2000000; n *= 100)
        for (int i = 0; i < 3; i++) {
            pw_target target;
            assert_int_equal(pw_target_parse("x86_64", cpus[i], &target, NULL), PW_OK);
            pw_blob blob = emit_blocks(n, &target, PW_EMIT_ASM);
            assert_true(!strstr(blob.data, "movsb") == (n == 200 || i > 0));
            pw_blob_free(&blob);
        }
}

static void check_elf(const char *triple, const char *cpu, pw_emit kind, int type, int machine)
{
    pw_target target;
    Elf64_Ehdr header;
    assert_int_equal(pw_target_parse(triple, cpu, &target, NULL), PW_OK);
    pw_blob blob = emit(&target, kind);
    assert_true(blob.size > sizeof header);
    memcpy(&header, blob.data, sizeof header);
    assert_memory_equal(header.e_ident, ELFMAG, SELFMAG);
    assert_int_equal(header.e_type, type);
    assert_int_equal(header.e_machine, machine);
    pw_blob_free(&blob);
}

static void other_targets(void **state)
{
    (void)state;
    check_elf("x86_64-linux-gnu", "x86-64", PW_EMIT_OBJECT, ET_REL, EM_X86_64);
    check_elf("x86_64-linux-gnu", "skylake-avx512", PW_EMIT_SHARED, ET_DYN, EM_X86_64);
    check_elf("aarch64-linux-gnu", "generic", PW_EMIT_OBJECT, ET_REL, EM_AARCH64);
    check_elf("aarch64-linux-gnu", "neoverse-v2", PW_EMIT_OBJECT, ET_REL, EM_AARCH64);
    check_elf("aarch64-linux-gnu", "neoverse-n1", PW_EMIT_SHARED, ET_DYN, EM_AARCH64);
}

/* Two kernels in one output, under a name of its own. */
static void several_kernels(void **state)
{
    vector v, w;
    pw_blob blob = {0};
    pw_diag diag = {0};
    (void)state;
    assert_true(make_vector(12, &v));
    assert_true(make_vector(20, &w));
    pw_compile_job second = job_of(&w, pw_target_host(), PW_EMIT_SHARED);
    pw_compile_job first = job_of(&v, pw_target_host(), PW_EMIT_SHARED);
    second.pack_name = "other_pack";
    second.unpack_name = "other_unpack";
    first.next = &second;
    first.soname = "libkernels.so.1";
    if (backend->compile(&first, &blob, &diag) != PW_OK) {
        print_error("%s\n", diag.text);
        fail();
    }
    void *handle = load_blob(&blob);
    const char *names[] = {"my_pack", "my_unpack", "other_pack", "other_unpack"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_non_null(dlsym(handle, names[i]));
    assert_non_null(memmem(blob.data, blob.size, first.soname, strlen(first.soname)));
    dlclose(handle);
    pw_blob_free(&blob);
    drop_vector(&v);
    drop_vector(&w);
}

static void version(void **state)
{
    (void)state;
    assert_string_equal(backend->version, pw_backend_version("llvm"));
    assert_string_equal(backend->name, "llvm");
}

static void embedding_needs_the_nest(void **state)
{
    vector v;
    pw_blob blob = {0};
    pw_diag diag = {0};
    pw_kernel_args args;
    (void)state;
    assert_true(make_vector(8, &v));
    assert_int_equal(pw_shape_bind(v.shape, v.nest, v.arena, &args), PW_OK);
    pw_compile_job job = job_of(&v, pw_target_host(), PW_EMIT_OBJECT);
    job.embed = &args;
    assert_int_equal(backend->compile(&job, &blob, &diag), PW_ERR_INVALID);
    assert_null(blob.data);
    drop_vector(&v);
}

static void unknown_architecture(void **state)
{
    pw_target target = {.arch = "vax", .cpu = "generic"};
    vector v;
    pw_blob blob = {0};
    pw_diag diag = {0};
    (void)state;
    assert_true(make_vector(8, &v));
    pw_compile_job job = job_of(&v, &target, PW_EMIT_OBJECT);
    assert_int_equal(backend->compile(&job, &blob, &diag), PW_ERR_UNSUPPORTED);
    assert_true(strlen(diag.text) > 0);
    drop_vector(&v);
}

/* A shape of very many regions is refused, not compiled for seconds. */
static void too_large(void **state)
{
    enum { REGIONS = 5000 };
    vector v;
    pw_blob blob = {0};
    pw_diag diag = {0};
    (void)state;
    assert_true(make_vector(8, &v));
    pw_shape large = *v.shape;
    large.object_outer = true;
    large.nregions = REGIONS;
    large.regions = calloc(REGIONS, sizeof *large.regions);
    assert_non_null(large.regions);
    pw_compile_job job = job_of(&v, pw_target_host(), PW_EMIT_OBJECT);
    job.shape = &large;
    assert_false(pw_backend_takes(&large));
    assert_true(pw_backend_takes(v.shape));
    assert_int_equal(backend->compile(&job, &blob, &diag), PW_ERR_UNSUPPORTED);
    free(large.regions);
    drop_vector(&v);
}

/* Compiling leaves nothing on stdout or stderr, and no descriptors. */
static void silent(void **state)
{
    int saved = dup(2), pipes[2], before = dup(2), after;
    char said[256] = "";
    (void)state;
    close(before);
    assert_int_equal(pipe(pipes), 0);
    dup2(pipes[1], 2);
    pw_blob blob = emit(pw_target_host(), PW_EMIT_SHARED);
    pw_blob_free(&blob);
    dup2(saved, 2);
    close(pipes[1]);
    ssize_t n = read(pipes[0], said, sizeof said - 1);
    close(pipes[0]);
    assert_int_equal(n, 0);
    after = dup(2);
    assert_int_equal(after, before);
    close(after);
    close(saved);
}

enum { THREADS = 4, ROUNDS = 12 };

typedef struct worker {
    pthread_t thread;
    int number, failures;
    pw_blob blobs[ROUNDS];
} worker;

static void *work(void *arg)
{
    worker *w = arg;
    for (int i = 0; i < ROUNDS; i++) {
        vector v;
        pw_compile_job job;
        /* Threads share half of the shapes. */
        if (!make_vector(3 + 5 * i + (i % 2 ? w->number : 0), &v)) {
            w->failures++;
            continue;
        }
        job = job_of(&v, pw_target_host(), i % 3 ? PW_EMIT_SHARED : PW_EMIT_OBJECT);
        w->failures += backend->compile(&job, &w->blobs[i], NULL) != PW_OK;
        drop_vector(&v);
    }
    return NULL;
}

static void threads(void **state)
{
    worker workers[THREADS] = {0};
    (void)state;
    for (int i = 0; i < THREADS; i++) {
        workers[i].number = i;
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        assert_int_equal(workers[i].failures, 0);
    }
    for (int r = 0; r < ROUNDS; r++)
        for (int i = 0; i < THREADS; i++) {
            const pw_blob *first = &workers[0].blobs[r], *blob = &workers[i].blobs[r];
            /* The same shape gives the same code, whoever compiles it. */
            if (r % 2 == 0) {
                assert_int_equal(blob->size, first->size);
                assert_memory_equal(blob->data, first->data, first->size);
            }
        }
    for (int i = 0; i < THREADS; i++)
        for (int r = 0; r < ROUNDS; r++)
            pw_blob_free(&workers[i].blobs[r]);
}

static int setup(void **state)
{
    kernels k;
    (void)state;
    kernels_init(&k);
    backend = k.backend;
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(version),
        cmocka_unit_test(texts),
        cmocka_unit_test(calls_nothing),
        cmocka_unit_test(strings),
        cmocka_unit_test(other_targets),
        cmocka_unit_test(several_kernels),
        cmocka_unit_test(embedding_needs_the_nest),
        cmocka_unit_test(unknown_architecture),
        cmocka_unit_test(too_large),
        cmocka_unit_test(silent),
        cmocka_unit_test(threads),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
