/* Datatypes that plans make from layouts (tools/measure/mpi_type.h) move the bytes of the layout: decoded again, they
 * have its canonical form. */
#include "tools/measure/mpi_type.h"

#include "frontend/mpi/decode.h"
#include "passes/passes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char *canonical_text(const pw_type *type, pw_arena *arena)
{
    pw_diag diag = {0};
    pw_type out;

    if (pw_canonicalise(type, arena, &out, NULL, &diag) != PW_OK)
        fail_msg("%s", diag.text);
    return pw_print(&out, 0);
}

static void check(const char *layout)
{
    pw_arena *arena = pw_arena_create();
    pw_diag diag = {0};
    pw_type type, again;
    MPI_Datatype made;
    char *before, *after;

    if (pw_parse(layout, arena, &type, NULL, &diag) != PW_OK)
        fail_msg("%s: %s", layout, diag.text);
    assert_true(pw_measure_mpi_type(&type, &made));
    if (pw_mpi_decode(made, arena, &again, &diag) != PW_OK)
        fail_msg("%s: %s", layout, diag.text);
    before = canonical_text(&type, arena);
    after = canonical_text(&again, arena);
    assert_string_equal(after, before);
    free(after);
    free(before);
    MPI_Type_free(&made);
    pw_arena_destroy(arena);
}

static void test_layouts(void **state)
{
    (void)state;
    check("type(lb 0, extent 64) { bytes 64 align 1 }");
    check("type(lb 0, extent 7) { bytes 7 align 1 }");
    check("type(lb -8, extent 512) { stream 64 stride 8 { stream 64 stride 1024 { bytes 8 align 1 } } }");
    check("type(lb 0, extent 4096) { stream 4 stride 512 { stream 2 stride 32 { stream 4 stride 8 { bytes 8 align 8 } "
          "} } }");
    check("type(lb 0, extent 4096) { stream 3 stride -1024 { bytes 20 align 1 } }");
    check("type(lb 0, extent 4096) { index [0, 100, 48] { bytes 12 align 1 } }");
    check("type(lb 0, extent 4096) { blocks [0: 8, 100: 24, 48: 3] }");
    check("type(lb 0, extent 4096) { seq { @800 stream 5 stride 64 { bytes 16 align 1 } } }");
    check("type(lb 0, extent 4096) { seq { @0 bytes 8 align 1 @100 stream 5 stride 64 { bytes 16 align 1 } } }");
}

/* MPI's constructors count in int. */
static void test_too_many(void **state)
{
    pw_arena *arena = pw_arena_create();
    pw_builder b = {.arena = arena};
    pw_type type = {.root = pw_build_stream(&b, INT64_C(1) << 32, 16, pw_build_bytes(&b, 8, 1)), .extent = 64};
    MPI_Datatype made;

    (void)state;
    assert_false(pw_measure_mpi_type(&type, &made));
    pw_arena_destroy(arena);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_layouts), cmocka_unit_test(test_too_many)};
    int failed;

    MPI_Init(&argc, &argv);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    MPI_Finalize();
    return failed;
}
