/* The log and the diagnostics: levels, ranks, long lines, once-only warnings. */
#include "base/env.h"
#include "base/log.h"
#include "base/status.h"
#include "tests/base/capture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void at_level(const char *level)
{
    if (level)
        setenv("PACKWRIGHT_LOG", level, 1);
    else
        unsetenv("PACKWRIGHT_LOG");
    pw_env_reload();
}

static int teardown(void **state)
{
    (void)state;
    pw_log_set_rank(-1);
    at_level(NULL);
    return 0;
}

static void say_all(char *out, size_t size)
{
    capture c;

    capture_begin(&c);
    pw_log(PW_LOG_ERROR, "e%d", 1);
    pw_log(PW_LOG_WARN, "w%s", "2");
    pw_log(PW_LOG_INFO, "i3");
    pw_log(PW_LOG_DEBUG, "d4");
    capture_end(&c, out, size);
}

#define E "packwright: error: e1\n"
#define W "packwright: warning: w2\n"
#define I "packwright: info: i3\n"
#define D "packwright: debug: d4\n"

static void levels(void **state)
{
    static const struct {
        const char *level, *said;
    } cases[] = {{"error", E}, {NULL, E W}, {"warn", E W}, {"info", E W I}, {"debug", E W I D}};
    char said[512];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        at_level(cases[i].level);
        say_all(said, sizeof said);
        assert_string_equal(said, cases[i].said);
        assert_true(pw_log_enabled(PW_LOG_ERROR));
        assert_int_equal(pw_log_enabled(PW_LOG_DEBUG), i == 4);
    }
}

static void ranks(void **state)
{
    char said[512];

    (void)state;
    at_level("error");
    pw_log_set_rank(12);
    say_all(said, sizeof said);
    assert_string_equal(said, "packwright[12]: error: e1\n");
    pw_log_set_rank(-1);
    say_all(said, sizeof said);
    assert_string_equal(said, E);
}

static void say_for_node(const char *variable, const char *local_rank, char *out, size_t size)
{
    capture c;

    if (local_rank)
        setenv(variable, local_rank, 1);
    capture_begin(&c);
    pw_log_for_node("w%s", "2");
    capture_end(&c, out, size);
    unsetenv(variable);
}

/* Launchers say which process of a node is its first. */
static void nodes(void **state)
{
    static const char *const variables[] = {"MPI_LOCALRANKID", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID",
                                            "PALS_LOCAL_RANKID"};
    char said[512];

    (void)state;
    at_level(NULL);
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        say_for_node(variables[i], NULL, said, sizeof said);
        assert_string_equal(said, W);
        say_for_node(variables[i], "0", said, sizeof said);
        assert_string_equal(said, W);
        say_for_node(variables[i], "17", said, sizeof said);
        assert_string_equal(said, "");
        say_for_node(variables[i], "", said, sizeof said);
        assert_string_equal(said, W);
    }
    at_level("info");
    say_for_node("SLURM_LOCALID", "1", said, sizeof said);
    assert_string_equal(said, "packwright: info: w2\n");
}

/* A line that does not fit is cut, and still a line. */
static void long_lines(void **state)
{
    char text[5000], said[6000];
    capture c;

    (void)state;
    at_level(NULL);
    for (size_t n = 900; n < sizeof text; n += n < 1100 ? 1 : 500) {
        memset(text, 'x', n);
        text[n] = '\0';
        capture_begin(&c);
        pw_log(PW_LOG_WARN, "%s", text);
        capture_end(&c, said, sizeof said);
        assert_int_equal(strncmp(said, "packwright: warning: xxx", 24), 0);
        assert_int_equal(strcspn(said, "\n"), strlen(said) - 1);
        assert_int_equal(strspn(said + 21, "x"), strlen(said) - 22);
    }
}

static void warn_here(int i)
{
    pw_warn_once("only %d", i);
}

static void once(void **state)
{
    char said[512];
    capture c;

    (void)state;
    at_level(NULL);
    capture_begin(&c);
    for (int i = 0; i < 3; i++)
        warn_here(i);
    capture_end(&c, said, sizeof said);
    assert_string_equal(said, "packwright: warning: only 0\n");
}

static void every_status_has_a_text(void **state)
{
    (void)state;
    for (int s = PW_OK; s <= PW_ERR_MPI; s = s == PW_ERR_UNSUPPORTED ? PW_ERR_NOT_FOUND : s + 1) {
        assert_string_not_equal(pw_status_text((pw_status)s), "unknown status");
        for (int t = PW_OK; t < s; t++)
            assert_string_not_equal(pw_status_text((pw_status)s), pw_status_text((pw_status)t));
    }
    assert_string_equal(pw_status_text((pw_status)999), "unknown status");
}

static void diagnostics(void **state)
{
    pw_diag diag = {.line = 3, .col = 4};
    char text[1000];

    (void)state;
    assert_int_equal(pw_diag_set(&diag, PW_ERR_IO, "cannot %s", "read"), PW_ERR_IO);
    assert_int_equal(diag.status, PW_ERR_IO);
    assert_string_equal(diag.text, "cannot read");
    assert_int_equal(pw_diag_set(NULL, PW_ERR_IO, "nobody listens"), PW_ERR_IO);
    memset(text, 'y', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    pw_diag_set(&diag, PW_ERR_IO, "%s", text);
    assert_int_equal(strlen(diag.text), sizeof diag.text - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(levels, teardown),
        cmocka_unit_test_teardown(ranks, teardown),
        cmocka_unit_test_teardown(nodes, teardown),
        cmocka_unit_test_teardown(long_lines, teardown),
        cmocka_unit_test_teardown(once, teardown),
        cmocka_unit_test(every_status_has_a_text),
        cmocka_unit_test(diagnostics),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
