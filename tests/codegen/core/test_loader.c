/*
 * Modules that cannot be had: each says why, and keeps saying so. Every case is a process of its own, since the
 * result of loading is remembered. Usage: test_loader MODULE-WITHOUT-ENTRY MODULE-OF-ANOTHER-VERSION
 */
#include "base/env.h"
#include "codegen/backend.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <setjmp.h>

#include <cmocka.h>

typedef struct attempt {
    pw_status status, again;
    bool loaded;
    char text[256];
} attempt;

static bool goes_elsewhere; /* change the directory between reading the environment and loading */

/* Loads "llvm" with PACKWRIGHT_LLVM_MODULE set to `module`, twice, in a child. */
static attempt load_in_child(const char *module)
{
    attempt a = {0};
    int fds[2], status;
    assert_int_equal(pipe(fds), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        pw_diag diag = {0}, again = {0};
        setenv("PACKWRIGHT_LLVM_MODULE", module, 1);
        pw_env_reload();
        if (goes_elsewhere && chdir("/") != 0)
            _exit(2);
        a.loaded = pw_backend_load("llvm", &diag) != NULL;
        a.loaded |= pw_backend_load("llvm", &again) != NULL;
        a.status = diag.status;
        a.again = again.status;
        memcpy(a.text, diag.text, sizeof a.text);
        _exit(write(fds[1], &a, sizeof a) == (ssize_t)sizeof a ? 0 : 1);
    }
    close(fds[1]);
    assert_int_equal(read(fds[0], &a, sizeof a), sizeof a);
    close(fds[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    return a;
}

static void check_refused(const char *module, pw_status status, const char *reason)
{
    attempt a = load_in_child(module);
    if (a.status != status)
        print_error("%s\n", a.text);
    assert_false(a.loaded);
    assert_int_equal(a.status, status);
    assert_int_equal(a.again, status);
    if (!strstr(a.text, reason)) {
        print_error("'%s' does not say '%s'\n", a.text, reason);
        fail();
    }
}

static void missing_module(void **state)
{
    (void)state;
    check_refused("/nonexistent/libpackwright-llvm.so", PW_ERR_NOT_FOUND, "/nonexistent");
}

static void module_without_entry(void **state)
{
    char **argv = *state;
    check_refused(argv[1], PW_ERR_CORRUPT, "is not a Packwright code generator");
}

static void module_of_another_version(void **state)
{
    char **argv = *state;
    check_refused(argv[2], PW_ERR_CORRUPT, "is generator llvm 0-other");
}

/* A relative path is meant from where the environment was read, wherever the program goes before the first compile. */
static void relative_path(void **state)
{
    char **argv = *state, here[PATH_MAX], name[PATH_MAX];
    char *slash = strrchr(argv[1], '/');
    assert_non_null(slash);
    assert_non_null(getcwd(here, sizeof here));
    snprintf(name, sizeof name, "./%s", slash + 1);
    *slash = '\0';
    assert_int_equal(chdir(argv[1]), 0);
    *slash = '/';
    goes_elsewhere = true;
    check_refused(name, PW_ERR_CORRUPT, "is not a Packwright code generator");
    goes_elsewhere = false;
    assert_int_equal(chdir(here), 0);
}

static void unknown_backend(void **state)
{
    pw_diag diag = {0};
    (void)state;
    assert_null(pw_backend_load("cobol", &diag));
    assert_int_equal(diag.status, PW_ERR_NOT_FOUND);
    assert_null(pw_backend_version("cobol"));
}

static void names(void **state)
{
    char pack[PW_SYMBOL_TEXT], unpack[PW_SYMBOL_TEXT];
    (void)state;
    pw_kernel_symbols((pw_hash){.lo = 1, .hi = 2}, pack, unpack);
    assert_memory_equal(pack, "pw_pack_", 8);
    assert_memory_equal(unpack, "pw_unpack_", 10);
    assert_string_equal(pack + 8, unpack + 10);
    assert_int_equal(strlen(pack), 8 + 32);
    assert_non_null(strstr(pw_backend_version("llvm"), "-llvm"));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(missing_module),
        cmocka_unit_test_prestate(module_without_entry, argv),
        cmocka_unit_test_prestate(module_of_another_version, argv),
        cmocka_unit_test_prestate(relative_path, argv),
        cmocka_unit_test(unknown_backend),
        cmocka_unit_test(names),
    };
    if (argc != 3) {
        fprintf(stderr, "usage: %s MODULE-WITHOUT-ENTRY MODULE-OF-ANOTHER-VERSION\n", argv[0]);
        return 2;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
