/* The datatype language: parsing, building, ranges, generators, errors with positions, limits, printing. */
#include "frontend/ddt/ddt.h"
#include "frontend/ddt/generate.h"
#include "passes/passes.h"
#include "tests/support/random_ir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Errors of one parse, joined as "line:col text\n". */
typedef struct errors {
    int n;
    char text[8192];
} errors;

static void collect(void *arg, const pw_diag *diag)
{
    errors *e = arg;
    size_t used = strlen(e->text);

    e->n++;
    snprintf(e->text + used, sizeof e->text - used, "%d:%d %s\n", diag->line, diag->col, diag->text);
}

static pw_ddt_unit *parse(const char *text)
{
    errors e = {0};
    pw_ddt_unit *unit = NULL;

    if (pw_ddt_parse(text, strlen(text), collect, &e, &unit) != PW_OK)
        fail_msg("'%s': %s", text, e.text);
    return unit;
}

static errors parse_errors(const char *text)
{
    errors e = {0};
    pw_ddt_unit *unit = NULL;

    assert_int_equal(pw_ddt_parse(text, strlen(text), collect, &e, &unit), PW_ERR_INVALID);
    assert_null(unit);
    return e;
}

/* Returns the canonical form of variant k of the last entry. */
static pw_type build(const pw_ddt_unit *unit, int64_t k, pw_arena *arena)
{
    pw_builder b = {.arena = arena};
    pw_dt t = {0};
    pw_diag diag;
    pw_type type, out;

    if (pw_ddt_build(unit, pw_ddt_count(unit) - 1, k, &b, &t, &diag) != PW_OK)
        fail_msg("%d:%d %s", diag.line, diag.col, diag.text);
    type = pw_dt_finish(t);
    assert_int_equal(pw_canonicalise(&type, arena, &out, NULL, &diag), PW_OK);
    return out;
}

static void expect_equal(const char *text, const char *same)
{
    pw_arena *arena = pw_arena_create();
    pw_ddt_unit *a = parse(text), *b = parse(same);
    pw_type x = build(a, 0, arena), y = build(b, 0, arena);

    if (!pw_type_equal(&x, &y) || x.lb != y.lb)
        fail_msg("'%s' and '%s' differ:\n%s%s", text, same, pw_print(&x, 32), pw_print(&y, 32));
    pw_ddt_destroy(a);
    pw_ddt_destroy(b);
    pw_arena_destroy(arena);
}

static void test_combiners(void **state)
{
    (void)state;
    expect_equal("ctg(3)[double]", "resized(0 24)[ctg(24)[byte]]");
    expect_equal("vec(4 2 8)[float]", "hvec(4 2 32)[float]");
    expect_equal("vec(4, 2, 8)[float]", "hidxb(2: 0 32 64 96)[float]");
    expect_equal("idx(0,1 4,1; 8,1)[int]", "vec(3 1 4)[int]");
    expect_equal("idxb(2: 3, 9)[short]", "hidx(6,2 18,2)[short]");
    expect_equal("struct(0: double, 8: int)", "resized(0 16)[hidx(0,12)[byte]]");
    expect_equal("struct(0: 2*int; 16: char)", "resized(0 20)[hidx(0,8 16,1)[byte]]");
    expect_equal("sub(4 6 | 2 3 | 1 2)[double]", "resized(0 192)[hidx(64,24 112,24)[byte]]");
    expect_equal("sub(6 4 | 3 2 | 2 1 | fortran)[double]", "sub(4 6 | 2 3 | 1 2 | c)[double]");
    expect_equal("darray(4 0 | 8 8 | block block | * * | 2 2)[int]", "sub(8 8 | 4 4 | 0 0)[int]");
    expect_equal("darray(2 1 | 6 | cyclic | * | 2)[int]", "resized(0 24)[hidxb(1: 4 12 20)[int]]");
    expect_equal("dup[ctg(2)[int]]", "MPI_2INT");
    expect_equal("MPI_DOUBLE_INT", "resized(0 16)[ctg(12)[byte]]");
    expect_equal("MPI_SHORT_INT", "resized(0 8)[hidx(0,2 4,4)[byte]]");
    expect_equal("resized(-8 40)[double]", "resized(-8 40)[ctg(8)[byte]]");
}

/* C's types of several words are MPI's types of the same C type, wherever a type may stand. */
static void test_c_types(void **state)
{
    (void)state;
    expect_equal("ctg(3)[unsigned long]", "ctg(3)[MPI_UNSIGNED_LONG]");
    expect_equal("vector(4, 2, 8, long long int)", "vec(4 2 8)[MPI_LONG_LONG_INT]");
    expect_equal("vector(4, 2, 8, int long unsigned long)", "vec(4 2 8)[MPI_UNSIGNED_LONG_LONG]");
    expect_equal("ctg(3)[signed char]", "ctg(3)[MPI_SIGNED_CHAR]");
    expect_equal("ctg(3)[short unsigned int]", "ctg(3)[MPI_UNSIGNED_SHORT]");
    expect_equal("ctg(3)[signed]", "ctg(3)[MPI_INT]");
    expect_equal("ctg(3)[long double]", "ctg(3)[MPI_LONG_DOUBLE]");
    expect_equal("ctg(3)[float _Complex]", "ctg(3)[MPI_C_FLOAT_COMPLEX]");
    expect_equal("ctg(3)[long double complex]", "ctg(3)[MPI_C_LONG_DOUBLE_COMPLEX]");
    expect_equal("struct(0: 2*unsigned char, 8: long double)", "struct(0: 2*MPI_UNSIGNED_CHAR, 8: MPI_LONG_DOUBLE)");
    expect_equal("struct(2, {1, 1}, {0, 8}, {unsigned int, long int})", "struct(0: MPI_UNSIGNED, 8: MPI_LONG)");
    expect_equal("resized(long double, 0, 64)", "resized(0 64)[MPI_LONG_DOUBLE]");
    expect_equal("unsigned double", "MPI_DOUBLE"); /* two entries: these words are no type together */
}

/* Calls of MPI, by their full names and without their beginnings, are the short forms. */
static void test_calls(void **state)
{
    (void)state;
    expect_equal("MPI_Type_contiguous(3, MPI_DOUBLE)", "ctg(3)[double]");
    expect_equal("contiguous(3, int64_t)", "ctg(3)[double]");
    expect_equal("MPI_Type_vector(4, 2, 8, MPI_FLOAT)", "vec(4 2 8)[float]");
    expect_equal("vector(4 2 8)[float]", "vec(4, 2, 8, float)");
    expect_equal("MPI_Type_create_hvector(4, 2, -64, MPI_INT)", "hvec(4 2 -64)[int]");
    expect_equal("MPI_Type_indexed(3, {1, 2, 1}, {0, 4, 8}, MPI_INT)", "idx(0,1 4,2 8,1)[int]");
    expect_equal("hindexed(2, {2, 1}, {6, 18}, short)", "hidx(6,2 18,1)[short]");
    expect_equal("indexed_block(2, 2, {3, 9}, short)", "idxb(2: 3 9)[short]");
    expect_equal("MPI_Type_create_hindexed_block(4, 1, {range(0, 16, 4)}, MPI_DOUBLE)", "hvec(4 1 16)[double]");
    expect_equal("MPI_Type_create_struct(2, {2, 1}, {0, 16}, {MPI_INT, MPI_CHAR})", "struct(0: 2*int; 16: char)");
    expect_equal("struct(0, {}, {}, {})", "struct()");
    expect_equal("MPI_Type_create_subarray(2, {4, 6}, {2, 3}, {1, 2}, MPI_ORDER_C, MPI_DOUBLE)",
                 "sub(4 6 | 2 3 | 1 2)[double]");
    expect_equal("subarray(2, {4, 6}, {2, 3}, {1, 2}, fortran, double)", "sub(4 6 | 2 3 | 1 2 | fortran)[double]");
    expect_equal("MPI_Type_create_darray(4, 1, 2, {8, 8}, {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC},"
                 " {MPI_DISTRIBUTE_DFLT_DARG, 2}, {2, 2}, MPI_ORDER_FORTRAN, MPI_INT)",
                 "darray(4 1 | 8 8 | block cyclic | * 2 | 2 2 | fortran)[int]");
    expect_equal("MPI_Type_create_resized(MPI_DOUBLE, -8, 40)", "resized(-8 40)[double]");
    expect_equal("t = int\nresized(t, 0, 40)", "resized(0 40)[int]");
    expect_equal("MPI_Type_dup(MPI_2INT)", "dup[ctg(2)[int]]");
    expect_equal("vector(2, 1, 3, contiguous(3, double))", "vec(2 1 3)[ctg(3)[double]]");
}

/* A program's calls, as they stand there. */
static void test_results_of_calls(void **state)
{
    pw_ddt_unit *unit = parse("N = 4;\nMPI_Type_contiguous(3, MPI_INT, &cell);\nMPI_Type_vector(N, 1, 2, cell, &row);");
    (void)state;

    assert_int_equal(pw_ddt_count(unit), 2);
    assert_int_equal(pw_ddt_find(unit, "cell"), 0);
    assert_int_equal(pw_ddt_find(unit, "row"), 1);
    assert_int_equal(pw_ddt_get(unit, 1).line, 3);
    pw_ddt_destroy(unit);
}

static void test_names_and_expressions(void **state)
{
    (void)state;
    expect_equal("N = 4\nM = (N - 1) * 2\nvec(N 1 M)[double]", "vec(4 1 6)[double]");
    expect_equal("cell = ctg(3)[double]\nvec(2 1 4)[cell]", "vec(2 3 12)[double]");
    expect_equal("vec(6 -8 + 9 2)[int]", "vec(6 1 2)[int]");
    expect_equal("vec(2 1 -4)[int]", "vec(2, 1, 0-4)[int]");
    expect_equal("hvec(10-8 7%4 2*-3 )[char]", "hvec(2 3 -6)[char]");
    expect_equal("ctg(3) // a comment\n  [ # another\n double ]", "ctg(3)[double]");
}

static void test_ranges(void **state)
{
    pw_arena *arena = pw_arena_create();
    pw_ddt_unit *unit = parse("t = ctg(1:1:3)[byte]\nstruct(0: t, 64: vec(2:2:4 1 2)[byte], 128: t)");
    static const int64_t sizes[] = {4, 6, 6, 8, 8, 10};
    (void)state;

    assert_int_equal(pw_ddt_count(unit), 2);
    assert_int_equal(pw_ddt_get(unit, 0).variants, 3);
    assert_int_equal(pw_ddt_get(unit, 1).variants, 6);
    for (int64_t k = 0; k < 6; k++)
        assert_int_equal(build(unit, k, arena).root->size, sizes[k]);
    pw_ddt_destroy(unit);
    unit = parse("vec(2 1 34:10:64)[byte]"); /* the end is included when it is hit */
    assert_int_equal(pw_ddt_get(unit, 0).variants, 4);
    pw_ddt_destroy(unit);
    pw_arena_destroy(arena);
}

static void test_generators(void **state)
{
    int64_t list[1000];
    uint64_t seen = 0;
    (void)state;

    expect_equal("hidxb(1: range(0 16 4))[double]", "hvec(4 1 16)[double]");
    expect_equal("idxb(1: range(0 1 4)*2)[double]", "hvec(4 1 16)[double]");
    for (int64_t of = 1000; of <= 100000000; of *= 10) {
        assert_int_equal(pw_generate_sample(1000, of, 7, list), PW_OK);
        for (int i = 0; i < 1000; i++)
            assert_true(list[i] >= 0 && list[i] < of && (i == 0 || list[i] > list[i - 1]));
    }
    assert_int_equal(pw_generate_sample(11, 10, 7, list), PW_ERR_INVALID);
    pw_generate_shuffle(64, 3, list);
    for (int i = 0; i < 64; i++)
        seen |= (uint64_t)1 << list[i];
    assert_true(seen == UINT64_MAX);
}

static void test_errors(void **state)
{
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"vec(3 4)[double]", "1:8 expected a number, got ')'"},
        {"ctg(3)[double", "1:14 expected ']' after the old type, got the end of the input"},
        {"ctg(3)\n  double", "2:3 expected '[' and the old type, got 'double'"},
        {"N = 1/0", "1:7 division by zero"},
        {"N = 9223372036854775807 + 1", "1:25 the result does not fit 64 bits"},
        {"ctg(9223372036854775808)[byte]", "1:5 number '9223372036854775808' does not fit 64 bits"},
        {"M = 5\nM = 6", "2:1 'M' is defined already, on line 1"},
        {"vec = 4", "1:1 'vec' is a word of the language and cannot be defined"},
        {"ctg(3)[dubble]", "1:8 unknown type 'dubble' (did you mean 'double'?)"},
        {"ctg(3)[mpi_double]", "1:8 unknown type 'mpi_double' (did you mean 'MPI_DOUBLE'?)"},
        {"MPI_Type_vectr(3, 1, 2, int)", "1:1 unknown type 'MPI_Type_vectr' (did you mean 'MPI_Type_vector'?)"},
        {"row = ctg(3)[int]\nctg(2)[rows]", "2:8 unknown type 'rows' (did you mean 'row'?)"},
        {"rows = 3\nctg(row)[int]", "2:5 unknown constant 'row' (did you mean 'rows'?)"},
        {"a = ctg(2)[a]", "1:12 unknown type 'a'"},
        {"N = 3\nctg(2)[N]", "2:8 expected a type, got the constant 'N'"},
        {"t = int\nctg(t)[int]", "2:5 expected a number, got the type 't'"},
        {"ctg(K)[int]", "1:5 unknown constant 'K'"},
        {"sub(3 3 | 2 | 0 0)[int]", "1:11 1 subsizes for an array of 2 dimensions"},
        {"sub(3 | 2 | 0 | row)[int]", "1:17 expected 'c' or 'fortran', got 'row'"},
        {"darray(4 0 | 8 | ring | * | 4)[int]", "1:18 expected 'block', 'cyclic' or 'none', got 'ring'"},
        {"ctg(4:1:1)[int]", "1:5 the range is empty"},
        {"ctg(1:0:4)[int]", "1:7 the step of a range must not be zero"},
        {"ctg(1:1:200000)[int]", "1:5 the range has more than 100000 values"},
        {"vec(1:1:400 1:1:400 2)[int]", "1:1 the ranges stand for more than 100000 types"},
        {"struct(0 double)", "1:10 expected ':' after the displacement, got 'double'"},
        {"struct(0: 3 double)", "1:13 expected '*' between the count and the type, got 'double'"},
        {"hidx(0 4)[int]", "1:8 expected ',' and the block length, got '4'"},
        {"vector(3, 1, 2, dubble)", "1:17 unknown type 'dubble' (did you mean 'double'?)"},
        {"resized(dubble, 0, 8)", "1:9 unknown type 'dubble' (did you mean 'double'?)"},
        {"indexed(2, {1}, {0, 8}, int)", "1:12 1 block lengths for a count of 2"},
        {"indexed(2, {1, 1}, {0}, int)", "1:20 1 displacements for a count of 2"},
        {"indexed(2, 1, 3, int)", "1:12 expected '{' and the numbers, got '1'"},
        {"struct(1, {1}, {0}, {int, int})", "1:25 expected '}' after the types, got ','"},
        {"struct(2, {1, 1}, {0}, {int, int})", "1:19 1 displacements for a count of 2"},
        {"subarray(2, {4}, {2, 2}, {0, 1}, C, double)", "1:13 1 sizes for an array of 2 dimensions"},
        {"subarray(1, {4}, {2}, {0}, row, double)", "1:28 expected 'c' or 'fortran', got 'row'"},
        {"contiguous(3, vector(2, 1, 2, int, &x))", "1:37 only the outermost call can name its result"},
        {"a = contiguous(2, int, &b)", "1:25 the type has a name already: 'a'"},
        {"contiguous(2, int, &int)", "1:21 'int' is a word of the language and cannot be defined"},
        {"contiguous(3, int", "1:18 expected ')' after the arguments, got the end of the input"},
        {"ctg(3)[long float]", "1:13 expected ']' after the old type, got 'float'"},
        {"ctg(3)[complex]", "1:8 unknown type 'complex' (did you mean 'MPI_COMPLEX'?)"},
        {"@", "1:1 expected a type, got a character with code 64"},
    };
    (void)state;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        errors e = parse_errors(cases[i].text);

        e.text[strcspn(e.text, "\n")] = '\0';
        assert_string_equal(e.text, cases[i].error);
    }
}

static void test_several_errors(void **state)
{
    errors e = parse_errors("ctg()[int]\nctg(2)[int]\nvec(1 1)[int]\n\nN = 1/0\nctg(2)[nothing]\n");
    char *many = malloc(100 * 8 + 1);

    (void)state;
    assert_int_equal(e.n, 4);
    assert_non_null(many);
    many[0] = '\0';
    for (int i = 0; i < 100; i++)
        strcat(many, "ctg()\n");
    e = parse_errors(many);
    assert_int_equal(e.n, PW_DDT_MAX_ERRORS);
    free(many);
}

static void expect_build_error(const char *text, const char *error)
{
    pw_ddt_unit *unit = parse(text);
    pw_arena *arena = pw_arena_create();
    pw_builder b = {.arena = arena};
    pw_dt t;
    pw_diag diag;
    char got[400];

    assert_int_not_equal(pw_ddt_build(unit, pw_ddt_count(unit) - 1, 0, &b, &t, &diag), PW_OK);
    snprintf(got, sizeof got, "%d:%d %s", diag.line, diag.col, diag.text);
    assert_string_equal(got, error);
    pw_arena_destroy(arena);
    pw_ddt_destroy(unit);
}

static void test_build_errors(void **state)
{
    (void)state;
    expect_build_error("ctg(-3)[int]", "1:5 a count must not be negative, got -3");
    expect_build_error("vec(2 1 3)[\n  vec(3 -1 2)[int]]", "2:9 a block length must not be negative, got -1");
    expect_build_error("ctg(4611686018427387904)[double]",
                       "1:1 sizes or displacements of this type do not fit 64 bits");
    expect_build_error("sub(4 | 3 | 2)[int]",
                       "1:1 illegal subarray: no number may be negative, and each start + subsize at most the size");
    expect_build_error("idxb(1: sample(5 4 1))[int]", "1:9 cannot draw that many different numbers");
    expect_build_error("indexed_block(3, 2, {0, 4}, int)", "1:15 2 displacements for a count of 3");
    expect_build_error("idxb(1: range(0 1 1000000000))[int]", "1:9 the list becomes too long");
}

/* Deep nesting and names that double at each step must fail fast instead of exhausting stack or memory. */
static void test_absurd_input(void **state)
{
    enum { DEEP = 100000 };
    char *text = malloc(8 * DEEP + 64);
    size_t used = 0;
    errors e;

    (void)state;
    assert_non_null(text);
    for (int i = 0; i < DEEP; i++)
        used += (size_t)sprintf(text + used, "ctg(1)[");
    e = parse_errors(text);
    assert_non_null(strstr(e.text, "nesting is deeper than 300"));
    used = (size_t)sprintf(text, "N = ");
    for (int i = 0; i < DEEP; i++)
        text[used++] = '(';
    text[used] = '\0';
    e = parse_errors(text);
    assert_non_null(strstr(e.text, "nesting is deeper than 300"));
    used = (size_t)sprintf(text, "t0 = byte\n");
    for (int i = 1; i < 40; i++)
        used += (size_t)sprintf(text + used, "t%d = struct(0: t%d, %d: byte, 2: t%d)\n", i, i - 1, i, i - 1);
    e = parse_errors(text);
    assert_non_null(strstr(e.text, "parts when its names are written out"));
    free(text);
}

static void test_milc_trace(void **state)
{
    FILE *f = fopen(PW_MILC_TRACE, "r");
    static char text[1 << 20];
    pw_arena *arena = pw_arena_create();
    pw_ddt_unit *unit;

    (void)state;
    assert_non_null(f);
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    fclose(f);
    unit = parse(text);
    assert_int_equal(pw_ddt_count(unit), 167);
    expect_equal("hvec(2 1 18432)[hvec(2 1 12288)[hvec(2 1 6144)[vec(32 6 8)[ctg(18)[float]]]]]",
                 "resized(0 55152)[hvec(2 1 18432)[hvec(2 1 12288)[hvec(2 1 6144)[hvec(32 1 576)[ctg(432)[byte]]]]]]");
    pw_ddt_destroy(unit);
    pw_arena_destroy(arena);
}

static void test_random_round_trip(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 3000; seed++) {
        pw_arena *arena = pw_arena_create();
        pw_builder b = {.arena = arena};
        pw_type type = pw_random_type(&b, seed, NULL), want, got;
        char *text = pw_ddt_print(&type);
        pw_ddt_unit *unit = parse(text);
        pw_diag diag;

        assert_int_equal(pw_canonicalise(&type, arena, &want, NULL, &diag), PW_OK);
        got = build(unit, 0, arena);
        if (!pw_type_equal(&want, &got) || want.lb != got.lb)
            fail_msg("seed %llu: %s", (unsigned long long)seed, text);
        pw_ddt_destroy(unit);
        free(text);
        pw_arena_destroy(arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_combiners),         cmocka_unit_test(test_names_and_expressions),
        cmocka_unit_test(test_c_types),           cmocka_unit_test(test_calls),
        cmocka_unit_test(test_results_of_calls),  cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_generators),        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_several_errors),    cmocka_unit_test(test_build_errors),
        cmocka_unit_test(test_absurd_input),      cmocka_unit_test(test_milc_trace),
        cmocka_unit_test(test_random_round_trip),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
