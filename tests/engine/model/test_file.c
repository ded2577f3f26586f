/* Models as files: what is written is read again, and what is damaged is refused with a place. */
#include "base/arena.h"
#include "base/env.h"
#include "base/json_read.h"
#include "runtime/engine/model/file.h"

#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static pw_status parse(const char *text, pw_arena *arena, const pw_json_value **out, pw_diag *diag)
{
    *diag = (pw_diag){.status = PW_OK};
    return pw_json_parse(text, strlen(text), arena, out, diag);
}

static void json_is_read(void **state)
{
    pw_arena *arena = pw_arena_create();
    const pw_json_value *v, *list;
    pw_diag diag;

    (void)state;
    assert_int_equal(parse(" {\"a\": [1, -2.5e3, 0.25, true, false, null], \"\\u00e4\\ud83d\\ude00\\n\": \"\\\"\"} ",
                           arena, &v, &diag),
                     PW_OK);
    list = pw_json_member(v, "a", PW_JSON_ARRAY);
    assert_int_equal(list->n, 6);
    assert_true(list->first->next->number == -2500 && list->first->next->next->number == 0.25);
    assert_string_equal(pw_json_member(v, "\xc3\xa4\xf0\x9f\x98\x80\n", PW_JSON_STRING)->text, "\"");
    assert_null(pw_json_member(v, "a", PW_JSON_STRING));
    assert_null(pw_json_member(v, "b", PW_JSON_STRING));
    assert_null(pw_json_member(NULL, "b", PW_JSON_STRING));
    pw_arena_destroy(arena);
}

static void bad_json_is_refused(void **state)
{
    static const char *const bad[] = {
        "",
        " ",
        "{",
        "[1",
        "[1,",
        "[1,]",
        "[1 2]",
        "{\"a\"}",
        "{\"a\":}",
        "{a:1}",
        "{\"a\":1,}",
        "[01]",
        "[1.]",
        "[.5]",
        "[-]",
        "[1e]",
        "[+1]",
        "[1e999]",
        "\"",
        "\"\\x\"",
        "\"\\u12\"",
        "\"\\ud800\"",
        "\"\\u0000\"",
        "\"\n\"",
        "nul",
        "truE",
        "[1] 2",
        "{\"a\":1,\"a\":2}",
        "[NaN]",
        "[Infinity]",
        "/**/1",
        "[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]",
        "\"\\ud800\\u0041\"",
        "\"\\udc00\"",
        "\"\\",
    };
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        pw_arena *arena = pw_arena_create();
        const pw_json_value *v;
        pw_diag diag;

        if (parse(bad[i], arena, &v, &diag) != PW_ERR_INVALID || diag.line != 1 || diag.col < 1)
            fail_msg("%s: status %d, line %d, column %d", bad[i], diag.status, diag.line, diag.col);
        pw_arena_destroy(arena);
    }
}

/* ---- models ------------------------------------------------------------------------------------------------------ */

static pw_model sample(void)
{
    pw_model m = {.facts = PW_FACTS_DEFAULT};

    assert_int_equal(pw_model_set(&m, PW_FACT_launch, 9500, NULL), PW_OK);
    assert_int_equal(pw_model_set(&m, PW_FACT_host_link, 1e2 / 3, NULL), PW_OK);
    assert_int_equal(pw_model_set(&m, PW_FACT_remote_least, INFINITY, NULL), PW_OK);
    strcpy(m.origin.mpi, "mpich");
    strcpy(m.origin.mpi_version, "MPICH \"4.0.2\"");
    strcpy(m.origin.cpu, "znver4");
    strcpy(m.origin.network, "cma,posix");
    return m;
}

static void same(pw_model a, pw_model b)
{
    assert_int_equal(a.measured, b.measured);
    for (int fact = 0; fact < PW_FACT_COUNT; fact++) {
        double x = *pw_fact_at(&a.facts, (pw_fact)fact), y = *pw_fact_at(&b.facts, (pw_fact)fact);

        assert_true(x == y || fabs(x - y) < 1e-5 * y);
    }
}

static void round_trip(void **state)
{
    pw_model m = sample(), again;
    char *text = pw_model_text(&m), *second;
    pw_diag diag = {0};

    (void)state;
    assert_int_equal(pw_model_parse(text, strlen(text), &again, &diag), PW_OK);
    same(m, again);
    assert_string_equal(again.origin.mpi, "mpich");
    assert_string_equal(again.origin.mpi_version, "MPICH \"4.0.2\"");
    assert_string_equal(again.origin.gpu, "");
    assert_string_equal(again.origin.network, "cma,posix");
    second = pw_model_text(&again);
    assert_string_equal(text, second);
    free(text);
    free(second);
}

/* A decimal comma in the program's locale must not change what is read. */
static void locales_do_not_matter(void **state)
{
    pw_model m = sample(), again;
    char *text = pw_model_text(&m);

    (void)state;
    if (!setlocale(LC_NUMERIC, "de_DE.UTF-8"))
        print_message("no German locale here; the default one is used\n");
    assert_int_equal(pw_model_parse(text, strlen(text), &again, NULL), PW_OK);
    setlocale(LC_NUMERIC, "C");
    same(m, again);
    free(text);
}

/* No prefix and no file with one byte changed may crash; a changed one may still be a model. */
static void damage_is_survived(void **state)
{
    pw_model m = sample();
    char *text = pw_model_text(&m);
    size_t n = strlen(text);

    (void)state;
    for (size_t i = 0; i < n - 1; i++) {
        pw_model got;
        pw_diag diag = {0};
        char old = text[i];

        if (pw_model_parse(text, i, &got, &diag) == PW_OK)
            fail_msg("the first %zu of %zu bytes are taken for a model", i, n);
        assert_true(*diag.text);
        for (const char *c = "\"0,}\x01"; *c; c++) {
            text[i] = *c;
            (void)pw_model_parse(text, n, &got, &diag);
        }
        text[i] = old;
    }
    free(text);
}

static void wrong_models_are_refused(void **state)
{
#define HEAD "{\"format\": \"packwright-model\", \"version\": 2, \"facts\": {"
    static const struct {
        const char *text;
        pw_status status;
        const char *why;
    } wrong[] = {
        {"[]", PW_ERR_INVALID, "no model"},
        {"{\"format\": \"other\", \"version\": 2, \"facts\": {}}", PW_ERR_INVALID, "no model"},
        {"{\"format\": \"packwright-model\", \"version\": 3, \"facts\": {}}", PW_ERR_UNSUPPORTED, "later Packwright"},
        {"{\"format\": \"packwright-model\", \"version\": 1, \"tables\": []}", PW_ERR_UNSUPPORTED,
         "earlier Packwright"},
        {"{\"format\": \"packwright-model\", \"version\": 2}", PW_ERR_INVALID, "facts: there are none"},
        {HEAD "\"launch\": 0}}", PW_ERR_INVALID, "launch: 0 ns is not positive"},
        {HEAD "\"mapped\": -2}}", PW_ERR_INVALID, "mapped: -2 byte/ns is not positive"},
        {HEAD "\"launch\": null}}", PW_ERR_INVALID, "not positive"},
        {HEAD "\"host_copy\": 20014000}}", PW_ERR_INVALID, "host_copy: 2.0014e+07 ns is absurd"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        pw_model m;
        pw_diag diag = {0};
        pw_status status = pw_model_parse(wrong[i].text, strlen(wrong[i].text), &m, &diag);

        if (status != wrong[i].status || !strstr(diag.text, wrong[i].why))
            fail_msg("%s: status %d, \"%s\"", wrong[i].text, status, diag.text);
    }
}

static void facts_of_others_are_passed_over(void **state)
{
    static const char other[] = HEAD "\"mass\": \"heavy\", \"launch\": 5}, \"tables\": 7}";
    pw_model m;
    pw_diag diag = {0};

    (void)state;
    assert_int_equal(pw_model_parse(other, strlen(other), &m, &diag), PW_OK);
    assert_true(m.measured == 1U << PW_FACT_launch && m.facts.launch == 5);
}

/* Facts that were not measured anew stay. */
static void facts_are_added(void **state)
{
    pw_model m = sample(), more = {.facts = PW_FACTS_DEFAULT};

    (void)state;
    assert_int_equal(pw_model_set(&more, PW_FACT_launch, 7, NULL), PW_OK);
    pw_model_take(&m, &more);
    assert_true(m.facts.launch == 7 && pw_model_has(&m, PW_FACT_host_link));
    assert_string_equal(m.origin.network, "cma,posix");
    strcpy(more.origin.network, "tcp");
    assert_int_equal(pw_model_set(&more, PW_FACT_remote_least, 4096, NULL), PW_OK);
    pw_model_take(&m, &more);
    assert_string_equal(m.origin.network, "tcp");
}

static void files(void **state)
{
    char dir[] = "/tmp/pw-model-XXXXXX", path[64], deep[96];
    pw_model m = sample(), got;
    pw_diag diag = {0};
    struct stat st;

    (void)state;
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/new/m.json", dir);
    snprintf(deep, sizeof deep, "%s/new", dir);
    assert_int_equal(pw_model_read(path, &got, &diag), PW_ERR_NOT_FOUND);
    assert_int_equal(pw_model_write(path, &m, &diag), PW_OK);
    assert_int_equal(pw_model_read(path, &got, &diag), PW_OK);
    same(m, got);
    assert_int_equal(pw_model_read(dir, &got, &diag), PW_ERR_INVALID);
    assert_int_equal(chmod(path, 0666), 0);
    assert_int_equal(pw_model_read(path, &got, &diag), PW_ERR_DENIED);
    assert_int_equal(truncate(path, 1 << 21), 0);
    assert_int_equal(chmod(path, 0600), 0);
    assert_int_equal(pw_model_read(path, &got, &diag), PW_ERR_INVALID);
    assert_int_equal(pw_model_write(deep, &m, &diag), PW_ERR_IO); /* a directory is not replaced */
    assert_int_equal(stat(deep, &st), 0);
    assert_int_equal(st.st_mode & 077, 0);
    unlink(path);
    rmdir(deep);
    rmdir(dir);
}

static void foreign_models_do_not_fit(void **state)
{
    pw_model m = sample();
    pw_diag diag = {0};

    (void)state;
    assert_true(pw_model_fits(&m, "mpich", "znver4", &diag));
    assert_false(pw_model_fits(&m, "openmpi", "znver4", &diag));
    assert_non_null(strstr(diag.text, "openmpi"));
    assert_false(pw_model_fits(&m, "mpich", "znver3", &diag));
    assert_non_null(strstr(diag.text, "znver3"));
    *m.origin.mpi = *m.origin.cpu = '\0';
    assert_true(pw_model_fits(&m, "openmpi", "neoverse-n1", &diag));
}

/* Writes a model of any machine, recognized by its date. */
static void put_model(const char *path, const char *date)
{
    pw_model m = sample();
    pw_diag diag = {0};

    *m.origin.mpi = *m.origin.cpu = '\0';
    snprintf(m.origin.date, sizeof m.origin.date, "%s", date);
    assert_int_equal(pw_model_write(path, &m, &diag), PW_OK);
}

/* Starts as a process does, but more than once. */
static const pw_model *start_again(void)
{
    pw_model_start("mpich");
    return pw_model_now();
}

/* The model for all users counts until the user has measured. */
static void system_wide_model(void **state)
{
    char dir[] = "/tmp/pw-model-XXXXXX", own[64], system[64], path[PW_MODEL_PATH];

    (void)state;
    assert_non_null(mkdtemp(dir));
    snprintf(own, sizeof own, "%s/own", dir);
    snprintf(system, sizeof system, "%s/system", dir);
    setenv("PACKWRIGHT_CACHE_DIR", own, 1);
    setenv("PACKWRIGHT_SYSTEM_CACHE", system, 1);
    pw_env_reload();
    assert_true(pw_model_system_path("mpich", path, sizeof path));
    assert_memory_equal(path, system, strlen(system));
    put_model(path, "all users");
    start_again();
    assert_string_equal(pw_model_now()->origin.date, "all users");
    unlink(path);
    rmdir(system);

    assert_true(pw_model_path("mpich", path, sizeof path));
    put_model(path, "this user");
    start_again();
    assert_string_equal(pw_model_now()->origin.date, "this user");
    /* With both. */
    assert_true(pw_model_system_path("mpich", path, sizeof path));
    put_model(path, "all users");
    start_again();
    assert_string_equal(pw_model_now()->origin.date, "this user");
    unlink(path);
    rmdir(system);
    assert_true(pw_model_path("mpich", path, sizeof path));
    unlink(path);
    rmdir(own);
    rmdir(dir);
    setenv("PACKWRIGHT_SYSTEM_CACHE", "off", 1);
    pw_env_reload();
    assert_false(pw_model_system_path("mpich", path, sizeof path));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_is_read),
        cmocka_unit_test(bad_json_is_refused),
        cmocka_unit_test(round_trip),
        cmocka_unit_test(locales_do_not_matter),
        cmocka_unit_test(damage_is_survived),
        cmocka_unit_test(wrong_models_are_refused),
        cmocka_unit_test(facts_of_others_are_passed_over),
        cmocka_unit_test(facts_are_added),
        cmocka_unit_test(files),
        cmocka_unit_test(foreign_models_do_not_fit),
        cmocka_unit_test(system_wide_model),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
