/* Target names, and which targets run here. */
#include "codegen/target_cpu.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

static void host(void **state)
{
    const pw_target *t = pw_target_host();
    pw_target parsed;
    (void)state;
    assert_true(strlen(t->arch) > 0 && strlen(t->cpu) > 0);
    assert_ptr_equal(t, pw_target_host());
    assert_true(pw_target_runs_here(t));
    assert_int_equal(pw_target_parse(NULL, "native", &parsed, NULL), PW_OK);
    assert_string_equal(parsed.cpu, t->cpu);
    assert_string_equal(parsed.arch, t->arch);
    assert_true(pw_target_stream_bytes() > 0);
}

/* Best first, no target twice, each of them runnable, and the end is found. */
static void compatible(void **state)
{
    pw_target t[16];
    int n = 0;
    (void)state;
    while (n < 16 && pw_target_compatible(n, &t[n]))
        n++;
    assert_in_range(n, 1, 15);
    assert_string_equal(t[0].cpu, pw_target_host()->cpu);
    for (int i = 0; i < n; i++) {
        assert_true(pw_target_runs_here(&t[i]));
        assert_true(i == 0 || pw_target_isa_of(&t[i]).vector_bytes <= pw_target_isa_of(&t[i - 1]).vector_bytes);
        for (int k = 0; k < i; k++)
            assert_string_not_equal(t[i].cpu, t[k].cpu);
    }
    assert_false(pw_target_compatible(-1, &t[0]));
#if defined(__x86_64__)
    assert_string_equal(t[n - 1].cpu, "x86-64");
#endif
}

static void check_parse(const char *triple, const char *cpu, const char *arch, const char *name)
{
    pw_target t;
    assert_int_equal(pw_target_parse(triple, cpu, &t, NULL), PW_OK);
    assert_string_equal(t.arch, arch);
    assert_string_equal(t.cpu, name);
}

static void parse(void **state)
{
    (void)state;
    check_parse("x86_64-linux-gnu", "znver3", "x86_64", "znver3");
    check_parse("aarch64-linux-gnu", "neoverse-n1", "aarch64", "neoverse-n1");
    check_parse("aarch64", "generic", "aarch64", "generic");
#if defined(__x86_64__)
    check_parse("aarch64-linux-gnu", "native", "aarch64", "generic");
    check_parse(NULL, "x86-64-v2", "x86_64", "x86-64-v2");
#endif
}

static void parse_errors(void **state)
{
    pw_target t = {.cpu = "untouched"};
    pw_diag diag = {0};
    (void)state;
    assert_int_equal(pw_target_parse("riscv64-linux-gnu", "native", &t, &diag), PW_ERR_INVALID);
    assert_non_null(strstr(diag.text, "riscv64"));
    assert_int_equal(pw_target_parse("x86_64-linux-gnu", "neoverse-n1", &t, &diag), PW_ERR_INVALID);
    assert_non_null(strstr(diag.text, "neoverse-n1"));
    assert_int_equal(pw_target_parse("x86_64x-linux", "native", &t, &diag), PW_ERR_INVALID);
    assert_string_equal(t.cpu, "untouched");
}

static void foreign_targets_do_not_run(void **state)
{
    pw_target t;
    (void)state;
#if defined(__x86_64__)
    assert_int_equal(pw_target_parse("aarch64", "generic", &t, NULL), PW_OK);
#else
    assert_int_equal(pw_target_parse("x86_64", "x86-64", &t, NULL), PW_OK);
#endif
    assert_false(pw_target_runs_here(&t));
}

static void gpus(void **state)
{
    static const char *const wrong[] = {"",       "sm_",     "sm_9",   "90",    "sm_90a", "sm_090",
                                        "sm_-90", "sm_9000", "sm_90 ", "SM_90", "sm_49",  "compute_90"};
    pw_target t;
    (void)state;
    assert_true(pw_target_parse_gpu("sm_75", &t));
    assert_string_equal(t.arch, "nvptx64");
    assert_string_equal(t.cpu, "sm_75");
    assert_true(pw_target_parse_gpu("sm_120", &t));
    assert_string_equal(t.cpu, pw_target_gpu(12, 0).cpu);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (pw_target_parse_gpu(wrong[i], &t))
            fail_msg("'%s' was taken for a GPU", wrong[i]);
    assert_string_equal(t.cpu, "sm_120");
}

static void isa(void **state)
{
    pw_target t;
    (void)state;
    assert_int_equal(pw_target_parse("x86_64", "x86-64", &t, NULL), PW_OK);
    assert_int_equal(pw_target_isa_of(&t).vector_bytes, 16);
    assert_int_equal(pw_target_parse("x86_64", "haswell", &t, NULL), PW_OK);
    assert_int_equal(pw_target_isa_of(&t).vector_bytes, 32);
    assert_false(pw_target_isa_of(&t).masked_moves);
    assert_int_equal(pw_target_parse("x86_64", "skylake-avx512", &t, NULL), PW_OK);
    assert_true(pw_target_isa_of(&t).masked_moves);
    assert_false(pw_target_isa_of(&t).byte_shuffles);
    assert_int_equal(pw_target_parse("x86_64", "znver4", &t, NULL), PW_OK);
    assert_true(pw_target_isa_of(&t).byte_shuffles);
    assert_int_equal(pw_target_isa_of(&t).copy_bytes, 32);
    assert_false(pw_target_isa_of(&t).gathers);
    assert_false(pw_target_isa_of(&t).strings || pw_target_isa_of(&t).eager_stores);
    assert_int_equal(pw_target_parse("x86_64", "znver5", &t, NULL), PW_OK);
    assert_int_equal(pw_target_isa_of(&t).copy_bytes, 64);
    assert_true(pw_target_isa_of(&t).strings && pw_target_isa_of(&t).eager_stores);
    assert_false(pw_target_isa_of(&t).gathers);
    assert_int_equal(pw_target_parse("x86_64", "icelake-server", &t, NULL), PW_OK);
    assert_int_equal(pw_target_isa_of(&t).copy_bytes, 64);
    assert_false(pw_target_isa_of(&t).gathers);
    assert_int_equal(pw_target_parse("x86_64", "sapphirerapids", &t, NULL), PW_OK);
    assert_int_equal(pw_target_isa_of(&t).vector_bytes, 32);
    assert_int_equal(pw_target_isa_of(&t).copy_bytes, 64);
    assert_true(pw_target_isa_of(&t).gathers);
    assert_false(pw_target_isa_of(&t).strings || pw_target_isa_of(&t).eager_stores);
    assert_int_equal(pw_target_parse("aarch64", "neoverse-v1", &t, NULL), PW_OK);
    assert_int_equal(pw_target_isa_of(&t).vector_bytes, 16);
}

#if defined(__x86_64__)
static const pw_cpu *find(const char *name)
{
    const pw_cpu *c = pw_cpus_x86;
    while (strcmp(c->name, name) != 0)
        c++;
    return c;
}

/* A machine that lacks a feature of a name, or hides it, does not get the name. */
static void names_imply_features(void **state)
{
    enum { EBX = 1, ECX = 2, VBMI_BIT = 1, FAST_STRINGS_BIT = 9 };
    pw_cpuid all;
    (void)state;
    memset(&all, 0xff, sizeof all);
    assert_true(pw_cpu_is_whole(&all, find("znver5"), 4));
    assert_false(pw_cpu_is_whole(&all, find("znver5"), 3));
    all.leaf7[EBX] &= ~(1U << FAST_STRINGS_BIT);
    assert_false(pw_cpu_is_whole(&all, find("znver5"), 4));
    assert_true(pw_cpu_is_whole(&all, find("znver4"), 4));
    all.leaf7[ECX] &= ~(1U << VBMI_BIT);
    assert_false(pw_cpu_is_whole(&all, find("znver4"), 4));
    assert_true(pw_cpu_is_whole(&all, find("znver3"), 4));
}
#endif

static void gpus_run_the_code_of_older_ones_of_their_generation(void **state)
{
    pw_target gpu = pw_target_gpu(8, 2), older;

    (void)state;
    assert_true(pw_target_older_gpu(&gpu, 0, &older));
    assert_string_equal(older.cpu, "sm_81");
    assert_true(pw_target_older_gpu(&gpu, 1, &older));
    assert_string_equal(older.cpu, "sm_80");
    assert_string_equal(older.arch, "nvptx64");
    assert_false(pw_target_older_gpu(&gpu, 2, &older));
    assert_false(pw_target_older_gpu(&gpu, -1, &older));
    gpu = pw_target_gpu(10, 3);
    assert_true(pw_target_older_gpu(&gpu, 2, &older));
    assert_string_equal(older.cpu, "sm_100");
    assert_false(pw_target_older_gpu(&gpu, 3, &older));
    assert_false(pw_target_older_gpu(pw_target_host(), 0, &older));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(host),
        cmocka_unit_test(compatible),
        cmocka_unit_test(parse),
        cmocka_unit_test(parse_errors),
        cmocka_unit_test(isa),
        cmocka_unit_test(foreign_targets_do_not_run),
        cmocka_unit_test(gpus),
        cmocka_unit_test(gpus_run_the_code_of_older_ones_of_their_generation),
#if defined(__x86_64__)
        cmocka_unit_test(names_imply_features),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
