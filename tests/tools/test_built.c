/* Which of several interposers of one kind `packwright run` takes. */
#include "tools/run/built.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const pw_built rows[] = {
    {"mpich", "", "MPICH 4.0.2", "/usr/lib/libmpich.so.12.2.2", "/usr/bin"},
    {"openmpi", "", "Open MPI 4.1.4", "/usr/lib/libmpi.so.40.30.4", "/usr/bin"},
    {"mpich", "packwright/mpich-5.0.2", "MPICH 5.0.2", "/opt/new/lib/libmpi.so.12.6.0", "/opt/new/bin"},
    {"mpich", "packwright/mpich-5.0.2-2", "MPICH 5.0.2", "/opt/debug/lib/libmpi.so.12.6.0", "/opt/debug/bin"},
    {"openmpi", "packwright/openmpi-5.0.11", "Open MPI 5.0.11", "", "/opt/ompi/bin"},
};

static void expect(const char *folder, const char *kind, const char *library, const char *bin)
{
    const pw_built *found = pw_built_choose(rows, sizeof rows / sizeof *rows, kind, library, bin);

    assert_non_null(found);
    assert_string_equal(found->kind, kind);
    assert_string_equal(found->folder, folder);
}

static void takes_the_one_built_for_the_library(void **state)
{
    (void)state;
    expect("packwright/mpich-5.0.2", "mpich", "/opt/new/lib/libmpi.so.12.6.0", "");
    expect("packwright/mpich-5.0.2-2", "mpich", "/opt/debug/lib/libmpi.so.12.6.0", "");
    /* What a program is linked to says more than the launcher does. */
    expect("", "mpich", "/usr/lib/libmpich.so.12.2.2", "/opt/new/bin");
}

static void takes_the_version_of_a_library_elsewhere(void **state)
{
    (void)state;
    expect("packwright/mpich-5.0.2", "mpich", "/home/u/env/lib/libmpi.so.12.6.0", "");
    expect("", "openmpi", "/elsewhere/libmpi.so.40.30.4", "/opt/ompi/bin");
}

static void asks_the_launcher_when_the_program_does_not_tell(void **state)
{
    (void)state;
    expect("packwright/mpich-5.0.2-2", "mpich", "", "/opt/debug/bin");
    expect("packwright/openmpi-5.0.11", "openmpi", "/opt/ompi/lib/libmpi.so.40.40.7", "/opt/ompi/bin");
}

static void takes_the_first_of_the_kind_otherwise(void **state)
{
    (void)state;
    expect("", "mpich", "/elsewhere/libmpi.so.12.9.9", "/elsewhere/bin");
    expect("", "openmpi", "", "");
    assert_null(pw_built_choose(rows, 1, "openmpi", "", ""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_the_one_built_for_the_library),
        cmocka_unit_test(takes_the_version_of_a_library_elsewhere),
        cmocka_unit_test(asks_the_launcher_when_the_program_does_not_tell),
        cmocka_unit_test(takes_the_first_of_the_kind_otherwise),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
