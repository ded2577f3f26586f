/* The environment: every type of value, malformed ones, and names nobody knows. */
#include "base/env.h"
#include "base/launch.h"
#include "tests/base/capture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* Replaces a function of the C library (--wrap): while this is set, the process seems to have rights that its caller
 * lacks. */
static bool rights_of_another;

char *__real_secure_getenv(const char *name);
char *__wrap_secure_getenv(const char *name);

char *__wrap_secure_getenv(const char *name)
{
    return rights_of_another ? NULL : __real_secure_getenv(name);
}

static int setup(void **state)
{
    (void)state;
    for (int id = 0; id < PW_ENV_COUNT; id++)
        unsetenv(pw_env_describe((pw_env_id)id)->name);
    pw_env_reload();
    return 0;
}

static void set(pw_env_id id, const char *value)
{
    setenv(pw_env_describe(id)->name, value, 1);
    pw_env_reload();
}

/* Returns how many warnings pw_env_check gave, and what it printed. */
static int check(char *out, size_t size)
{
    capture c;
    int warnings;

    capture_begin(&c);
    warnings = pw_env_check();
    capture_end(&c, out, size);
    return warnings;
}

static void expect_silence(void)
{
    char said[1024];

    assert_int_equal(check(said, sizeof said), 0);
    assert_string_equal(said, "");
}

static void defaults(void **state)
{
    (void)state;
    assert_false(pw_env_bool(PW_ENV_DISABLE));
    assert_true(pw_env_bool(PW_ENV_CACHE));
    assert_int_equal(pw_env_choice(PW_ENV_JIT), 1);
    assert_int_equal(pw_env_size(PW_ENV_CACHE_SIZE), 256 << 20);
    assert_string_equal(pw_env_string(PW_ENV_TARGET_CPU), "native");
    assert_string_equal(pw_env_string(PW_ENV_CACHE_DIR), "");
    assert_false(pw_env_is_set(PW_ENV_JIT));
    expect_silence();
}

/* The table itself: every default must be a value of its own type, every row must explain itself. */
static void every_default_is_well_formed(void **state)
{
    (void)state;
    for (int id = 0; id < PW_ENV_COUNT; id++) {
        const pw_env_info *info = pw_env_describe((pw_env_id)id);
        char said[1024];

        assert_int_equal(strncmp(info->name, "PACKWRIGHT_", 11), 0);
        assert_true(info->help[0] != '\0');
        assert_true((info->type == PW_ENV_TYPE_CHOICE) == (info->choices != NULL));
        set((pw_env_id)id, info->def);
        if (check(said, sizeof said) || said[0])
            fail_msg("%s=%s: %s", info->name, info->def, said);
        unsetenv(info->name);
    }
}

/* A relative path stays where it was when the environment was read. */
static void paths_stay(void **state)
{
    char here[4096], expected[8192];

    (void)state;
    assert_non_null(getcwd(here, sizeof here));
    set(PW_ENV_TRACE, "a/types.ddt");
    set(PW_ENV_REPORT, "/b/run.json");
    assert_int_equal(chdir("/"), 0);
    snprintf(expected, sizeof expected, "%s/a/types.ddt", here);
    assert_string_equal(pw_env_path(PW_ENV_TRACE), expected);
    assert_string_equal(pw_env_string(PW_ENV_TRACE), "a/types.ddt");
    assert_string_equal(pw_env_path(PW_ENV_REPORT), "/b/run.json");
    assert_string_equal(pw_env_path(PW_ENV_CACHE_DIR), "");
    assert_int_equal(chdir(here), 0);
}

static void booleans(void **state)
{
    static const char *const yes[] = {"1", "yes", "on", "true", "Y", "ON"};
    static const char *const no[] = {"0", "no", "off", "false", "n", "No", ""};

    (void)state;
    for (size_t i = 0; i < sizeof yes / sizeof *yes; i++) {
        set(PW_ENV_ALL_RANKS, yes[i]);
        assert_true(pw_env_bool(PW_ENV_ALL_RANKS));
        assert_true(pw_env_is_set(PW_ENV_ALL_RANKS));
    }
    for (size_t i = 0; i < sizeof no / sizeof *no; i++) {
        set(PW_ENV_CACHE, no[i]);
        assert_false(pw_env_bool(PW_ENV_CACHE));
    }
    expect_silence();
}

static void choices(void **state)
{
    static const char *const words[] = {"sync", "async", "off"};

    (void)state;
    for (int i = 0; i < 3; i++) {
        set(PW_ENV_JIT, words[i]);
        assert_int_equal(pw_env_choice(PW_ENV_JIT), i);
    }
    set(PW_ENV_JIT, "SYNC");
    assert_int_equal(pw_env_choice(PW_ENV_JIT), 0);
    expect_silence();
}

static void choices_are_replaced(void **state)
{
    (void)state;
    for (int i = 2; i >= 0; i--) {
        assert_true(pw_env_replace_choice(PW_ENV_JIT, i));
        assert_int_equal(pw_env_choice(PW_ENV_JIT), i);
        assert_true(pw_env_is_set(PW_ENV_JIT));
    }
    assert_string_equal(pw_env_string(PW_ENV_JIT), "sync");
    assert_false(pw_env_replace_choice(PW_ENV_JIT, 3));
    assert_false(pw_env_replace_choice(PW_ENV_ALL_RANKS, 0));
    assert_int_equal(pw_env_choice(PW_ENV_JIT), 0);
}

static void sizes(void **state)
{
    static const struct {
        const char *text;
        int64_t value;
    } good[] = {
        {"0", 0},
        {"1", 1},
        {"4096", 4096},
        {"1k", 1024},
        {"3K", 3072},
        {"2m", 2 << 20},
        {"8G", 8LL << 30},
        {"9223372036854775807", INT64_MAX},
        {"8589934591G", 8589934591LL << 30},
    };

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        set(PW_ENV_CACHE_SIZE, good[i].text);
        assert_int_equal(pw_env_size(PW_ENV_CACHE_SIZE), good[i].value);
    }
    expect_silence();
}

static void malformed_values_are_reported_and_defaulted(void **state)
{
    static const struct {
        pw_env_id id;
        const char *text;
    } bad[] = {
        {PW_ENV_STATS, "maybe"},
        {PW_ENV_STATS, "2"},
        {PW_ENV_JIT, "asyn"},
        {PW_ENV_JIT, ""},
        {PW_ENV_JIT, "sync|async"},
        {PW_ENV_CACHE_SIZE, ""},
        {PW_ENV_CACHE_SIZE, "large"},
        {PW_ENV_CACHE_SIZE, "1T"},
        {PW_ENV_CACHE_SIZE, "1MB"},
        {PW_ENV_CACHE_SIZE, "-1"},
        {PW_ENV_CACHE_SIZE, "-1K"},
        {PW_ENV_CACHE_SIZE, "8589934592G"},
        {PW_ENV_CACHE_SIZE, "9223372036854775808"},
        {PW_ENV_CACHE_SIZE, "99999999999999999999999"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const pw_env_info *info = pw_env_describe(bad[i].id);
        char said[1024];

        set(bad[i].id, bad[i].text);
        assert_int_equal(check(said, sizeof said), 1);
        if (!strstr(said, info->name) || !strstr(said, "malformed value"))
            fail_msg("%s=%s was taken as %lld", info->name, bad[i].text, (long long)pw_env_size(bad[i].id));
        assert_true(pw_env_is_set(bad[i].id));
        unsetenv(info->name);
        pw_env_reload();
    }
    set(PW_ENV_CACHE_SIZE, "1T");
    assert_int_equal(pw_env_size(PW_ENV_CACHE_SIZE), 256 << 20);
    set(PW_ENV_JIT, "asyn");
    assert_int_equal(pw_env_choice(PW_ENV_JIT), 1);
}

static void strings_live_on(void **state)
{
    const char *dir;

    (void)state;
    set(PW_ENV_CACHE_DIR, "/some/where");
    dir = pw_env_string(PW_ENV_CACHE_DIR);
    unsetenv("PACKWRIGHT_CACHE_DIR");
    assert_string_equal(dir, "/some/where");
    assert_string_equal(pw_env_string(PW_ENV_CACHE_DIR), "/some/where");
}

static void foreign_names(void **state)
{
    (void)state;
    setenv("PW_TEST_FOREIGN", "x", 1);
    assert_string_equal(pw_env_foreign("PW_TEST_FOREIGN"), "x");
    unsetenv("PW_TEST_FOREIGN");
    assert_null(pw_env_foreign("PW_TEST_FOREIGN"));
}

typedef bool place_fn(void);

static bool with(place_fn *is, const char *name, const char *here, const char *other, const char *all)
{
    bool it_is;

    setenv(name, here, 1);
    if (other)
        setenv(other, all, 1);
    it_is = is();
    unsetenv(name);
    if (other)
        unsetenv(other);
    return it_is;
}

/* A process alone on its node has peers elsewhere; a job of one process has none. */
static void launchers_say_who_is_alone(void **state)
{
    place_fn *alone = pw_launch_is_alone_on_node;

    (void)state;
    assert_false(alone());
    assert_true(with(alone, "MPI_LOCALNRANKS", "1", "PMI_SIZE", "2"));
    assert_false(with(alone, "MPI_LOCALNRANKS", "2", "PMI_SIZE", "4"));
    assert_false(with(alone, "MPI_LOCALNRANKS", "1", "PMI_SIZE", "1"));
    assert_true(with(alone, "OMPI_COMM_WORLD_LOCAL_SIZE", "1", "OMPI_COMM_WORLD_SIZE", "16"));
    assert_false(with(alone, "OMPI_COMM_WORLD_LOCAL_SIZE", "16", "OMPI_COMM_WORLD_SIZE", "16"));
    assert_true(with(alone, "SLURM_STEP_TASKS_PER_NODE", "1(x4)", NULL, NULL));
    assert_false(with(alone, "SLURM_STEP_TASKS_PER_NODE", "1(x4),2", NULL, NULL));
    assert_false(with(alone, "SLURM_STEP_TASKS_PER_NODE", "16(x4)", NULL, NULL));
}

static void unknown_names_get_a_suggestion(void **state)
{
    char said[1024];

    (void)state;
    setenv("PACKWRIGHT_CACH_DIR", "/x", 1);
    assert_int_equal(check(said, sizeof said), 1);
    assert_string_equal(said, "packwright: warning: unknown environment variable PACKWRIGHT_CACH_DIR "
                              "(did you mean PACKWRIGHT_CACHE_DIR?)\n");
    unsetenv("PACKWRIGHT_CACH_DIR");
    setenv("PACKWRIGHT_COMPLETELY_DIFFERENT_THING", "", 1);
    assert_int_equal(check(said, sizeof said), 1);
    assert_non_null(strstr(said, "(see 'packwright env')"));
    unsetenv("PACKWRIGHT_COMPLETELY_DIFFERENT_THING");
    setenv("PACKWRIGHTS", "not ours", 1);
    setenv("XPACKWRIGHT_JIT", "not ours", 1);
    expect_silence();
    unsetenv("PACKWRIGHTS");
    unsetenv("XPACKWRIGHT_JIT");
}

/* Each kind of value, names that are not ours, and what is said of malformed and unknown ones. */
static void nothing_is_read_with_rights_of_another(void **state)
{
    (void)state;
    rights_of_another = true;
    set(PW_ENV_LLVM_MODULE, "/tmp/module.so");
    set(PW_ENV_STATS, "1");
    set(PW_ENV_JIT, "maybe");
    setenv("PACKWRIGHT_CACH_DIR", "/x", 1);
    setenv("PW_TEST_FOREIGN", "x", 1);
    setenv("MPI_LOCALRANKID", "3", 1);
    assert_string_equal(pw_env_path(PW_ENV_LLVM_MODULE), "");
    assert_false(pw_env_is_set(PW_ENV_LLVM_MODULE));
    assert_int_equal(pw_env_choice(PW_ENV_STATS), 0);
    assert_int_equal(pw_env_choice(PW_ENV_JIT), 1);
    assert_null(pw_env_foreign("PW_TEST_FOREIGN"));
    assert_int_equal(pw_launch_local_rank(), -1);
    expect_silence();
    rights_of_another = false;
    unsetenv("PACKWRIGHT_CACH_DIR");
    unsetenv("PW_TEST_FOREIGN");
    unsetenv("MPI_LOCALRANKID");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(defaults, setup),
        cmocka_unit_test_setup(every_default_is_well_formed, setup),
        cmocka_unit_test_setup(paths_stay, setup),
        cmocka_unit_test_setup(booleans, setup),
        cmocka_unit_test_setup(choices, setup),
        cmocka_unit_test_setup(choices_are_replaced, setup),
        cmocka_unit_test_setup(sizes, setup),
        cmocka_unit_test_setup(malformed_values_are_reported_and_defaulted, setup),
        cmocka_unit_test_setup(strings_live_on, setup),
        cmocka_unit_test_setup(foreign_names, setup),
        cmocka_unit_test_setup(launchers_say_who_is_alone, setup),
        cmocka_unit_test_setup(unknown_names_get_a_suggestion, setup),
        cmocka_unit_test_setup(nothing_is_read_with_rights_of_another, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
