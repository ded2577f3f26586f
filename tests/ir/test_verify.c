/*
 * The verifier: it accepts what the builder makes, and every invariant has a node, corrupted by hand, that only the
 * check of that invariant refuses.
 */
#include "ir/verify.h"
#include "tests/support/random_ir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* One good node of every kind, to be corrupted: seq[stream[bytes], index[bytes], blocks]. */
typedef struct fixture {
    pw_arena *arena;
    pw_node *bytes, *stream, *index, *blocks, *seq;
    int64_t index_offs[2], block_offs[2], block_lens[2], seq_offs[3];
    const pw_node *children[3];
    pw_type type;
} fixture;

static pw_node *thaw(fixture *f, const pw_node *node)
{
    return node ? pw_arena_copy(f->arena, node, sizeof *node) : NULL;
}

static int setup(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    pw_builder b;

    *state = f;
    f->arena = pw_arena_create();
    b = (pw_builder){.arena = f->arena};
    memcpy(f->index_offs, (int64_t[]){0, 64}, sizeof f->index_offs);
    memcpy(f->block_offs, (int64_t[]){0, 7}, sizeof f->block_offs);
    memcpy(f->block_lens, (int64_t[]){3, 5}, sizeof f->block_lens);
    memcpy(f->seq_offs, (int64_t[]){0, 128, 301}, sizeof f->seq_offs);
    f->bytes = thaw(f, pw_build_bytes(&b, 8, 8));
    f->stream = thaw(f, pw_build_stream(&b, 3, 16, f->bytes));
    f->index = thaw(f, pw_build_index(&b, 2, f->index_offs, f->bytes));
    f->blocks = thaw(f, pw_build_blocks(&b, 2, f->block_offs, f->block_lens));
    memcpy(f->children, (const pw_node *[]){f->stream, f->index, f->blocks}, sizeof f->children);
    f->seq = thaw(f, pw_build_seq(&b, 3, f->seq_offs, f->children));
    assert_int_equal(b.status, PW_OK);
    /* The arrays too, to be corrupted. */
    f->index->index.offs = f->index_offs;
    f->blocks->blocks_list.offs = f->block_offs;
    f->blocks->blocks_list.lens = f->block_lens;
    f->seq->seq.offs = f->seq_offs;
    f->seq->seq.children = f->children;
    f->type = (pw_type){.root = f->seq, .extent = 512};
    return 0;
}

static int teardown(void **state)
{
    fixture *f = *state;

    pw_arena_destroy(f->arena);
    free(f);
    return 0;
}

static void expect_good(const fixture *f)
{
    pw_diag diag = {0};

    if (pw_verify(&f->type, &diag) != PW_OK)
        fail_msg("refused: %s", diag.text);
}

static void expect_bad(const fixture *f, pw_status status, const char *text)
{
    pw_diag diag = {0};

    assert_int_equal(pw_verify(&f->type, &diag), status);
    assert_int_equal(diag.status, status);
    assert_string_equal(diag.text, text);
    assert_int_equal(pw_verify(&f->type, NULL), status);
}

#define TEST(name) static void name(fixture *f)

TEST(the_fixture_is_good)
{
    expect_good(f);
}

TEST(negative_length)
{
    f->bytes->bytes.n = -1;
    expect_bad(f, PW_ERR_INVALID, "root.seq[0].stream.bytes: length -1 is negative");
}

TEST(odd_align)
{
    f->bytes->bytes.align = 3;
    expect_bad(f, PW_ERR_INVALID, "root.seq[0].stream.bytes: align 3 is not 1, 2, 4, 8 or 16");
}

TEST(zero_align)
{
    f->bytes->bytes.align = 0;
    expect_bad(f, PW_ERR_INVALID, "root.seq[0].stream.bytes: align 0 is not 1, 2, 4, 8 or 16");
}

TEST(large_align)
{
    f->bytes->bytes.align = 32;
    expect_bad(f, PW_ERR_INVALID, "root.seq[0].stream.bytes: align 32 is not 1, 2, 4, 8 or 16");
}

TEST(negative_count)
{
    f->stream->stream.count = -2;
    expect_bad(f, PW_ERR_INVALID, "root.seq[0].stream: count -2 is negative");
}

TEST(negative_index_entries)
{
    f->index->index.n = -1;
    expect_bad(f, PW_ERR_INVALID, "root.seq[1].index: number of entries -1 is negative");
}

TEST(negative_blocks_entries)
{
    f->blocks->blocks_list.n = -1;
    expect_bad(f, PW_ERR_INVALID, "root.seq[2].blocks: number of entries -1 is negative");
}

TEST(negative_block_length)
{
    f->block_lens[1] = -5;
    expect_bad(f, PW_ERR_INVALID, "root.seq[2].blocks: length -5 of entry 1 is negative");
}

TEST(negative_seq_entries)
{
    f->seq->seq.n = -1;
    expect_bad(f, PW_ERR_INVALID, "root.seq: number of entries -1 is negative");
}

TEST(missing_root)
{
    f->type.root = NULL;
    expect_bad(f, PW_ERR_INVALID, "root.?: node is missing");
}

TEST(missing_children)
{
    f->children[1] = NULL;
    expect_bad(f, PW_ERR_INVALID, "root.seq[1].?: node is missing");
    f->children[1] = f->index;
    f->index->index.child = NULL;
    expect_bad(f, PW_ERR_INVALID, "root.seq[1].index.?: node is missing");
    f->stream->stream.child = NULL;
    expect_bad(f, PW_ERR_INVALID, "root.seq[0].stream.?: node is missing");
}

TEST(missing_lists)
{
    f->blocks->blocks_list.lens = NULL;
    expect_bad(f, PW_ERR_INVALID, "root.seq[2].blocks: list of offsets or lengths is missing");
    f->index->index.offs = NULL;
    expect_bad(f, PW_ERR_INVALID, "root.seq[1].index: list of offsets is missing");
    f->seq->seq.offs = NULL;
    expect_bad(f, PW_ERR_INVALID, "root.seq: list of offsets or children is missing");
}

TEST(unknown_kind)
{
    f->index->kind = (pw_node_kind)5;
    expect_bad(f, PW_ERR_INVALID, "root.seq[1].?: kind 5 is unknown");
}

TEST(wrong_sizes)
{
    f->seq->size++;
    expect_bad(f, PW_ERR_INVALID, "root.seq: size is 49, expected 48");
    f->blocks->size = 0;
    expect_bad(f, PW_ERR_INVALID, "root.seq[2].blocks: size is 0, expected 8");
    f->index->size = 8;
    expect_bad(f, PW_ERR_INVALID, "root.seq[1].index: size is 8, expected 16");
    f->stream->size = -24;
    expect_bad(f, PW_ERR_INVALID, "root.seq[0].stream: size is -24, expected 24");
    f->bytes->size = 7;
    expect_bad(f, PW_ERR_INVALID, "root.seq[0].stream.bytes: size is 7, expected 8");
}

TEST(wrong_bounds)
{
    f->seq->lo = 1;
    expect_bad(f, PW_ERR_INVALID, "root.seq: bounds are [1, 313), expected [0, 313)");
    f->blocks->hi = 11;
    expect_bad(f, PW_ERR_INVALID, "root.seq[2].blocks: bounds are [0, 11), expected [0, 12)");
    f->index->hi = 80;
    expect_bad(f, PW_ERR_INVALID, "root.seq[1].index: bounds are [0, 80), expected [0, 72)");
    f->stream->lo = -1;
    expect_bad(f, PW_ERR_INVALID, "root.seq[0].stream: bounds are [-1, 40), expected [0, 40)");
    f->bytes->hi = 16;
    expect_bad(f, PW_ERR_INVALID, "root.seq[0].stream.bytes: bounds are [0, 16), expected [0, 8)");
}

TEST(wrong_number_of_blocks)
{
    f->index->blocks = 1;
    expect_bad(f, PW_ERR_INVALID, "root.seq[1].index: number of blocks is 1, expected 2");
}

TEST(wrong_depth)
{
    f->stream->depth = 1;
    expect_bad(f, PW_ERR_INVALID, "root.seq[0].stream: depth is 1, expected 2");
}

/* The fields say what the facts cannot hold. */
TEST(overflowing_size)
{
    f->bytes->bytes.n = f->bytes->size = f->bytes->hi = INT64_MAX - 7;
    expect_bad(f, PW_ERR_OVERFLOW, "root.seq[0].stream: size or bounds do not fit 64 bits");
}

TEST(overflowing_stride)
{
    f->stream->stream.stride = INT64_MIN;
    expect_bad(f, PW_ERR_OVERFLOW, "root.seq[0].stream: size or bounds do not fit 64 bits");
}

TEST(overflowing_offset)
{
    f->index_offs[1] = INT64_MAX - 7;
    expect_bad(f, PW_ERR_OVERFLOW, "root.seq[1].index: size or bounds do not fit 64 bits");
}

/* ---- alignment ---------------------------------------------------------------------------------- */

TEST(stride_breaks_align)
{
    f->stream->stream.stride = 12;
    expect_bad(f, PW_ERR_INVALID, "root.seq[0].stream: stride 12 breaks align 8 of a leaf below");
}

TEST(index_breaks_align)
{
    f->index_offs[1] = -12;
    expect_bad(f, PW_ERR_INVALID, "root.seq[1].index: offset -12 of entry 1 breaks align 8 of a leaf below");
}

TEST(seq_breaks_align)
{
    f->seq_offs[1] = 132;
    expect_bad(f, PW_ERR_INVALID, "root.seq: offset 132 of entry 1 breaks align 8 of a leaf below");
}

TEST(extent_breaks_align)
{
    f->type.extent = 500;
    expect_bad(f, PW_ERR_INVALID, "type: extent 500 breaks align 8 of a leaf");
}

/* Alignment is about instances: where there are none, or only one, it cannot be broken. */
TEST(unvisited_leaves_have_any_align)
{
    pw_builder b = {.arena = f->arena};
    const pw_node *leaf = pw_build_bytes(&b, 8, 16), *empty = pw_build_bytes(&b, 0, 16);
    const int64_t odd[] = {1, 3, 5};
    const pw_node *children[] = {pw_build_stream(&b, 0, 7, leaf), pw_build_index(&b, 0, NULL, leaf), empty};

    f->type = (pw_type){.root = pw_build_seq(&b, 3, odd, children), .extent = 7};
    expect_good(f);
    f->type = (pw_type){.root = pw_build_stream(&b, 1, 7, leaf), .extent = 16};
    expect_good(f);
    f->type = (pw_type){.root = pw_build_stream(&b, 9, 7, empty), .extent = 7};
    expect_good(f);
}

/* ---- whole trees -------------------------------------------------------------------------------- */

TEST(builder_makes_good_types)
{
    for (uint64_t seed = 0; seed < 2000; seed++) {
        pw_arena *arena = pw_arena_create();
        pw_builder b = {.arena = arena};
        pw_diag diag = {0};

        f->type = pw_random_type(&b, seed, NULL);
        if (b.status != PW_OK || pw_verify(&f->type, &diag) != PW_OK)
            fail_msg("seed %llu: %s %s", (unsigned long long)seed, pw_status_text(b.status), diag.text);
        pw_arena_destroy(arena);
    }
}

/* A cycle is endlessly deep; the verifier must not follow it. */
TEST(cycles_are_refused)
{
    pw_diag diag;

    f->stream->stream.child = f->stream;
    assert_int_equal(pw_verify(&f->type, &diag), PW_ERR_UNSUPPORTED);
    assert_non_null(strstr(diag.text, "root.seq[0].stream.stream.stream"));
}

/* 2^60 paths, 60 nodes: must end. The culprit at the bottom is still found, and named. */
TEST(shared_nodes_are_checked_once)
{
    const int64_t offs[] = {0, 1, 2};
    pw_builder b = {.arena = f->arena};
    pw_node *bottom = thaw(f, pw_build_stream(&b, 2, 8, pw_build_bytes(&b, 1, 1)));
    const pw_node *node = bottom, *culprit = NULL, *between = pw_build_bytes(&b, 0, 1);
    pw_diag diag;

    for (int i = 0; i < 60; i++)
        node = pw_build_seq(&b, 3, offs, (const pw_node *[]){node, between, node});
    assert_int_equal(b.status, PW_OK);
    f->type = (pw_type){.root = node, .extent = 1};
    expect_good(f);
    bottom->blocks = 0;
    assert_int_equal(pw_verify_at(&f->type, &diag, &culprit), PW_ERR_INVALID);
    assert_ptr_equal(culprit, bottom);
}

/* Seen first where it is not too deep, then again where it is. */
TEST(shared_nodes_may_be_too_deep)
{
    pw_builder b = {.arena = f->arena};
    const int64_t offs[] = {0, 0};
    const pw_node *deep = pw_build_bytes(&b, 1, 1);
    pw_node *root;

    for (int i = 1; i < 254; i++)
        deep = pw_build_stream(&b, 1, 0, deep);
    root = thaw(f, pw_build_seq(&b, 2, offs, (const pw_node *[]){deep, deep}));
    root->seq.children = (const pw_node *[]){deep, pw_build_stream(&b, 1, 0, pw_build_stream(&b, 1, 0, deep))};
    root->depth = 257;
    assert_int_equal(b.status, PW_OK);
    f->type = (pw_type){.root = root, .extent = 1};
    expect_bad(f, PW_ERR_UNSUPPORTED, "root.seq: nested deeper than 256 nodes");
}

static void run(void **state, void (*test)(fixture *f))
{
    test(*state);
}

#define RUN(name)                    \
    static void run_##name(void **s) \
    {                                \
        run(s, name);                \
    }
#define TESTS(X)                       \
    X(the_fixture_is_good)             \
    X(negative_length)                 \
    X(odd_align)                       \
    X(zero_align)                      \
    X(large_align)                     \
    X(negative_count)                  \
    X(negative_index_entries)          \
    X(negative_blocks_entries)         \
    X(negative_block_length)           \
    X(negative_seq_entries)            \
    X(missing_root)                    \
    X(missing_children)                \
    X(missing_lists)                   \
    X(unknown_kind)                    \
    X(wrong_sizes)                     \
    X(wrong_bounds)                    \
    X(wrong_number_of_blocks)          \
    X(wrong_depth)                     \
    X(overflowing_size)                \
    X(overflowing_stride)              \
    X(overflowing_offset)              \
    X(stride_breaks_align)             \
    X(index_breaks_align)              \
    X(seq_breaks_align)                \
    X(extent_breaks_align)             \
    X(unvisited_leaves_have_any_align) \
    X(builder_makes_good_types)        \
    X(cycles_are_refused)              \
    X(shared_nodes_are_checked_once)   \
    X(shared_nodes_may_be_too_deep)

TESTS(RUN)

int main(void)
{
#define ROW(name) cmocka_unit_test_setup_teardown(run_##name, setup, teardown),
    const struct CMUnitTest tests[] = {TESTS(ROW)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
