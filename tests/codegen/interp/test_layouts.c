/* Layouts in which tier 0 and the nest passes take each of their paths, sizes around the edges of tiles and turns. */
#include "codegen/interp/internal.h"
#include "codegen/interp/interp.h"
#include "ir/nest_build.h"
#include "tests/codegen/interp/check.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

static pw_builder start(void)
{
    pw_builder b = {.arena = pw_arena_create()};

    assert_non_null(b.arena);
    return b;
}

static void check(pw_builder *b, const pw_node *root, int64_t extent, int64_t count, const char *format, ...)
{
    pw_type type = {.root = root, .extent = extent};
    char label[96];
    va_list ap;

    assert_int_equal(b->status, PW_OK);
    va_start(ap, format);
    vsnprintf(label, sizeof label, format, ap);
    va_end(ap);
    check_type(&type, count, 6, 42 + (uint64_t)extent, label);
}

/* ctg(rows)[resized(0, w)[vec(cols, 1, rows)[w bytes]]] of an array of cols x rows. */
static void transposes(void **state)
{
    static const int64_t sizes[][2] = {{2, 2}, {8, 8}, {16, 16}, {9, 17}, {33, 31}, {64, 5}, {3, 70}, {50, 40}};
    static const int64_t widths[] = {1, 2, 3, 4, 8, 12, 16, 24};

    (void)state;
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            pw_builder b = start();
            int64_t n = widths[w], rows = sizes[i][0], cols = sizes[i][1];
            const pw_node *column = pw_build_stream(&b, cols, n * rows, pw_build_bytes(&b, n, 1));

            check(&b, pw_build_stream(&b, rows, n, column), n * rows * cols, 2, "transpose %dx%d of %d", (int)rows,
                  (int)cols, (int)n);
            check(&b, column, n, rows, "transpose %dx%d of %d, over objects", (int)rows, (int)cols, (int)n);
            check(&b, column, -n, rows, "the same, descending");
            pw_arena_destroy(b.arena);
        }
    }
}

/* vec(3, 1, 10) of rows: a column whose elements are rows; sorting by memory stride alone would break it. */
static void column_of_rows(void **state)
{
    pw_builder b = start();
    const pw_node *row = pw_build_stream(&b, 10, 8, pw_build_bytes(&b, 8, 1));
    const pw_node *planes = pw_build_stream(&b, 4, 80, pw_build_stream(&b, 3, 1000, row));

    (void)state;
    check(&b, planes, 4000, 3, "column of rows");
    check(
        &b,
        pw_build_stream(&b, 5, 8, pw_build_stream(&b, 4, 4096, pw_build_stream(&b, 20, 40, pw_build_bytes(&b, 8, 1)))),
        32768, 2, "three loops, permuted");
    pw_arena_destroy(b.arena);
}

/* Lines that share few sets of a cache are stored to twice, unless they are very many. */
static void set_strides(void **state)
{
    static const int64_t strides[] = {512, 520, 1024, -1536, 4096};

    (void)state;
    for (int64_t n = 1; n <= 32; n *= 2) {
        for (size_t i = 0; i < sizeof strides / sizeof *strides; i++) {
            pw_builder b = start();

            check(&b, pw_build_stream(&b, 13, strides[i], pw_build_bytes(&b, n, 1)), 13 * 5000, 3, "%d bytes every %d",
                  (int)n, (int)strides[i]);
            pw_arena_destroy(b.arena);
        }
    }
}

static void descending(void **state)
{
    (void)state;
    for (int64_t n = 1; n < 70; n = 3 * n / 2 + 1) {
        pw_builder b = start();

        check(&b, pw_build_stream(&b, 13, -2 * n, pw_build_bytes(&b, n, 1)), 13 * 2 * n, 3, "descending, %d", (int)n);
        check(&b, pw_build_stream(&b, 13, -n, pw_build_bytes(&b, n, 1)), -13 * n, 3, "descending, dense, %d", (int)n);
        pw_arena_destroy(b.arena);
    }
}

static void vectors_of_all_widths(void **state)
{
    (void)state;
    for (int64_t n = 1; n <= 600; n = n < 70 ? n + 1 : n + 77) {
        pw_builder b = start();
        const pw_node *leaf = pw_build_bytes(&b, n, 1);

        check(&b, pw_build_stream(&b, 9, n + 5, leaf), 9 * (n + 5), 1, "vector of %d", (int)n);
        check(&b, pw_build_stream(&b, 9, n + 5, leaf), 9 * (n + 5), 4, "vector of %d, continued by objects", (int)n);
        check(&b, leaf, n, 5, "dense %d", (int)n);
        check(&b, leaf, n + 3, 5, "leaf of %d, spaced", (int)n);
        pw_arena_destroy(b.arena);
    }
}

/* Offsets of n blocks `step` apart, shuffled. */
static int64_t *shuffled(int64_t n, int64_t step, uint64_t seed)
{
    int64_t *offs = malloc((size_t)n * sizeof *offs);
    pw_rng rng = {.state = seed};

    assert_non_null(offs);
    for (int64_t i = 0; i < n; i++)
        offs[i] = i * step;
    for (int64_t i = n - 1; i > 0; i--) {
        int64_t k = pw_rng_range(&rng, 0, i), was = offs[i];

        offs[i] = offs[k];
        offs[k] = was;
    }
    return offs;
}

static void shuffled_indexes(void **state)
{
    static const int64_t widths[] = {1, 2, 3, 4, 6, 8, 12, 16, 20, 24, 40, 64, 100, 200};

    (void)state;
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
        pw_builder b = start();
        int64_t n = widths[w], *offs = shuffled(37, n + 4, (uint64_t)n);
        const pw_node *list = pw_build_index(&b, 37, offs, pw_build_bytes(&b, n, 1));

        check(&b, list, 37 * (n + 4), 3, "shuffled index of %d", (int)n);
        check(&b, pw_build_index(&b, 37, offs, pw_build_stream(&b, 3, 40 * (n + 4), pw_build_bytes(&b, n, 1))),
              37 * (n + 4), 1, "shuffled index of streams of %d", (int)n);
        free(offs);
        pw_arena_destroy(b.arena);
    }
}

/* Tables of 16- and 32-bit entries, with and without a common scale. */
/* Tables of 64-bit entries, which lists have whose blocks are gigabytes apart. */
static void wide_tables(void **state)
{
    enum { N = 13, MOST = 70 };
    static unsigned char mem[N * 2 * MOST], packed[N * MOST], expected[N * MOST];
    int64_t offs[N];

    (void)state;
    for (size_t i = 0; i < sizeof mem; i++)
        mem[i] = (unsigned char)(i * 131 + i / 256);
    for (int64_t width = 1; width <= MOST; width++) {
        pw_table table;
        pw_list list = {.table = &table, .first = 1, .n = N - 1, .stride = width, .width = width};

        for (int64_t i = 0; i < N; i++) {
            offs[i] = (i * 5 % N) * 2 * MOST;
            if (i > 0)
                memcpy(expected + (i - 1) * width, mem + offs[i], (size_t)width);
        }
        table = pw_table_borrow(N, offs);
        assert_int_equal(table.width, 8);
        list.mem = (pw_addr)mem;
        list.packed = (pw_addr)packed;
        pw_list_copy(&list, PW_PACK);
        assert_memory_equal(packed, expected, (size_t)((N - 1) * width));
        for (int64_t i = 1; i < N; i++)
            memset(mem + offs[i], 0, (size_t)width);
        pw_list_copy(&list, PW_UNPACK);
        for (int64_t i = 1; i < N; i++)
            assert_memory_equal(mem + offs[i], expected + (i - 1) * width, (size_t)width);
    }
}

static void table_widths(void **state)
{
    static const int64_t far[] = {60000, 524280, 3000001};

    (void)state;
    for (size_t f = 0; f < sizeof far / sizeof *far; f++) {
        pw_builder b = start();
        int64_t *offs = shuffled(30, 19, f);

        offs[7] = far[f];
        check(&b, pw_build_index(&b, 30, offs, pw_build_bytes(&b, 8, 1)), 8, 1, "index as far as %d", (int)far[f]);
        free(offs);
        pw_arena_destroy(b.arena);
    }
}

static void blocks_and_pieces(void **state)
{
    (void)state;
    for (int64_t n = 1; n < 60; n = n * 2 + 3) {
        pw_builder b = start();
        int64_t offs[64], lens[64], at = 3;
        const pw_node *list;

        for (int64_t i = 0; i < n; i++) {
            offs[i] = at;
            lens[i] = 1 + (i * 7) % 45;
            at += lens[i] + 1 + i % 3;
        }
        list = pw_build_blocks(&b, n, offs, lens);
        check(&b, list, at, 1, "%d blocks", (int)n);
        check(&b, list, at, 40, "%d blocks, 40 objects", (int)n);
        check(&b, pw_build_stream(&b, 3, 5 * at, pw_build_stream(&b, 4, at, list)), 20 * at, 2, "%d blocks under loops",
              (int)n);
        check(&b, pw_build_index(&b, 3, (int64_t[]){5 * at, 0, 9 * at}, list), 20 * at, 2, "%d blocks under an index",
              (int)n);
        pw_arena_destroy(b.arena);
    }
}

/* Pieces under a long index: several turns of the table. */
static void indexed_records(void **state)
{
    pw_builder b = start();
    int64_t *offs = shuffled(1500, 40, 3);
    const pw_node *members[] = {pw_build_bytes(&b, 8, 1), pw_build_bytes(&b, 3, 1), pw_build_bytes(&b, 12, 1)};
    const pw_node *record = pw_build_seq(&b, 3, (int64_t[]){16, 0, 25}, members);

    (void)state;
    check(&b, pw_build_index(&b, 1500, offs, record), 60000, 2, "1500 records by index");
    free(offs);
    pw_arena_destroy(b.arena);
}

static void records(void **state)
{
    pw_builder b = start();
    const pw_node *eight = pw_build_bytes(&b, 8, 1), *column = pw_build_stream(&b, 20, 24, eight);
    const pw_node *members[] = {eight, pw_build_bytes(&b, 3, 1), column, pw_build_bytes(&b, 80, 1), column};
    const int64_t offs[] = {0, 600, 16, 700, 800};
    const pw_node *record = pw_build_seq(&b, 5, offs, members);

    (void)state;
    check(&b, record, 1400, 1, "record");
    check(&b, record, 1400, 100, "records");
    check(&b, pw_build_stream(&b, 7, 1400, record), 9800, 5, "records in a stream");
    check(&b, pw_build_seq(&b, 2, (int64_t[]){40, 0}, (const pw_node *[]){eight, pw_build_bytes(&b, 4, 1)}), 100, 500,
          "particles");
    pw_arena_destroy(b.arena);
}

/* Two pieces an element, of lengths that share a pass and of others; then three, the last of which is left over. */
static void pairs_of_pieces(void **state)
{
    static const int64_t lengths[] = {4, 8, 12, 16, 24, 1, 20, 100};

    (void)state;
    for (int a = 0; a < 8; a++) {
        for (int k = 0; k < 8; k++) {
            pw_builder b = start();
            const int64_t offs[] = {0, 104, 230}, lens[] = {lengths[a], lengths[k], 8}, back[] = {104, 0, -40};
            const pw_node *two = pw_build_blocks(&b, 2, offs, lens), *three = pw_build_blocks(&b, 3, offs, lens);
            const pw_node *descending = pw_build_blocks(&b, 3, back, lens);

            check(&b, two, 211, 37, "pieces of %d and %d, over objects", (int)lengths[a], (int)lengths[k]);
            check(&b, pw_build_stream(&b, 6, 2000, pw_build_stream(&b, 7, 211, two)), 20000, 2, "the same, a grid");
            check(&b, pw_build_stream(&b, 33, -241, three), 9000, 2, "the same and another, descending");
            check(&b, pw_build_stream(&b, 5, 300, descending), 2000, 3, "the same, shuffled");
            pw_arena_destroy(b.arena);
        }
    }
}

/* More loops than a nest has, none of which continues another. */
static void deep_nests(void **state)
{
    pw_builder b = start();
    const pw_node *node = pw_build_bytes(&b, 1, 1);
    int64_t stride = 1;

    (void)state;
    for (int depth = 1; depth <= 12; depth++) {
        stride = 2 * stride + 1;
        node = pw_build_stream(&b, 2, stride, node);
        check(&b, node, 3 * stride, 2, "%d loops", depth);
    }
    node = pw_build_bytes(&b, 3, 1);
    for (int depth = 0; depth < 60; depth++)
        node = pw_build_stream(&b, 1, 7, pw_build_shift(&b, depth % 2 ? 11 : -11, node));
    check(&b, node, 16, 3, "60 loops of count 1");
    pw_arena_destroy(b.arena);
}

static void null_origin(void **state)
{
    pw_builder b = start();
    double values[40], packed[10], back[40] = {0};
    const pw_node *node = pw_build_stream(&b, 10, 32, pw_build_bytes(&b, 8, 1));
    pw_type type = {.root = pw_build_shift(&b, (int64_t)(uintptr_t)values, node), .extent = 8};
    pw_type other = {.root = pw_build_shift(&b, (int64_t)(uintptr_t)back, node), .extent = 8};
    pw_nest *nest;

    (void)state;
    for (int i = 0; i < 40; i++)
        values[i] = i;
    assert_int_equal(pw_lower(&type, &nest, NULL, NULL), PW_OK);
    pw_interp_pack(nest, NULL, 1, packed);
    pw_nest_destroy(nest);
    for (int i = 0; i < 10; i++)
        assert_true(packed[i] == 4.0 * i);
    assert_int_equal(pw_lower(&other, &nest, NULL, NULL), PW_OK);
    pw_interp_unpack(nest, NULL, 1, packed);
    pw_interp_unpack_range(nest, NULL, 1, 8, 24, &packed[1]);
    pw_interp_pack(nest, NULL, 0, NULL);
    pw_nest_destroy(nest);
    for (int i = 0; i < 40; i++)
        assert_true(back[i] == (i % 4 ? 0.0 : i));
    pw_arena_destroy(b.arena);
}

static void nothing(void **state)
{
    pw_builder b = start();
    pw_type empty = {.root = pw_build_stream(&b, 5, 8, pw_build_bytes(&b, 0, 1)), .extent = 40};
    pw_nest *nest;

    (void)state;
    assert_int_equal(pw_lower(&empty, &nest, NULL, NULL), PW_OK);
    assert_int_equal(nest->nregions, 0);
    pw_interp_pack(nest, NULL, 3, NULL);
    pw_interp_unpack_range(nest, NULL, 3, 0, 0, NULL);
    pw_nest_destroy(nest);
    pw_arena_destroy(b.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transposes),
        cmocka_unit_test(column_of_rows),
        cmocka_unit_test(descending),
        cmocka_unit_test(set_strides),
        cmocka_unit_test(vectors_of_all_widths),
        cmocka_unit_test(shuffled_indexes),
        cmocka_unit_test(table_widths),
        cmocka_unit_test(wide_tables),
        cmocka_unit_test(blocks_and_pieces),
        cmocka_unit_test(indexed_records),
        cmocka_unit_test(records),
        cmocka_unit_test(pairs_of_pieces),
        cmocka_unit_test(deep_nests),
        cmocka_unit_test(null_origin),
        cmocka_unit_test(nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
