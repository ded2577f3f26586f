/* The text form: printing and parsing are inverse, errors stand where they are, and no text breaks the parser. */
#include "ir/ir.h"
#include "tests/support/random_ir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char *printed(const pw_type *type)
{
    char *text = pw_print(type, 0);

    assert_non_null(text);
    return text;
}

static void check_round_trip(uint64_t seed, const pw_type *type)
{
    pw_arena *arena = pw_arena_create();
    char *text = printed(type), *again;
    pw_diag diag;
    pw_type back;

    if (pw_parse(text, arena, &back, NULL, &diag) != PW_OK)
        fail_msg("seed %llu: %d:%d: %s\n%s", (unsigned long long)seed, diag.line, diag.col, diag.text, text);
    if (!pw_type_equal(type, &back) || type->lb != back.lb)
        fail_msg("seed %llu: parses back to another type\n%s", (unsigned long long)seed, text);
    again = printed(&back);
    if (strcmp(text, again))
        fail_msg("seed %llu: prints differently\n%s=>\n%s", (unsigned long long)seed, text, again);
    free(again);
    free(text);
    pw_arena_destroy(arena);
}

static void random_round_trips(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 5000; seed++) {
        pw_arena *arena = pw_arena_create();
        pw_builder b = {.arena = arena};
        pw_type type = pw_random_type(&b, seed, &(pw_random_options){.max_size = 1024});

        assert_int_equal(b.status, PW_OK);
        check_round_trip(seed, &type);
        pw_arena_destroy(arena);
    }
}

static void extreme_numbers_round_trip(void **state)
{
    pw_arena *arena = pw_arena_create();
    pw_builder b = {.arena = arena};
    const int64_t offs[] = {INT64_MIN, INT64_MAX - 1, -1}, lens[] = {1, 1, 0};
    pw_type type = {.root = pw_build_stream(&b, 1, INT64_MIN, pw_build_blocks(&b, 3, offs, lens))};

    (void)state;
    type.lb = INT64_MIN;
    type.extent = INT64_MAX;
    assert_int_equal(b.status, PW_OK);
    check_round_trip(0, &type);
    pw_arena_destroy(arena);
}

static void deepest_tree_round_trips(void **state)
{
    pw_arena *arena = pw_arena_create();
    pw_builder b = {.arena = arena};
    const pw_node *node = pw_build_bytes(&b, 1, 1);

    (void)state;
    for (int i = 1; i < 256; i++)
        node = i % 2 ? pw_build_stream(&b, 1, i, node) : pw_build_shift(&b, -i, node);
    assert_int_equal(b.status, PW_OK);
    check_round_trip(0, &(pw_type){.root = node, .extent = 1});
    pw_arena_destroy(arena);
}

/* ---- errors ------------------------------------------------------------------------------------- */

#define HEAD "type(lb 0, extent 8) { "

static const struct {
    const char *text;
    int line, col;
    pw_status status;
    const char *message;
} errors[] = {
    {"", 1, 1, PW_ERR_INVALID, "expected 'type', but the text ends here"},
    {"# only a comment", 1, 17, PW_ERR_INVALID, "expected 'type', but the text ends here"},
    {"\n  # a comment\n\ttypes(", 3, 2, PW_ERR_INVALID, "expected 'type', found 'types'"},
    {"type {", 1, 6, PW_ERR_INVALID, "expected '(', found '{'"},
    {"type(extent 8", 1, 6, PW_ERR_INVALID, "expected 'lb', found 'extent'"},
    {"type(lb x", 1, 9, PW_ERR_INVALID, "expected a lower bound, found 'x'"},
    {"type(lb 0 extent", 1, 11, PW_ERR_INVALID, "expected ',', found 'extent'"},
    {"type(lb 0, 8", 1, 12, PW_ERR_INVALID, "expected 'extent', found '8'"},
    {"type(lb 0, extent )", 1, 19, PW_ERR_INVALID, "expected an extent, found ')'"},
    {"type(lb 0, extent 8 {", 1, 21, PW_ERR_INVALID, "expected ')', found '{'"},
    {"type(lb 0, extent 8) bytes", 1, 22, PW_ERR_INVALID, "expected '{', found 'bytes'"},
    {HEAD "byte 8", 1, 24, PW_ERR_INVALID, "expected bytes, stream, index, blocks or seq, found 'byte'"},
    {HEAD "}", 1, 24, PW_ERR_INVALID, "expected bytes, stream, index, blocks or seq, found '}'"},
    {HEAD "bytes align 1 }", 1, 30, PW_ERR_INVALID, "expected a length, found 'align'"},
    {HEAD "bytes -8 align 1 }", 1, 30, PW_ERR_INVALID, "a length must not be negative"},
    {HEAD "bytes - 8 align 1 }", 1, 30, PW_ERR_INVALID, "expected a length, found '-'"},
    {HEAD "bytes 8x align 1 }", 1, 30, PW_ERR_INVALID, "'8x' is not a number"},
    {HEAD "bytes 8 }", 1, 32, PW_ERR_INVALID, "expected 'align', found '}'"},
    {HEAD "bytes 8 align }", 1, 38, PW_ERR_INVALID, "expected an alignment, found '}'"},
    {HEAD "bytes 8 align 3 }", 1, 38, PW_ERR_INVALID, "an alignment must be 1, 2, 4, 8 or 16"},
    {HEAD "bytes 8 align 1", 1, 39, PW_ERR_INVALID, "expected '}', but the text ends here"},
    {HEAD "bytes 8 align 1 } }", 1, 42, PW_ERR_INVALID, "expected the end of the text, found '}'"},
    {HEAD "stream stride", 1, 31, PW_ERR_INVALID, "expected a count, found 'stride'"},
    {HEAD "stream -1 stride", 1, 31, PW_ERR_INVALID, "a count must not be negative"},
    {HEAD "stream 2 {", 1, 33, PW_ERR_INVALID, "expected 'stride', found '{'"},
    {HEAD "stream 2 stride {", 1, 40, PW_ERR_INVALID, "expected a stride, found '{'"},
    {HEAD "stream 2 stride 8 bytes", 1, 42, PW_ERR_INVALID, "expected '{', found 'bytes'"},
    {HEAD "index 0, 8", 1, 30, PW_ERR_INVALID, "expected '[', found '0'"},
    {HEAD "index [0 8]", 1, 33, PW_ERR_INVALID, "expected ',' or ']', found '8'"},
    {HEAD "index [0, ]", 1, 34, PW_ERR_INVALID, "expected an offset, found ']'"},
    {HEAD "index [0, …]", 1, 34, PW_ERR_INVALID, "expected an offset, found '…': a shortened list does not parse back"},
    {HEAD "index [0:4]", 1, 32, PW_ERR_INVALID, "expected ',' or ']', found ':'"},
    {HEAD "blocks [0, 8]", 1, 33, PW_ERR_INVALID, "expected ':', found ','"},
    {HEAD "blocks [0:-1]", 1, 34, PW_ERR_INVALID, "a length must not be negative"},
    {HEAD "seq [", 1, 28, PW_ERR_INVALID, "expected '{', found '['"},
    {HEAD "seq { bytes", 1, 30, PW_ERR_INVALID, "expected '@' or '}', found 'bytes'"},
    {HEAD "seq { @ bytes", 1, 32, PW_ERR_INVALID, "expected an offset, found 'bytes'"},
    {HEAD "seq { @0 bytes 8 align 1\n@0\n", 3, 1, PW_ERR_INVALID,
     "expected bytes, stream, index, blocks or seq, but the text ends here"},
    {HEAD "\xff", 1, 24, PW_ERR_INVALID, "expected bytes, stream, index, blocks or seq, found a byte 0xff"},
    {"type(lb 9223372036854775808", 1, 9, PW_ERR_OVERFLOW, "a lower bound does not fit 64 bits"},
    {"type(lb -9223372036854775809", 1, 9, PW_ERR_OVERFLOW, "a lower bound does not fit 64 bits"},
    {"type(lb 1000000000000000000000000000000", 1, 9, PW_ERR_OVERFLOW, "a lower bound does not fit 64 bits"},
    {HEAD "stream 2 stride 8 { stream 9 stride 9223372036854775807 { bytes 1 align 1 } } }", 1, 44, PW_ERR_OVERFLOW,
     "size or bounds of this 'stream' do not fit 64 bits"},
    {HEAD "index [9223372036854775807] { bytes 1 align 1 } }", 1, 24, PW_ERR_OVERFLOW,
     "size or bounds of this 'index' do not fit 64 bits"},
    {HEAD "blocks [9223372036854775807:1] }", 1, 24, PW_ERR_OVERFLOW,
     "size or bounds of this 'blocks' do not fit 64 bits"},
    {HEAD "seq { @0 bytes 1 align 1\n @9223372036854775807 bytes 1 align 1 } }", 1, 24, PW_ERR_OVERFLOW,
     "size or bounds of this 'seq' do not fit 64 bits"},
    /* Found by the verifier, shown at the node. */
    {HEAD "seq { @0 bytes 8 align 1\n @8 stream 2 stride 12 { bytes 8 align 8 } } }", 2, 5, PW_ERR_INVALID,
     "root.seq[1].stream: stride 12 breaks align 8 of a leaf below"},
    {HEAD "index [0, 4] { bytes 8 align 8 } }", 1, 24, PW_ERR_INVALID,
     "root.index: offset 4 of entry 1 breaks align 8 of a leaf below"},
    {"\ntype(lb 0, extent 4) { bytes 8 align 8 }", 2, 1, PW_ERR_INVALID, "type: extent 4 breaks align 8 of a leaf"},
};

static void errors_say_what_and_where(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        pw_arena *arena = pw_arena_create();
        pw_type out = {0};
        pw_diag diag;
        pw_status status = pw_parse(errors[i].text, arena, &out, NULL, &diag);

        if (status != errors[i].status || diag.status != status || strcmp(diag.text, errors[i].message) ||
            diag.line != errors[i].line || diag.col != errors[i].col)
            fail_msg("%s\n%d:%d: %s (%s)\nexpected\n%d:%d: %s (%s)", errors[i].text, diag.line, diag.col, diag.text,
                     pw_status_text(status), errors[i].line, errors[i].col, errors[i].message,
                     pw_status_text(errors[i].status));
        assert_null(out.root);
        assert_int_equal(pw_parse(errors[i].text, arena, &out, NULL, NULL), status);
        pw_arena_destroy(arena);
    }
}

static void several_types_in_a_text(void **state)
{
    const char *text =
        "# one\ntype(lb 0,extent 8){bytes 8 align 8}# two\n\n type(lb -1, extent 2) {bytes 0 align 1} # end\n";
    pw_arena *arena = pw_arena_create();
    const char *end;
    pw_type type;

    (void)state;
    assert_int_equal(pw_parse(text, arena, &type, &end, NULL), PW_OK);
    assert_int_equal(type.root->size, 8);
    assert_int_equal(strncmp(end, "type(lb -1", 10), 0);
    assert_int_equal(pw_parse(end, arena, &type, &end, NULL), PW_OK);
    assert_int_equal(type.lb, -1);
    assert_int_equal(*end, '\0');
    assert_int_equal(pw_parse(text, arena, &type, NULL, NULL), PW_ERR_INVALID);
    pw_arena_destroy(arena);
}

/* ---- robustness --------------------------------------------------------------------------------- */

static char *repeated(const char *head, const char *unit, size_t n, const char *tail)
{
    size_t len = strlen(unit), at = strlen(head);
    char *text = malloc(at + n * len + strlen(tail) + 1);

    assert_non_null(text);
    memcpy(text, head, at);
    for (size_t i = 0; i < n; i++, at += len)
        memcpy(text + at, unit, len);
    memcpy(text + at, tail, strlen(tail) + 1);
    return text;
}

static pw_status parse_large(char *text, size_t *used, pw_diag *diag)
{
    pw_arena *arena = pw_arena_create();
    pw_type type;
    pw_status status = pw_parse(text, arena, &type, NULL, diag);

    *used = pw_arena_used(arena);
    pw_arena_destroy(arena);
    free(text);
    return status;
}

static void depth_is_bounded(void **state)
{
    static const char *const units[] = {"stream 1 stride 0 {", "index [0] {", "seq { @0 "};
    pw_diag diag;
    size_t used;

    (void)state;
    for (int i = 0; i < 3; i++) {
        /* A million levels would overflow the stack. */
        assert_int_equal(parse_large(repeated(HEAD, units[i], 1000000, ""), &used, &diag), PW_ERR_UNSUPPORTED);
        assert_string_equal(diag.text, "nested deeper than 256 nodes");
        assert_int_equal(diag.col, 24 + 256 * (int)strlen(units[i]));
    }
}

static void large_lists_take_memory_like_the_text(void **state)
{
    enum { N = 1000000 };
    pw_diag diag;
    size_t used;

    (void)state;
    assert_int_equal(parse_large(repeated(HEAD "index [0", ",1", N, "] { bytes 0 align 1 } }"), &used, &diag), PW_OK);
    assert_true(used < 9 * N);
    assert_int_equal(parse_large(repeated(HEAD "blocks [0:0", ",1:0", N, "] }"), &used, &diag), PW_OK);
    assert_true(used < 17 * N);
    assert_int_equal(parse_large(repeated(HEAD "seq {", "@0 seq{}", N, "} }"), &used, &diag), PW_OK);
    assert_true(used < 160 * N);
    assert_int_equal(parse_large(repeated("", "\n#", N, ""), &used, &diag), PW_ERR_INVALID);
    assert_int_equal(diag.line, N + 1);
    assert_true(used == 0);
}

/* Any prefix of a good text is refused, with a position within it. */
static void truncated_texts_are_refused(void **state)
{
    static const char text[] =
        "type(lb -8, extent 64) { seq { @0 bytes 4 align 4 @8 stream 2 stride 8 { index [0, 4] { "
        "bytes 1 align 1 } } @40 blocks [0:3, 5:8] } }";
    char prefix[sizeof text];
    pw_arena *arena = pw_arena_create();
    pw_diag diag;
    pw_type type;

    (void)state;
    for (size_t n = 0; n < sizeof text - 1; n++) {
        memcpy(prefix, text, n);
        prefix[n] = '\0';
        assert_int_equal(pw_parse(prefix, arena, &type, NULL, &diag), PW_ERR_INVALID);
        assert_int_equal(diag.line, 1);
        assert_in_range(diag.col, 1, n + 1);
    }
    assert_int_equal(pw_parse(text, arena, &type, NULL, &diag), PW_OK);
    pw_arena_destroy(arena);
}

static void mutate(pw_rng *rng, char *text, size_t n)
{
    static const char bytes[] = "0123456789-@,:[]{}()# \nabeglinqrstx\xe2\x80\xa6";

    for (int64_t i = pw_rng_range(rng, 1, 4); i > 0; i--) {
        size_t at = (size_t)pw_rng_range(rng, 0, (int64_t)n - 1), from = (size_t)pw_rng_range(rng, 0, (int64_t)n - 1);

        if (pw_rng_one_in(rng, 4))
            memmove(text + at, text + from, n - (at > from ? at : from));
        else
            text[at] = bytes[pw_rng_range(rng, 0, sizeof bytes - 2)];
    }
}

/* What is accepted must be a type; what is refused must have a place. Sanitizers see the rest. */
static void mutated_texts_do_no_harm(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 10000; seed++) {
        pw_arena *arena = pw_arena_create();
        pw_builder b = {.arena = arena};
        pw_rng rng = {seed};
        pw_type type = pw_random_type(&b, seed % 500, &(pw_random_options){.max_size = 64, .max_depth = 4}), back;
        char *text = printed(&type);
        pw_diag diag;

        mutate(&rng, text, strlen(text));
        if (pw_parse(text, arena, &back, NULL, &diag) == PW_OK)
            check_round_trip(seed, &back);
        else if (diag.line < 1 || diag.col < 1 || !diag.text[0])
            fail_msg("seed %llu: an error without a place\n%s", (unsigned long long)seed, text);
        free(text);
        pw_arena_destroy(arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_round_trips),
        cmocka_unit_test(extreme_numbers_round_trip),
        cmocka_unit_test(deepest_tree_round_trips),
        cmocka_unit_test(errors_say_what_and_where),
        cmocka_unit_test(several_types_in_a_text),
        cmocka_unit_test(depth_is_bounded),
        cmocka_unit_test(large_lists_take_memory_like_the_text),
        cmocka_unit_test(truncated_texts_are_refused),
        cmocka_unit_test(mutated_texts_do_no_harm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
