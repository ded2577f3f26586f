/* What the interface promises beside moving bytes: errors that name the argument, references, equal hashes, texts, and
 * that the process is left as it was. */
#include <packwright/packwright.h>

#include <errno.h>
#include <locale.h>
#include <malloc.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define OK(call) assert_int_equal(call, PACKWRIGHT_OK)

static void refused(packwright_status got, packwright_status expected, const char *words, int line)
{
    if (got != expected || !strstr(packwright_last_error(), words) || strchr(packwright_last_error(), '\n')) {
        printf("line %d: %s (%s), expected %s (… %s …)\n", line, packwright_status_text(got), packwright_last_error(),
               packwright_status_text(expected), words);
        fail();
    }
}

#define REFUSED(call, status, words) refused(call, PACKWRIGHT_ERR_##status, words, __LINE__)

static packwright_type *cell;

static int make_cell(void **state)
{
    (void)state;
    return packwright_bytes(8, 8, &cell) != PACKWRIGHT_OK;
}

static int free_cell(void **state)
{
    (void)state;
    packwright_type_free(cell);
    return 0;
}

/* ---- errors -------------------------------------------------------------------------------------------- */

static void constructors_name_the_argument(void **state)
{
    const int64_t one[] = {1, 1}, bad[] = {1, -2}, at[] = {0, 9}, far[] = {0, INT64_MAX};
    packwright_type *unset = (packwright_type *)&unset, *t = unset, *olds[] = {cell, NULL};

    (void)state;
    REFUSED(packwright_bytes(-1, 1, &t), INVALID, "bytes is -1");
    REFUSED(packwright_bytes(8, 3, &t), INVALID, "align is 3");
    REFUSED(packwright_bytes(8, 32, &t), INVALID, "align is 32");
    REFUSED(packwright_bytes(8, 8, NULL), INVALID, "out is NULL");
    REFUSED(packwright_contiguous(-4, cell, &t), INVALID, "count is -4");
    REFUSED(packwright_contiguous(4, NULL, &t), INVALID, "old is NULL");
    REFUSED(packwright_contiguous(4, cell, NULL), INVALID, "out is NULL");
    REFUSED(packwright_contiguous(INT64_MAX, cell, &t), OVERFLOW, "64 bits");
    REFUSED(packwright_vector(-1, 1, 1, cell, &t), INVALID, "count is -1");
    REFUSED(packwright_vector(1, -1, 1, cell, &t), INVALID, "blocklength is -1");
    REFUSED(packwright_vector(2, 1, INT64_MAX, cell, &t), OVERFLOW, "64 bits");
    REFUSED(packwright_hvector(1, -1, 1, cell, &t), INVALID, "blocklength is -1");
    REFUSED(packwright_indexed(-2, one, at, cell, &t), INVALID, "n is -2");
    REFUSED(packwright_indexed(2, NULL, at, cell, &t), INVALID, "blocklengths is NULL");
    REFUSED(packwright_indexed(2, one, NULL, cell, &t), INVALID, "displacements is NULL");
    REFUSED(packwright_indexed(2, bad, at, cell, &t), INVALID, "blocklengths[1] is -2");
    REFUSED(packwright_indexed(2, one, far, cell, &t), OVERFLOW, "64 bits");
    REFUSED(packwright_hindexed(2, bad, at, cell, &t), INVALID, "blocklengths[1] is -2");
    REFUSED(packwright_hindexed(2, one, NULL, cell, &t), INVALID, "displacements_bytes is NULL");
    REFUSED(packwright_hindexed(2, one, far, cell, &t), OVERFLOW, "64 bits");
    REFUSED(packwright_indexed_block(2, -1, at, cell, &t), INVALID, "blocklength is -1");
    REFUSED(packwright_hindexed_block(2, 1, NULL, cell, &t), INVALID, "displacements_bytes is NULL");
    REFUSED(packwright_struct(2, one, at, olds, &t), INVALID, "olds[1] is NULL");
    REFUSED(packwright_struct(2, one, at, NULL, &t), INVALID, "olds is NULL");
    REFUSED(packwright_struct(2, bad, at, olds, &t), INVALID, "blocklengths[1] is -2");
    REFUSED(packwright_struct(1, one, at, olds, NULL), INVALID, "out is NULL");
    REFUSED(packwright_resized(0, 8, NULL, &t), INVALID, "old is NULL");
    REFUSED(packwright_resized(INT64_MAX, 8, cell, &t), OVERFLOW, "64 bits");
    assert_null(packwright_dup(NULL));
    assert_ptr_equal(t, unset);
    packwright_type_free(NULL);
}

static void array_constructors_name_the_argument(void **state)
{
    const int64_t sizes[] = {4, 4}, parts[] = {2, 2}, starts[] = {0, 3}, two[] = {2, 2}, none[] = {-1, -1};
    const int64_t zero[] = {2, 0};
    packwright_distribution block[] = {PACKWRIGHT_DISTRIBUTE_BLOCK, PACKWRIGHT_DISTRIBUTE_BLOCK};
    packwright_distribution whole[] = {PACKWRIGHT_DISTRIBUTE_BLOCK, PACKWRIGHT_DISTRIBUTE_NONE};
    packwright_distribution odd[] = {PACKWRIGHT_DISTRIBUTE_BLOCK, (packwright_distribution)3};
    const int64_t short_blocks[] = {-1, 1};
    packwright_type *t = NULL;

    (void)state;
    REFUSED(packwright_subarray(0, sizes, parts, starts, PACKWRIGHT_ORDER_C, cell, &t), INVALID, "ndims is 0");
    REFUSED(packwright_subarray(2, sizes, parts, starts, (packwright_order)2, cell, &t), INVALID, "order is 2");
    REFUSED(packwright_subarray(2, NULL, parts, starts, PACKWRIGHT_ORDER_C, cell, &t), INVALID, "sizes is NULL");
    REFUSED(packwright_subarray(2, sizes, none, starts, PACKWRIGHT_ORDER_C, cell, &t), INVALID, "subsizes[0] is -1");
    REFUSED(packwright_subarray(2, sizes, parts, starts, PACKWRIGHT_ORDER_C, cell, &t), INVALID, "dimension 1");
    REFUSED(packwright_darray(4, 4, 2, sizes, block, none, two, PACKWRIGHT_ORDER_C, cell, &t), INVALID, "rank is 4");
    REFUSED(packwright_darray(5, 0, 2, sizes, block, none, two, PACKWRIGHT_ORDER_C, cell, &t), INVALID, "size is 5");
    REFUSED(packwright_darray(4, 0, 2, zero, block, none, two, PACKWRIGHT_ORDER_C, cell, &t), INVALID,
            "gsizes[1] is 0");
    REFUSED(packwright_darray(4, 0, 2, sizes, block, none, zero, PACKWRIGHT_ORDER_C, cell, &t), INVALID,
            "psizes[1] is 0");
    REFUSED(packwright_darray(4, 0, 2, sizes, NULL, none, two, PACKWRIGHT_ORDER_C, cell, &t), INVALID,
            "distributions is NULL");
    REFUSED(packwright_darray(4, 0, 2, sizes, block, NULL, two, PACKWRIGHT_ORDER_C, cell, &t), INVALID,
            "arguments is NULL");
    REFUSED(packwright_darray(4, 0, 2, sizes, odd, none, two, PACKWRIGHT_ORDER_C, cell, &t), INVALID,
            "distributions[1] is 3");
    REFUSED(packwright_darray(4, 0, 2, sizes, whole, none, two, PACKWRIGHT_ORDER_C, cell, &t), INVALID,
            "distributions[1] is NONE");
    REFUSED(packwright_darray(4, 0, 2, sizes, block, short_blocks, two, PACKWRIGHT_ORDER_C, cell, &t), INVALID,
            "arguments[1] is 1");
    assert_null(t);
}

static void moves_name_the_argument(void **state)
{
    double from[4] = {1, 2, 3, 4}, to[4] = {0};
    packwright_iov iov[2];
    int64_t filled = 77;
    packwright_statistics statistics = {.size = 0};

    (void)state;
    REFUSED(packwright_pack(NULL, from, 1, to), INVALID, "type is NULL");
    REFUSED(packwright_pack(cell, from, -1, to), INVALID, "count is -1");
    REFUSED(packwright_pack(cell, from, 1, NULL), INVALID, "packed is NULL");
    REFUSED(packwright_pack(cell, from, INT64_MAX / 4, to), OVERFLOW, "count, ");
    OK(packwright_pack(cell, from, 0, NULL));
    OK(packwright_pack(cell, from, 4, to)); /* there is a layout now: the same answers */
    memset(to, 0, sizeof to);
    REFUSED(packwright_pack(cell, from, -1, to), INVALID, "count is -1");
    REFUSED(packwright_unpack(cell, from, 1, NULL), INVALID, "packed is NULL");
    REFUSED(packwright_unpack(cell, from, INT64_MAX / 4, to), OVERFLOW, "count, ");
    REFUSED(packwright_pack_range(cell, from, 4, -1, 3, to), INVALID, "first");
    REFUSED(packwright_pack_range(cell, from, 4, 3, 2, to), INVALID, "first");
    REFUSED(packwright_pack_range(cell, from, 4, 3, 33, to), TRUNCATED, "last is 33");
    REFUSED(packwright_unpack_range(cell, from, 4, 3, 33, to), TRUNCATED, "last is 33");
    REFUSED(packwright_unpack_range(cell, from, 4, 3, 30, NULL), INVALID, "packed is NULL");
    REFUSED(packwright_iovs(cell, from, 4, -1, 2, iov, &filled), INVALID, "offset is -1");
    REFUSED(packwright_iovs(cell, from, 4, 0, -2, iov, &filled), INVALID, "max is -2");
    REFUSED(packwright_iovs(cell, from, 4, 0, 2, NULL, &filled), INVALID, "iov is NULL");
    REFUSED(packwright_iovs(cell, from, 4, 0, 2, iov, NULL), INVALID, "filled is NULL");
    assert_int_equal(filled, 77);
    REFUSED(packwright_copy(NULL, from, 1, cell, to, 1), INVALID, "from_type is NULL");
    REFUSED(packwright_copy(cell, from, 1, NULL, to, 1), INVALID, "to_type is NULL");
    REFUSED(packwright_copy(cell, from, -1, cell, to, 1), INVALID, "from_count is -1");
    REFUSED(packwright_copy(cell, from, 1, cell, to, -1), INVALID, "to_count is -1");
    REFUSED(packwright_copy(cell, from, 3, cell, to, 2), INVALID, "24 bytes");
    REFUSED(packwright_type_statistics(cell, &statistics), INVALID, "out.size");
    REFUSED(packwright_hash(NULL, NULL), INVALID, "type is NULL");
    for (int i = 0; i < 4; i++)
        assert_true(to[i] == 0);
}

static void texts_say_where(void **state)
{
    packwright_type *t = NULL;
    int64_t extent;
    char *text;

    (void)state;
    REFUSED(packwright_from_ddt("vec(3 2 4)[duble]", &t), INVALID, "line 1, column 12");
    REFUSED(packwright_from_ddt("", &t), INVALID, "no type");
    REFUSED(packwright_from_ddt("ctg(2)[int]\nctg(3)[int]", &t), INVALID, "2 types");
    REFUSED(packwright_from_ddt("\n  ctg(2:1:5)[int]", &t), INVALID, "line 2, column 3: ranges make this 4 types");
    REFUSED(packwright_from_ddt_named("row = ctg(2)[int]\nface = ctg(3)[row]", "fase", &t), INVALID,
            "no type is named 'fase' (did you mean 'face'?)");
    REFUSED(packwright_from_ddt(NULL, &t), INVALID, "text is NULL");
    REFUSED(packwright_from_ddt("int", NULL), INVALID, "out is NULL");
    REFUSED(packwright_from_ir("type(lb 0, extent 8) {\n  bytes x\n}", &t), INVALID, "line 2");
    REFUSED(packwright_text_of(cell, (packwright_text)5, &text), INVALID, "form is 5");
    assert_null(t);
    OK(packwright_from_ddt_named("row = ctg(2)[int]\nface = vec(3 1 2)[row]", "face", &t));
    assert_int_equal(packwright_size(t), 24);
    packwright_extent(t, NULL, &extent);
    assert_int_equal(extent, 40);
    packwright_type_free(t);
    OK(packwright_from_ddt("row = ctg(2)[int]", &t));
    assert_int_equal(packwright_size(t), 8);
    packwright_type_free(t);
}

/* ---- types --------------------------------------------------------------------------------------------- */

static void check_extent(packwright_type *t, int64_t lb, int64_t extent, int64_t true_lb, int64_t true_extent)
{
    int64_t got[4];

    packwright_extent(t, &got[0], &got[1]);
    packwright_true_extent(t, &got[2], &got[3]);
    assert_int_equal(got[0], lb);
    assert_int_equal(got[1], extent);
    assert_int_equal(got[2], true_lb);
    assert_int_equal(got[3], true_extent);
    packwright_type_free(t);
}

/* Expected values by MPI 4.0 sections 5.1.6 to 5.1.8. */
static void empty_lists_may_be_null(void **state)
{
    packwright_type *types[5];

    (void)state;
    OK(packwright_indexed(0, NULL, NULL, cell, &types[0]));
    OK(packwright_hindexed(0, NULL, NULL, cell, &types[1]));
    OK(packwright_indexed_block(0, 3, NULL, cell, &types[2]));
    OK(packwright_hindexed_block(0, 3, NULL, cell, &types[3]));
    OK(packwright_struct(0, NULL, NULL, NULL, &types[4]));
    for (int i = 0; i < 5; i++) {
        assert_int_equal(packwright_size(types[i]), 0);
        packwright_type_free(types[i]);
    }
}

static void extents_are_those_of_the_standard(void **state)
{
    const int64_t lengths[] = {1, 3}, at[] = {0, 8}, starts[] = {1, 1}, sizes[] = {3, 4}, parts[] = {2, 2};
    packwright_type *t, *u, *byte, *olds[2];

    (void)state;
    OK(packwright_bytes(1, 1, &byte));
    olds[0] = cell;
    olds[1] = byte;
    OK(packwright_vector(3, 2, -5, cell, &t));
    check_extent(t, -80, 96, -80, 96);
    OK(packwright_struct(2, lengths, at, olds, &t));
    check_extent(t, 0, 16, 0, 11);
    OK(packwright_resized(-3, 40, cell, &u));
    OK(packwright_contiguous(2, u, &t));
    check_extent(t, -3, 80, 0, 48);
    packwright_type_free(u);
    OK(packwright_subarray(2, sizes, parts, starts, PACKWRIGHT_ORDER_C, cell, &t));
    check_extent(t, 0, 96, 40, 48);
    OK(packwright_contiguous(0, cell, &t));
    check_extent(t, 0, 0, 0, 0);
    packwright_type_free(byte);
}

static void check_same(packwright_type *a, packwright_type *b, bool same)
{
    uint64_t x[2], y[2];

    OK(packwright_hash(a, x));
    OK(packwright_hash(b, y));
    assert_int_equal(!memcmp(x, y, sizeof x), same);
    if (same)
        assert_int_equal(packwright_blocks(a), packwright_blocks(b));
}

static void equal_types_have_one_hash(void **state)
{
    const int64_t sizes[] = {10, 8}, parts[] = {10, 2}, starts[] = {0, 0};
    int64_t lengths[10], at[10], bytes[10];
    packwright_type *vector, *subarray, *indexed, *blocks, *made, *text, *resized, *other, *olds[10];

    (void)state;
    for (int64_t i = 0; i < 10; i++) {
        lengths[i] = 2;
        at[i] = 8 * i;
        bytes[i] = 64 * i;
        olds[i] = cell;
    }
    OK(packwright_subarray(2, sizes, parts, starts, PACKWRIGHT_ORDER_C, cell, &subarray));
    OK(packwright_vector(10, 2, 8, cell, &vector));
    OK(packwright_resized(0, 640, vector, &resized));
    packwright_type_free(vector);
    OK(packwright_indexed(10, lengths, at, cell, &vector));
    OK(packwright_resized(0, 640, vector, &indexed));
    packwright_type_free(vector);
    OK(packwright_hindexed_block(10, 2, bytes, cell, &vector));
    OK(packwright_resized(0, 640, vector, &blocks));
    packwright_type_free(vector);
    OK(packwright_struct(10, lengths, bytes, olds, &vector));
    OK(packwright_resized(0, 640, vector, &made));
    packwright_type_free(vector);
    OK(packwright_from_ddt("resized(0 640)[vec(10 2 8)[double]]", &text));
    OK(packwright_resized(0, 648, subarray, &other));
    check_same(subarray, resized, true);
    check_same(subarray, indexed, true);
    check_same(subarray, blocks, true);
    check_same(subarray, made, true);
    check_same(subarray, text, true);
    check_same(subarray, other, false);
    assert_int_equal(packwright_blocks(subarray), 10);
    packwright_type_free(other);
    packwright_type_free(text);
    packwright_type_free(made);
    packwright_type_free(blocks);
    packwright_type_free(indexed);
    packwright_type_free(resized);
    packwright_type_free(subarray);
}

/* A type made from others lives on when these are freed, and a reference keeps it. */
static void types_hold_what_they_need(void **state)
{
    packwright_type *t, *next, *same;
    double from[64], to[8];

    (void)state;
    for (int i = 0; i < 64; i++)
        from[i] = i;
    OK(packwright_vector(4, 1, 2, cell, &t));
    OK(packwright_hvector(2, 1, 256, t, &next));
    packwright_type_free(t);
    same = packwright_dup(next);
    packwright_type_free(next);
    OK(packwright_pack(same, from, 1, to));
    for (int i = 0; i < 8; i++)
        assert_true(to[i] == i / 4 * 32 + i % 4 * 2);
    packwright_type_free(same);
}

static size_t in_use(void)
{
    return mallinfo2().uordblks;
}

/* Each constructor adds what it brings; nothing grows with the number of blocks, nor do derived types repeat what they
 * are made of. */
static void metadata_is_small(void **state)
{
    enum { DEPTH = 30, LIST = 10000, SHARED = 100 };
    packwright_type *t = packwright_dup(cell), *next, *all[SHARED];
    int64_t *at = malloc(LIST * sizeof *at);
    size_t before = in_use();

    (void)state;
    for (int i = 0; i < DEPTH; i++) {
        OK(packwright_hvector(2, 1 + i % 2, 17 + i, t, &next));
        packwright_type_free(t);
        t = next;
    }
    if (in_use() > 0) /* sanitizers count nothing */
        assert_in_range(in_use() - before, 0, DEPTH * 1024);
    packwright_type_free(t);
    for (int64_t i = 0; i < LIST; i++)
        at[i] = i * i;
    OK(packwright_hindexed_block(LIST, 1, at, cell, &t));
    before = in_use();
    for (int i = 0; i < SHARED; i++)
        OK(packwright_contiguous(2 + i, t, &all[i]));
    if (in_use() > 0)
        assert_in_range(in_use() - before, 0, SHARED * 1024);
    for (int i = 0; i < SHARED; i++)
        packwright_type_free(all[i]);
    packwright_type_free(t);
    free(at);
}

static void too_deep_is_refused(void **state)
{
    packwright_type *t = packwright_dup(cell), *next = NULL;
    packwright_status status = PACKWRIGHT_OK;
    int depth = 0;

    (void)state;
    while (depth < 10000 && (status = packwright_hvector(2, 1, 24, t, &next)) == PACKWRIGHT_OK) {
        packwright_type_free(t);
        t = next;
        depth++;
    }
    assert_true(status == PACKWRIGHT_ERR_OVERFLOW || status == PACKWRIGHT_ERR_UNSUPPORTED);
    packwright_type_free(t);
    /* Constructors that add no node may be as many as one likes. */
    t = packwright_dup(cell);
    for (int i = 0; i < 100000; i++) {
        OK(packwright_resized(0, 16 + i % 3, t, &next));
        packwright_type_free(t);
        t = next;
    }
    packwright_type_free(t);
}

/* Blocks far inside a type are found at once: were they walked to, this test would not end. */
static void blocks_are_found_at_once(void **state)
{
    const int64_t far = INT64_C(1) << 40;
    packwright_type *t, *u;
    packwright_iov iov[2];
    int64_t filled;

    (void)state;
    OK(packwright_hvector(far, 1, 16, cell, &t));
    OK(packwright_hvector(1000, 1, 24 * far, t, &u));
    OK(packwright_iovs(u, NULL, 1, 999 * far + far - 1, 2, iov, &filled));
    assert_int_equal(filled, 1);
    assert_int_equal((uintptr_t)iov[0].base, 999 * 24 * far + (far - 1) * 16);
    assert_int_equal(iov[0].length, 8);
    packwright_type_free(u);
    packwright_type_free(t);
}

/* Memory objects at absolute addresses: the buffer is NULL. */
static void absolute_addresses(void **state)
{
    double a = 3, b = 5, packed[2] = {0};
    const int64_t at[] = {(int64_t)(uintptr_t)&a, (int64_t)(uintptr_t)&b};
    packwright_type *t;

    (void)state;
    OK(packwright_hindexed_block(2, 1, at, cell, &t));
    OK(packwright_pack(t, NULL, 1, packed));
    assert_true(packed[0] == 3 && packed[1] == 5);
    packed[0] = 7;
    OK(packwright_unpack_range(t, NULL, 1, 0, 8, packed));
    assert_true(a == 7 && b == 5);
    packwright_type_free(t);
}

/* ---- the process --------------------------------------------------------------------------------------- */

/* Two columns of a matrix overlap the third and fourth by one row. They are enough to be moved in tiles. */
static void of_overlapping_objects_the_last_wins(void **state)
{
    enum { SIDE = 128, ROW = 2 * SIDE, OBJECTS = 4, CELLS = OBJECTS * SIDE * SIDE };
    static double packed[2 * CELLS], got[2 * ROW * (SIDE + 2)], right[2 * ROW * (SIDE + 2)];
    packwright_type *type;

    (void)state;
    OK(packwright_from_ddt("ctg(128)[resized(0 16)[vec(128 1 256)[ctg(2)[double]]]]", &type));
    assert_int_equal(packwright_size(type) * OBJECTS, sizeof packed);
    for (int i = 0; i < 2 * CELLS; i++)
        packed[i] = 1 + i;
    for (int i = 0; i < CELLS; i++) {
        int row = i % SIDE, column = i / SIDE, cell_at = row * ROW + column;

        memcpy(&right[2 * (size_t)cell_at], &packed[2 * (size_t)i], 2 * sizeof(double));
    }
    OK(packwright_unpack(type, got, OBJECTS, packed));
    assert_memory_equal(got, right, sizeof got);
    packwright_type_free(type);
}

static void the_process_is_left_as_it_was(void **state)
{
    packwright_type *t;
    double from[40] = {0}, to[10];
    char *text;
    struct sigaction before[32], after;

    (void)state;
    for (int s = 1; s < 32; s++)
        sigaction(s, NULL, &before[s]);
    /* Where there is such a locale numbers have a comma; text has not. */
    if (!setlocale(LC_ALL, "de_DE.UTF-8"))
        setlocale(LC_ALL, "C.UTF-8");
    errno = 1234;
    OK(packwright_from_ddt("vec(10 1 4)[double]", &t));
    OK(packwright_pack(t, from, 1, to));
    OK(packwright_text_of(t, PACKWRIGHT_TEXT_DDT, &text));
    assert_int_equal(errno, 1234);
    setlocale(LC_ALL, "C");
    free(text);
    packwright_type_free(t);
    for (int s = 1; s < 32; s++) {
        sigaction(s, NULL, &after);
        assert_ptr_equal(after.sa_handler, before[s].sa_handler);
    }
}

static void statuses_have_texts(void **state)
{
    (void)state;
    for (int i = PACKWRIGHT_OK; i <= PACKWRIGHT_ERR_DEVICE; i++)
        assert_string_not_equal(packwright_status_text((packwright_status)i), "unknown status");
    assert_string_equal(packwright_status_text((packwright_status)99), "unknown status");
    assert_string_equal(packwright_version(), PW_EXPECTED_VERSION);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constructors_name_the_argument),
        cmocka_unit_test(array_constructors_name_the_argument),
        cmocka_unit_test(moves_name_the_argument),
        cmocka_unit_test(texts_say_where),
        cmocka_unit_test(empty_lists_may_be_null),
        cmocka_unit_test(extents_are_those_of_the_standard),
        cmocka_unit_test(equal_types_have_one_hash),
        cmocka_unit_test(types_hold_what_they_need),
        cmocka_unit_test(metadata_is_small),
        cmocka_unit_test(too_deep_is_refused),
        cmocka_unit_test(blocks_are_found_at_once),
        cmocka_unit_test(absolute_addresses),
        cmocka_unit_test(of_overlapping_objects_the_last_wins),
        cmocka_unit_test(the_process_is_left_as_it_was),
        cmocka_unit_test(statuses_have_texts),
    };

    return cmocka_run_group_tests(tests, make_cell, free_cell);
}
