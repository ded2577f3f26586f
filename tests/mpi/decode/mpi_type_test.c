/* Datatypes that plans make from text (tools/measure/mpi_type.h): decoded again they have its canonical form, and they
 * are built as the text is written. */
#include "tools/measure/mpi_type.h"

#include "frontend/mpi/decode.h"
#include "passes/passes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void report(void *arg, const pw_diag *diag)
{
    (void)arg;
    fail_msg("%d:%d %s", diag->line, diag->col, diag->text);
}

static char *canonical_text(const pw_type *type, pw_arena *arena)
{
    pw_diag diag = {0};
    pw_type out;

    if (pw_canonicalise(type, arena, &out, NULL, &diag) != PW_OK)
        fail_msg("%s", diag.text);
    return pw_print(&out, 0);
}

static pw_ddt_unit *parse(const char *text)
{
    pw_ddt_unit *unit;

    assert_int_equal(pw_ddt_parse(text, strlen(text), report, NULL, &unit), PW_OK);
    return unit;
}

/* Makes the last type of the text; it moves the bytes that the text says. Returns it for MPI_Type_free. */
static MPI_Datatype make(const char *text)
{
    pw_arena *arena = pw_arena_create();
    pw_builder b = {.arena = arena};
    pw_ddt_unit *unit = parse(text);
    int64_t last = pw_ddt_count(unit) - 1, variant = pw_ddt_get(unit, last).variants - 1;
    pw_diag diag = {0};
    pw_type type, again;
    MPI_Datatype made;
    char *before, *after;
    pw_dt dt;

    assert_int_equal(pw_ddt_build(unit, last, variant, &b, &dt, &diag), PW_OK);
    type = pw_dt_finish(dt);
    assert_true(pw_measure_mpi_type(unit, last, variant, &made));
    if (pw_mpi_decode(made, arena, &again, &diag) != PW_OK)
        fail_msg("%s: %s", text, diag.text);
    before = canonical_text(&type, arena);
    after = canonical_text(&again, arena);
    assert_string_equal(after, before);
    free(after);
    free(before);
    pw_ddt_destroy(unit);
    pw_arena_destroy(arena);
    return made;
}

static void check(const char *text)
{
    MPI_Datatype made = make(text);

    MPI_Type_free(&made);
}

static void test_layouts(void **state)
{
    (void)state;
    check("double");
    check("ctg(8)[double]");
    check("vec(8 1 4)[float]");
    check("hvec(8 3 -100)[short]");
    check("idx(0,1 8,3 2,0)[int]");
    check("hidx(0,1 800,3)[int]");
    check("idxb(2: range(0, 5, 9))[double]");
    check("hidxb(2: 0 120 48)[vec(3 1 2)[double]]");
    check("struct(0: 3*double, 100: vec(5 1 2)[int], 28: char)");
    check("sub(8 8 4 | 4 1 3 | 0 2 1)[double]");
    check("sub(8 8 4 | 4 1 3 | 0 2 1 | fortran)[double]");
    check("darray(4 1 | 8 8 | block cyclic | * 2 | 2 2)[int]");
    check("resized(-8 4096)[vec(4 1 2)[double complex]]");
    check("dup[resized(0 64)[long double]]");
    check("a = sub(8 4 | 2 4 | 0 0)[double]\nstruct(0: a, 4096: 2*a)");
    check("vec(1:1:4 2 8)[double]");
    check("vec(3 1 2)[MPI_DOUBLE_INT]");
    check("vec(3 1 2)[MPI_SHORT_INT]");
    check("vec(3 2 4)[MPI_LONG_DOUBLE_INT]");
}

/* Rows of bytes, as in traces, are elements; where they stand is the same. */
static void test_bytes(void **state)
{
    (void)state;
    check("byte");
    check("ctg(24)[byte]");
    check("ctg(3)[ctg(20)[byte]]");
    check("ctg(0)[byte]");
    check("vec(3 2 4)[ctg(24)[byte]]");
    check("hvec(3 2 104)[ctg(24)[byte]]");
    check("idx(0,1 8,3)[ctg(20)[byte]]");
    check("hidx(0,5 8,3 100,24)[byte]");
    check("idxb(2: 4 0 9)[ctg(16)[byte]]");
    check("hidxb(2: 0 100 48)[ctg(12)[byte]]");
    check("resized(0 101)[struct(0: 3*ctg(16)[byte], 100: byte)]");
    check("sub(8 4 | 2 3 | 1 1)[ctg(16)[byte]]");
    check("resized(-8 512)[hvec(64 1 1024)[ctg(8)[byte]]]");
    check("resized(-8 512)[ctg(16)[byte]]");
}

static int combiner_of(MPI_Datatype type, MPI_Datatype *old, int ints[8])
{
    int ni, na, nd, combiner;
    MPI_Aint addresses[8];

    MPI_Type_get_envelope(type, &ni, &na, &nd, &combiner);
    if (combiner != MPI_COMBINER_NAMED)
        MPI_Type_get_contents(type, 8, 8, 1, ints, addresses, old);
    return combiner;
}

/* MPIs take other times for the same layout if a constructor is left out, or a block is a type of its own. */
static void test_constructors(void **state)
{
    MPI_Datatype whole = make("vec(4 1 2)[sub(8 | 1 | 3)[ctg(1)[float]]]"), sub, row, element;
    int ints[8] = {0};

    (void)state;
    assert_int_equal(combiner_of(whole, &sub, ints), MPI_COMBINER_VECTOR);
    assert_memory_equal(ints, ((int[]){4, 1, 2}), 3 * sizeof(int));
    assert_int_equal(combiner_of(sub, &row, ints), MPI_COMBINER_SUBARRAY);
    assert_int_equal(combiner_of(row, &element, ints), MPI_COMBINER_CONTIGUOUS);
    assert_int_equal(ints[0], 1);
    assert_true(element == MPI_FLOAT);
    MPI_Type_free(&row);
    MPI_Type_free(&sub);
    MPI_Type_free(&whole);
}

/* A vector of a row of bytes is one of blocks of elements. */
static void test_row(void **state)
{
    MPI_Datatype made = make("hvec(4 1 96)[ctg(24)[byte]]"), element;
    int ints[8] = {0};

    (void)state;
    assert_int_equal(combiner_of(made, &element, ints), MPI_COMBINER_HVECTOR);
    assert_memory_equal(ints, ((int[]){4, 3}), 2 * sizeof(int));
    assert_true(element == MPI_DOUBLE);
    MPI_Type_free(&made);
}

/* MPI's constructors count in int. */
static void test_too_many(void **state)
{
    static const char *const texts[] = {"ctg(4294967296)[double]",       "vec(2 1 4294967296)[double]",
                                        "idxb(1: 0 4294967296)[char]",   "struct(0: 4294967296*char)",
                                        "sub(4294967296 | 1 | 0)[char]", "hvec(2 2147483648 0)[ctg(16)[byte]]"};

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        pw_ddt_unit *unit = parse(texts[i]);
        MPI_Datatype made;

        assert_false(pw_measure_mpi_type(unit, 0, 0, &made));
        pw_ddt_destroy(unit);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_layouts), cmocka_unit_test(test_bytes),
                                       cmocka_unit_test(test_constructors), cmocka_unit_test(test_row),
                                       cmocka_unit_test(test_too_many)};
    int failed;

    MPI_Init(&argc, &argv);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    MPI_Finalize();
    return failed;
}
