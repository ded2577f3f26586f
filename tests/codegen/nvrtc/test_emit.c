/* What NVRTC makes of the text of every kind of region, for the architectures it knows; and what the backend refuses.
 * Without NVRTC the test reports that it is skipped. */
#include "codegen/nvrtc/nvrtc.h"
#include "tests/codegen/nvrtc/emulation.h"

#include <dlfcn.h>
#include <elf.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

enum { MAX_ARCHS = 128, MACHINE_CUDA = 190 };

/* One layout of each kind: words, short and long; a table; pieces; a list; a tile; several regions; a struct. */
static const char *const layouts[] = {
    "type(lb 0, extent 16000000) { stream 100000 stride 160 { bytes 8 align 8 } }",
    "type(lb 0, extent 16000000) { stream 100000 stride 160 { bytes 64 align 16 } }",
    "type(lb 0, extent 8) { index [0, 24, 48, 160, 168, 1000, 1104, 1112, 1144] { bytes 4 align 4 } }",
    "type(lb 0, extent 90001) { stream 7 stride 12001 { bytes 1001 align 1 } }",
    "type(lb 0, extent 9000) { blocks [0:8, 72:31, 24:1, 880:600, 2000:64, 2100:63, 2200:65, 2300:128, 2500:129, "
    "3000:256, 3300:257, 4000:2047, 6100:2048, 8200:3, 8300:7, 8400:17, 8500:1, 8510:2, 8520:3] }",
    "type(lb 0, extent 16000000) { stream 1000 stride 8 { stream 2000 stride 8000 { bytes 8 align 8 } } }",
    "type(lb 0, extent 90000) { seq { @0 bytes 3 align 1 @100 stream 20 stride 50 { bytes 7 align 1 } "
    "@9000 stream 40 stride 104 { bytes 24 align 8 } @70000 bytes 5000 align 1 } }",
    "type(lb 0, extent 40) { seq { @32 bytes 4 align 4 @8 bytes 8 align 8 @0 bytes 4 align 4 } }",
};
enum { NLAYOUTS = sizeof layouts / sizeof *layouts };

typedef struct fixture {
    void *module;
    const pw_backend *backend;
    pw_arena *arena;
    pw_nest *nests[NLAYOUTS];
    pw_shape *shapes[NLAYOUTS];
    int archs[MAX_ARCHS], narchs; /* 0: no NVRTC */
} fixture;

static pw_target gpu(int arch)
{
    pw_target t = {.arch = "nvptx64"};
    snprintf(t.cpu, sizeof t.cpu, "sm_%d", arch);
    return t;
}

static pw_compile_job job_of(const fixture *f, int i, const pw_target *target, pw_emit emit)
{
    return (pw_compile_job){
        .shape = f->shapes[i], .target = target, .emit = emit, .pack_name = "my_pack", .unpack_name = "my_unpack"};
}

static pw_blob compile(const fixture *f, const pw_compile_job *job, const char *what)
{
    pw_blob blob = {0};
    pw_diag diag = {0};
    if (f->backend->compile(job, &blob, &diag) != PW_OK) {
        print_error("%s, for %s: %s\n", what, job->target->cpu, diag.text);
        fail();
    }
    return blob;
}

/* ---- cubins ------------------------------------------------------------------------------------------------------ */

static void check_cubin(const pw_blob *blob)
{
    Elf64_Ehdr header;
    assert_true(blob->size > sizeof header);
    memcpy(&header, blob->data, sizeof header);
    assert_memory_equal(header.e_ident, ELFMAG, SELFMAG);
    assert_int_equal(header.e_machine, MACHINE_CUDA);
    assert_non_null(memmem(blob->data, blob->size, "my_unpack" PW_GPU_BIG_SUFFIX, 12));
}

/* Every layout for the oldest, the newest, and what Hopper is; one layout for each of the others. */
static void every_architecture(void **state)
{
    const fixture *f = *state;
    if (f->narchs == 0)
        skip();
    for (int a = 0; a < f->narchs; a++) {
        pw_target target = gpu(f->archs[a]);
        bool all = a == 0 || a == f->narchs - 1 || f->archs[a] == 90;
        for (int i = all ? 0 : a % NLAYOUTS; i < (all ? NLAYOUTS : a % NLAYOUTS + 1); i++) {
            pw_compile_job job = job_of(f, i, &target, PW_EMIT_SHARED);
            pw_blob blob = compile(f, &job, layouts[i]);
            check_cubin(&blob);
            pw_blob_free(&blob);
        }
    }
    print_message("architectures: sm_%d to sm_%d\n", f->archs[0], f->archs[f->narchs - 1]);
}

static void tier0_and_lists_of_jobs(void **state)
{
    const fixture *f = *state;
    pw_target target = gpu(f->narchs ? f->archs[0] : 0);
    pw_gpu_tier0 *tier0;
    if (f->narchs == 0)
        skip();
    assert_int_equal(pw_gpu_tier0_create(&tier0, NULL), PW_OK);
    const pw_compile_job *jobs = pw_gpu_tier0_jobs(tier0, &target, PW_EMIT_SHARED);
    pw_blob blob = compile(f, jobs, "tier 0");
    for (const pw_compile_job *j = jobs; j; j = j->next)
        assert_non_null(memmem(blob.data, blob.size, j->unpack_name, strlen(j->unpack_name)));
    pw_blob_free(&blob);
    pw_gpu_tier0_destroy(tier0);
}

/* ---- PTX --------------------------------------------------------------------------------------------------------- */

static pw_blob ptx_of(const fixture *f, int layout)
{
    pw_target target = gpu(f->archs[f->narchs - 1]);
    pw_compile_job job = job_of(f, layout, &target, PW_EMIT_ASM);
    pw_blob blob = compile(f, &job, layouts[layout]);
    assert_int_equal(strlen(blob.data), blob.size);
    return blob;
}

static void check_text(const pw_blob *blob, const char *word, bool wanted, const char *what)
{
    if ((strstr(blob->data, word) != NULL) != wanted) {
        print_error("%s'%s' in\n%s\n", wanted ? "no " : "", word, what);
        fail();
    }
}

/* The PTX has no division, no memory of a thread's own, and the widest moves. */
static void no_slow_code(void **state)
{
    static const char *const never[] = {"div.u64", "rem.u64", "div.s64", "div.u32", "rem.u32", ".local ", "call"};
    const fixture *f = *state;
    if (f->narchs == 0)
        skip();
    for (int i = 0; i < NLAYOUTS; i++) {
        pw_blob blob = ptx_of(f, i);
        for (size_t k = 0; k < sizeof never / sizeof *never; k++)
            check_text(&blob, never[k], false, layouts[i]);
        pw_blob_free(&blob);
    }
}

static void wide_moves(void **state)
{
    const fixture *f = *state;
    if (f->narchs == 0)
        skip();
    pw_blob eight = ptx_of(f, 0), long_blocks = ptx_of(f, 1), tile = ptx_of(f, 5);
    check_text(&eight, ".u64", true, layouts[0]);
    check_text(&long_blocks, ".v2.u64", true, layouts[1]);
    check_text(&tile, ".shared", true, layouts[5]);
    check_text(&tile, "bar.sync", true, layouts[5]);
    pw_blob_free(&eight);
    pw_blob_free(&long_blocks);
    pw_blob_free(&tile);
}

/* A GPU that this NVRTC does not know gets the newest PTX, and no cubin. */
static void unknown_architecture(void **state)
{
    const fixture *f = *state;
    pw_target target = gpu(9999), old = gpu(10);
    pw_compile_job job = job_of(f, 0, &target, PW_EMIT_ASM);
    pw_diag diag = {0};
    pw_blob blob;
    char expected[32];
    if (f->narchs == 0)
        skip();
    blob = compile(f, &job, layouts[0]);
    snprintf(expected, sizeof expected, ".target sm_%d", f->archs[f->narchs - 1]);
    check_text(&blob, expected, true, layouts[0]);
    pw_blob_free(&blob);
    job.emit = PW_EMIT_SHARED;
    assert_int_equal(f->backend->compile(&job, &blob, &diag), PW_ERR_UNSUPPORTED);
    assert_non_null(strstr(diag.text, "sm_9999"));
    job.target = &old;
    job.emit = PW_EMIT_ASM;
    assert_int_equal(f->backend->compile(&job, &blob, &diag), PW_ERR_UNSUPPORTED);
}

static void compiler_errors(void **state)
{
    const fixture *f = *state;
    pw_diag diag = {0};
    pw_blob blob;
    if (f->narchs == 0)
        skip();
    assert_int_equal(pw_nvrtc_compile("this is no program", f->archs[0], PW_EMIT_ASM, &blob, &diag), PW_ERR_COMPILE);
    assert_non_null(strstr(diag.text, "error"));
}

/* ---- without NVRTC ----------------------------------------------------------------------------------------------- */

static void source_text(void **state)
{
    const fixture *f = *state;
    pw_target target = gpu(90);
    pw_compile_job job = job_of(f, 1, &target, PW_EMIT_IR_RAW);
    pw_blob blob = compile(f, &job, layouts[1]);
    assert_int_equal(strlen(blob.data), blob.size);
    check_text(&blob, "PW_KERNEL(my_pack, ", true, layouts[1]);
    check_text(&blob, "PW_KERNEL(my_unpack" PW_GPU_BIG_SUFFIX ", ", true, layouts[1]);
    check_text(&blob, "pw_words<pw_k0_r0, 16, true, pw_u32, true, true>", true, layouts[1]);
    check_text(&blob, "u / 4u", true, layouts[1]);
    pw_blob_free(&blob);
}

static void refused(void **state)
{
    const fixture *f = *state;
    static const char *const cpus[] = {"znver4", "sm_", "sm_9x", "sm_-1"};
    pw_target target = gpu(90);
    pw_compile_job job = job_of(f, 0, &target, PW_EMIT_OBJECT);
    const pw_kernel_args args = {0};
    pw_diag diag = {0};
    pw_blob blob;
    assert_int_equal(f->backend->compile(&job, &blob, &diag), PW_ERR_UNSUPPORTED);
    job.emit = PW_EMIT_IR_RAW;
    job.embed = &args;
    assert_int_equal(f->backend->compile(&job, &blob, &diag), PW_ERR_UNSUPPORTED);
    job.embed = NULL;
    for (size_t i = 0; i < sizeof cpus / sizeof *cpus; i++) {
        snprintf(target.cpu, sizeof target.cpu, "%s", cpus[i]);
        assert_int_equal(f->backend->compile(&job, &blob, &diag), PW_ERR_UNSUPPORTED);
    }
    target = gpu(90);
    snprintf(target.arch, sizeof target.arch, "x86_64");
    assert_int_equal(f->backend->compile(&job, &blob, &diag), PW_ERR_UNSUPPORTED);
}

/* ---- the program ------------------------------------------------------------------------------------------------ */

static int setup(void **state)
{
    static fixture f;
    pw_diag diag = {0};
    f.module = dlopen(PW_TEST_MODULE, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(f.module);
    f.backend = ((pw_backend_entry_fn *)dlsym(f.module, PW_BACKEND_ENTRY))();
    assert_string_equal(f.backend->name, "nvrtc");
    f.arena = pw_arena_create();
    for (int i = 0; i < NLAYOUTS; i++) {
        pw_type type;
        assert_int_equal(pw_parse(layouts[i], f.arena, &type, NULL, NULL), PW_OK);
        f.nests[i] = lower(&type, layouts[i]);
        assert_int_equal(pw_shape_create(f.nests[i], &f.shapes[i]), PW_OK);
    }
    if (pw_nvrtc_load(NULL, &diag) == PW_OK)
        f.narchs = pw_nvrtc_architectures(f.archs, MAX_ARCHS);
    else
        print_message("SKIPPED: nothing is compiled here: %s\n", diag.text);
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    fixture *f = *state;
    for (int i = 0; i < NLAYOUTS; i++) {
        pw_shape_unref(f->shapes[i]);
        pw_nest_destroy(f->nests[i]);
    }
    pw_arena_destroy(f->arena);
    dlclose(f->module);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(source_text),          cmocka_unit_test(refused),
        cmocka_unit_test(every_architecture),   cmocka_unit_test(tier0_and_lists_of_jobs),
        cmocka_unit_test(no_slow_code),         cmocka_unit_test(wide_moves),
        cmocka_unit_test(unknown_architecture), cmocka_unit_test(compiler_errors),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
