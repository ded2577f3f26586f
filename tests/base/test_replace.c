/* Files appear whole or not at all, and nothing else is left in their directory. */
#include "base/replace.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char dir[64], path[128];

static int set_up(void **state)
{
    (void)state;
    strcpy(dir, "/tmp/packwright-replace-XXXXXX");
    if (!mkdtemp(dir))
        return -1;
    snprintf(path, sizeof path, "%s/file", dir);
    return 0;
}

static int count_files(void)
{
    DIR *d = opendir(dir);
    int n = 0;

    for (struct dirent *e; (e = readdir(d));)
        n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

static int tear_down(void **state)
{
    (void)state;
    unlink(path);
    rmdir(path);
    return rmdir(dir);
}

static void assert_content(const char *expected)
{
    char text[64] = "";
    FILE *f = fopen(path, "r");

    assert_non_null(f);
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    fclose(f);
    assert_string_equal(text, expected);
}

static void writes_and_replaces(void **state)
{
    struct stat st;
    mode_t before = umask(027);
    pw_diag diag;

    (void)state;
    assert_int_equal(pw_replace_file(path, "one", 3, &diag), PW_OK);
    umask(before);
    assert_content("one");
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640); /* as the umask says */
    assert_int_equal(pw_replace_file(path, "two", 3, &diag), PW_OK);
    assert_content("two");
    assert_int_equal(count_files(), 1);
}

/* The link stays, and leads to the new content. */
static void replaces_behind_a_link(void **state)
{
    char link[160];
    struct stat st;
    pw_diag diag;

    (void)state;
    snprintf(link, sizeof link, "%s/link", dir);
    assert_int_equal(pw_replace_file(path, "old", 3, &diag), PW_OK);
    assert_int_equal(symlink("file", link), 0);
    assert_int_equal(pw_replace_file(link, "new", 3, &diag), PW_OK);
    assert_content("new");
    assert_int_equal(lstat(link, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_int_equal(count_files(), 2);
    unlink(link);
}

static void discards(void **state)
{
    pw_replacement r;
    pw_diag diag;

    (void)state;
    assert_int_equal(pw_replace_file(path, "old", 3, &diag), PW_OK);
    assert_int_equal(pw_replace_prepare(&r, path, "new", 3, &diag), PW_OK);
    assert_int_equal(count_files(), 2);
    pw_replace_discard(&r);
    pw_replace_discard(&r);
    assert_content("old");
    assert_int_equal(count_files(), 1);
}

static void refuses_what_is_no_file(void **state)
{
    pw_diag diag;

    (void)state;
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(pw_replace_file(path, "x", 1, &diag), PW_ERR_IO);
    assert_non_null(strstr(diag.text, "Is a directory"));
    assert_int_equal(pw_replace_file("/dev/null", "x", 1, &diag), PW_ERR_IO);
    assert_non_null(strstr(diag.text, "/dev/null: not a regular file"));
    assert_int_equal(pw_replace_file("/nonexistent/x", "x", 1, &diag), PW_ERR_IO);
    assert_non_null(strstr(diag.text, "/nonexistent/x: No such file or directory"));
    assert_int_equal(count_files(), 1);
}

/* The check before the work says what the write after it would say, and leaves nothing. */
static void checks_as_it_would_write(void **state)
{
    pw_diag diag;

    (void)state;
    assert_int_equal(pw_replace_check(path, &diag), PW_OK);
    assert_int_equal(count_files(), 0);
    assert_int_equal(pw_replace_check("name_in_this_directory", &diag), PW_OK);
    assert_int_equal(pw_replace_check("/nonexistent/x", &diag), PW_ERR_IO);
    assert_non_null(strstr(diag.text, "cannot write /nonexistent/x: No such file or directory"));
    assert_int_equal(pw_replace_check("/nonexistent", &diag), getuid() ? PW_ERR_IO : PW_OK);
    assert_int_equal(pw_replace_check(dir, &diag), PW_ERR_IO);
    assert_non_null(strstr(diag.text, "Is a directory"));
    assert_int_equal(pw_replace_check("/dev/null", &diag), PW_ERR_IO);
    /* What is there may be read-only: another file takes its place. */
    assert_int_equal(pw_replace_file(path, "old", 3, &diag), PW_OK);
    assert_int_equal(chmod(path, 0444), 0);
    assert_int_equal(pw_replace_check(path, &diag), PW_OK);
    assert_content("old");
}

/* A limit on file sizes stands for a full disk. */
static void leaves_nothing_of_a_write_that_fails(void **state)
{
    static char large[1 << 16];
    struct rlimit before, small;
    pw_diag diag;
    pw_status status;

    (void)state;
    assert_int_equal(pw_replace_file(path, "old", 3, &diag), PW_OK);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = 4096;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    status = pw_replace_file(path, large, sizeof large, &diag);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_int_equal(status, PW_ERR_IO);
    assert_content("old");
    assert_int_equal(count_files(), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(writes_and_replaces, set_up, tear_down),
        cmocka_unit_test_setup_teardown(replaces_behind_a_link, set_up, tear_down),
        cmocka_unit_test_setup_teardown(discards, set_up, tear_down),
        cmocka_unit_test_setup_teardown(refuses_what_is_no_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(checks_as_it_would_write, set_up, tear_down),
        cmocka_unit_test_setup_teardown(leaves_nothing_of_a_write_that_fails, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
