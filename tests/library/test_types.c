/*
 * Random types by every constructor, against their typemaps written out: facts, pack, unpack, ranges, lists of blocks,
 * copies from type to type, and texts that read back. Buffers lie among bytes that must not change.
 *
 * usage: test_library_types [first seed [seeds]]
 */
#include "random_types.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { GUARD = 64, IOVS = 7 };

static uint64_t first_seed = 1;
static int seeds = 300;

/* ---- buffers ------------------------------------------------------------------------------------------- */

/* What objects touch, with guards around it; `origin` is the address of the first object. */
typedef struct memory {
    unsigned char *all, *origin;
    size_t bytes;
} memory;

static memory make_memory(pw_rng *rng, int64_t lo, int64_t hi)
{
    memory m = {.bytes = (size_t)(hi - lo) + 2 * GUARD};

    m.all = malloc(m.bytes);
    assert_non_null(m.all);
    m.origin = (unsigned char *)((uintptr_t)m.all + GUARD - (uintptr_t)lo);
    pw_rng_fill(rng, m.all, m.bytes);
    return m;
}

static memory copy_of(const memory *m)
{
    memory c = {.all = malloc(m->bytes), .bytes = m->bytes};

    assert_non_null(c.all);
    memcpy(c.all, m->all, m->bytes);
    c.origin = (unsigned char *)((uintptr_t)c.all + ((uintptr_t)m->origin - (uintptr_t)m->all));
    return c;
}

/* One type with objects of it: memory, and what it packs to. */
typedef struct subject {
    random_type t;
    int64_t count, bytes, extent;
    memory memory;
    unsigned char *packed;
    bool overlaps;
} subject;

static subject make_subject(pw_rng *rng)
{
    subject s = {.t = random_type_make(rng), .count = pw_rng_range(rng, 0, 4)};
    int64_t lo, hi;

    s.extent = random_type_extent(&s.t);
    s.bytes = s.count * s.t.map.size;
    random_type_span(&s.t, s.count, &lo, &hi);
    s.memory = make_memory(rng, lo, hi);
    s.packed = malloc((size_t)s.bytes + 1);
    assert_non_null(s.packed);
    pw_naive_pack(&s.t.map, s.extent, s.count, s.memory.origin, s.packed);
    s.overlaps = s.count > 0 && pw_naive_overlaps(&s.t.map, s.extent, s.count);
    return s;
}

static void free_subject(subject *s)
{
    random_type_free(&s->t);
    free(s->memory.all);
    free(s->packed);
}

/* ---- what is compared ---------------------------------------------------------------------------------- */

static void check_facts(const subject *s)
{
    int64_t lb, extent;

    assert_int_equal(packwright_size(s->t.type), s->t.map.size);
    packwright_true_extent(s->t.type, &lb, &extent);
    assert_int_equal(lb, s->t.map.lo);
    assert_int_equal(extent, s->t.map.hi - s->t.map.lo);
    assert_true(packwright_blocks(s->t.type) >= s->t.map.n);
}

static void check_pack(const subject *s, const packwright_type *type, int64_t first, int64_t last, bool whole)
{
    size_t n = (size_t)(last - first);
    unsigned char *out = malloc(n + 2 * GUARD);
    unsigned char guard[GUARD];

    memset(guard, 0xa5, sizeof guard);
    memset(out, 0xa5, n + 2 * GUARD);
    if (whole)
        assert_int_equal(packwright_pack(type, s->memory.origin, s->count, out + GUARD), PACKWRIGHT_OK);
    else
        assert_int_equal(packwright_pack_range(type, s->memory.origin, s->count, first, last, out + GUARD),
                         PACKWRIGHT_OK);
    assert_memory_equal(out, guard, GUARD);
    assert_memory_equal(out + GUARD, s->packed + first, n);
    assert_memory_equal(out + GUARD + n, guard, GUARD);
    free(out);
}

static void check_unpack(pw_rng *rng, const subject *s, int64_t first, int64_t last, bool whole)
{
    memory got, expected;
    unsigned char *in = malloc((size_t)(last - first) + 1);

    pw_rng_fill(rng, s->memory.all, s->memory.bytes);
    got = copy_of(&s->memory);
    expected = copy_of(&s->memory);
    pw_rng_fill(rng, in, (size_t)(last - first));
    pw_naive_unpack_range(&s->t.map, s->extent, s->count, first, last, expected.origin, in);
    if (whole)
        assert_int_equal(packwright_unpack(s->t.type, got.origin, s->count, in), PACKWRIGHT_OK);
    else
        assert_int_equal(packwright_unpack_range(s->t.type, got.origin, s->count, first, last, in), PACKWRIGHT_OK);
    assert_memory_equal(got.all, expected.all, got.bytes);
    free(in);
    free(got.all);
    free(expected.all);
}

/* All blocks in windows of IOVS entries: the bytes that they name are the packed ones, and they are as many as the
 * type says unless objects adjoin. */
static void check_iovs(const subject *s)
{
    packwright_iov iov[IOVS + 1];
    int64_t at = 0, blocks = 0, n, once;

    do {
        memset(iov, 0, sizeof iov);
        assert_int_equal(packwright_iovs(s->t.type, s->memory.origin, s->count, blocks, IOVS, iov, &n), PACKWRIGHT_OK);
        assert_in_range(n, 0, IOVS);
        assert_null(iov[n].base);
        for (int64_t i = 0; i < n; i++) {
            assert_true(iov[i].length > 0 && at + (int64_t)iov[i].length <= s->bytes);
            assert_memory_equal(iov[i].base, s->packed + at, iov[i].length);
            at += (int64_t)iov[i].length;
        }
        blocks += n;
    } while (n == IOVS);
    assert_int_equal(at, s->bytes);
    once = packwright_blocks(s->t.type);
    assert_true(blocks == s->count * once || (once == 1 && blocks == 1));
    /* From any block on. */
    if (blocks > 1) {
        packwright_iov alone;

        assert_int_equal(packwright_iovs(s->t.type, s->memory.origin, s->count, blocks - 1, 1, &alone, &n),
                         PACKWRIGHT_OK);
        assert_int_equal(n, 1);
        assert_memory_equal(alone.base, s->packed + s->bytes - (int64_t)alone.length, alone.length);
    }
}

static void check_text(const subject *s, packwright_text form)
{
    packwright_type *again = NULL;
    uint64_t hash[2], other[2];
    char *text;
    int64_t extent;

    assert_int_equal(packwright_text_of(s->t.type, form, &text), PACKWRIGHT_OK);
    assert_int_equal(form == PACKWRIGHT_TEXT_DDT ? packwright_from_ddt(text, &again) : packwright_from_ir(text, &again),
                     PACKWRIGHT_OK);
    packwright_extent(again, NULL, &extent);
    assert_int_equal(extent, s->extent);
    assert_int_equal(packwright_hash(s->t.type, hash), PACKWRIGHT_OK);
    assert_int_equal(packwright_hash(again, other), PACKWRIGHT_OK);
    assert_memory_equal(hash, other, sizeof hash);
    check_pack(s, again, 0, s->bytes, true);
    packwright_type_free(again);
    free(text);
}

/* To objects of another type with as many bytes: of the same number of bytes as they come, and each a block of its
 * own. */
static void check_copy(pw_rng *rng, const subject *s)
{
    packwright_type *byte, *spread;
    memory got, expected;

    if (s->bytes == 0)
        return;
    assert_int_equal(packwright_bytes(1, 1, &byte), PACKWRIGHT_OK);
    assert_int_equal(packwright_hvector(s->bytes, 1, 3, byte, &spread), PACKWRIGHT_OK);
    got = make_memory(rng, 0, 3 * s->bytes);
    expected = copy_of(&got);
    for (int64_t i = 0; i < s->bytes; i++)
        expected.origin[3 * i] = s->packed[i];
    assert_int_equal(packwright_copy(s->t.type, s->memory.origin, s->count, spread, got.origin, 1), PACKWRIGHT_OK);
    assert_memory_equal(got.all, expected.all, got.bytes);
    memcpy(expected.origin, s->packed, (size_t)s->bytes);
    memcpy(got.all, expected.all, got.bytes);
    memset(got.origin, 0, (size_t)s->bytes);
    assert_int_equal(packwright_copy(s->t.type, s->memory.origin, s->count, byte, got.origin, s->bytes), PACKWRIGHT_OK);
    assert_memory_equal(got.all, expected.all, got.bytes);
    free(got.all);
    free(expected.all);
    packwright_type_free(spread);
    packwright_type_free(byte);
}

/* To every other byte of a wide row, in groups of 12: nothing of it is dense, so nothing is packed. */
static void check_copy_between(pw_rng *rng, const subject *s)
{
    packwright_type *byte, *group, *unlike;
    int64_t n = s->bytes / 12;
    memory got, expected;

    if (n == 0 || s->bytes % 12)
        return;
    assert_int_equal(packwright_bytes(1, 1, &byte), PACKWRIGHT_OK);
    assert_int_equal(packwright_hvector(12, 1, 2, byte, &group), PACKWRIGHT_OK);
    assert_int_equal(packwright_resized(0, 29, group, &unlike), PACKWRIGHT_OK);
    got = make_memory(rng, 0, 29 * n);
    expected = copy_of(&got);
    for (int64_t i = 0; i < s->bytes; i++)
        expected.origin[i / 12 * 29 + i % 12 * 2] = s->packed[i];
    assert_int_equal(packwright_copy(s->t.type, s->memory.origin, s->count, unlike, got.origin, n), PACKWRIGHT_OK);
    assert_memory_equal(got.all, expected.all, got.bytes);
    if (!s->overlaps) {
        memory back = copy_of(&s->memory);

        memset(back.all, 0, back.bytes);
        assert_int_equal(packwright_copy(unlike, got.origin, n, s->t.type, back.origin, s->count), PACKWRIGHT_OK);
        free(expected.all);
        expected = copy_of(&back);
        memset(expected.all, 0, expected.bytes);
        pw_naive_unpack_range(&s->t.map, s->extent, s->count, 0, s->bytes, expected.origin, s->packed);
        assert_memory_equal(back.all, expected.all, back.bytes);
        free(back.all);
    }
    free(got.all);
    free(expected.all);
    packwright_type_free(unlike);
    packwright_type_free(group);
    packwright_type_free(byte);
}

static void check_copy_back(pw_rng *rng, const subject *s)
{
    packwright_type *byte;
    memory got, expected;
    unsigned char *in = malloc((size_t)s->bytes + 1);

    pw_rng_fill(rng, in, (size_t)s->bytes);
    got = copy_of(&s->memory);
    expected = copy_of(&s->memory);
    pw_naive_unpack_range(&s->t.map, s->extent, s->count, 0, s->bytes, expected.origin, in);
    assert_int_equal(packwright_bytes(1, 1, &byte), PACKWRIGHT_OK);
    assert_int_equal(packwright_copy(byte, in, s->bytes, s->t.type, got.origin, s->count), PACKWRIGHT_OK);
    assert_memory_equal(got.all, expected.all, got.bytes);
    packwright_type_free(byte);
    free(got.all);
    free(expected.all);
    free(in);
}

static uint32_t check_seed(uint64_t seed)
{
    pw_rng rng = {seed};
    subject s = make_subject(&rng);
    uint32_t used = s.t.used;

    check_facts(&s);
    check_pack(&s, s.t.type, 0, s.bytes, true);
    check_iovs(&s);
    check_text(&s, PACKWRIGHT_TEXT_DDT);
    check_text(&s, PACKWRIGHT_TEXT_IR);
    check_copy(&rng, &s);
    check_copy_between(&rng, &s);
    for (int i = 0; i < 4; i++) {
        int64_t a = pw_rng_range(&rng, 0, s.bytes), b = pw_rng_range(&rng, a, s.bytes);

        check_pack(&s, s.t.type, a, b, false);
    }
    if (!s.overlaps) {
        int64_t a = pw_rng_range(&rng, 0, s.bytes), b = pw_rng_range(&rng, a, s.bytes);

        check_unpack(&rng, &s, 0, s.bytes, true);
        check_unpack(&rng, &s, a, b, false);
        check_copy_back(&rng, &s);
    }
    free_subject(&s);
    return used;
}

/* A failure ends the process inside the seed that is named here. */
static void random_types_do_as_their_typemaps_say(void **state)
{
    uint32_t used = 0;

    (void)state;
    for (int i = 0; i < seeds; i++) {
        fprintf(stderr, "\rseed %llu", (unsigned long long)(first_seed + (uint64_t)i));
        used |= check_seed(first_seed + (uint64_t)i);
    }
    fprintf(stderr, "\n");
    if (seeds >= 100)
        assert_int_equal(used, (1U << RANDOM_CONSTRUCTOR_COUNT) - 1);
}

/* ---- large ones, which come in several pieces ----------------------------------------------------------- */

static void large_copies_between_unlike_types(void **state)
{
    enum { N = 300, BYTES = N * N * 8 };
    packwright_type *cell, *row, *column, *columns, *element, *odd;
    double *from = malloc(BYTES), *to = malloc(BYTES);
    char *third = malloc(BYTES / 24 * 29);

    (void)state;
    for (int i = 0; i < N * N; i++)
        from[i] = i;
    assert_int_equal(packwright_bytes(8, 8, &cell), PACKWRIGHT_OK);
    assert_int_equal(packwright_contiguous(N, cell, &row), PACKWRIGHT_OK);
    assert_int_equal(packwright_vector(N, 1, N, cell, &column), PACKWRIGHT_OK);
    assert_int_equal(packwright_resized(0, 8, column, &columns), PACKWRIGHT_OK);
    /* A transpose: N columns to the elements in order, by way of padded elements of 24 bytes. */
    assert_int_equal(packwright_bytes(24, 8, &element), PACKWRIGHT_OK);
    assert_int_equal(packwright_resized(0, 29, element, &odd), PACKWRIGHT_OK);
    assert_int_equal(packwright_copy(columns, from, N, odd, third, BYTES / 24), PACKWRIGHT_OK);
    assert_int_equal(packwright_copy(odd, third, BYTES / 24, row, to, N), PACKWRIGHT_OK);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            assert_true(to[i * N + j] == from[j * N + i]);
    /* And back, with both sides strided and objects larger than a piece. */
    memset(to, 0, BYTES);
    assert_int_equal(packwright_copy(odd, third, BYTES / 24, columns, to, N), PACKWRIGHT_OK);
    assert_memory_equal(to, from, BYTES);
    packwright_type_free(cell);
    packwright_type_free(row);
    packwright_type_free(column);
    packwright_type_free(columns);
    packwright_type_free(element);
    packwright_type_free(odd);
    free(from);
    free(to);
    free(third);
}

/* ---- types that the compiler leaves alone -------------------------------------------------------------- */

/* More loops than a nest has, over more blocks than are written out: 2^26 bytes, each a block of its own. */
static void types_with_too_many_loops(void **state)
{
    enum { LOOPS = 26, WINDOW = 5000, WINDOWS = 20 };
    packwright_type *t, *next;
    int64_t strides[LOOPS], lo, span, total = INT64_C(1) << LOOPS;
    unsigned char *all, *packed = malloc(WINDOW);
    pw_rng rng = {4};

    (void)state;
    assert_int_equal(packwright_bytes(1, 1, &t), PACKWRIGHT_OK);
    for (int k = 0; k < LOOPS; k++) {
        strides[k] = (INT64_C(1) << k) + k % 3 + 1;
        assert_int_equal(packwright_hvector(2, 1, strides[k], t, &next), PACKWRIGHT_OK);
        packwright_type_free(t);
        t = next;
    }
    packwright_true_extent(t, &lo, &span);
    all = malloc((size_t)span);
    pw_rng_fill(&rng, all, (size_t)span);
    for (int w = 0; w < WINDOWS; w++) {
        int64_t first = w ? pw_rng_range(&rng, 0, total - WINDOW) : total - WINDOW;

        assert_int_equal(packwright_pack_range(t, all, 1, first, first + WINDOW, packed), PACKWRIGHT_OK);
        for (int64_t i = first; i < first + WINDOW; i++) {
            int64_t at = 0;

            for (int k = 0; k < LOOPS; k++)
                at += (i >> k & 1) * strides[k];
            assert_int_equal(packed[i - first], all[at]);
        }
    }
    free(all);
    free(packed);
    packwright_type_free(t);
}

/* Objects farther apart than the passes reckon with. */
static void extents_beyond_the_passes(void **state)
{
    packwright_type *cell, *t;
    packwright_iov iov[2];
    double from = 3, to = 0;
    uint64_t hash[2];
    int64_t filled;

    (void)state;
    assert_int_equal(packwright_bytes(8, 8, &cell), PACKWRIGHT_OK);
    assert_int_equal(packwright_resized(0, INT64_C(1) << 62, cell, &t), PACKWRIGHT_OK);
    for (int i = 0; i < 2; i++) {
        to = 0;
        assert_int_equal(packwright_pack(t, &from, 1, &to), PACKWRIGHT_OK);
        assert_true(to == 3);
    }
    from = 4;
    assert_int_equal(packwright_copy(t, &from, 1, cell, &to, 1), PACKWRIGHT_OK);
    assert_true(to == 4);
    assert_int_equal(packwright_iovs(t, NULL, 2, 0, 2, iov, &filled), PACKWRIGHT_OK);
    assert_int_equal(filled, 2);
    assert_int_equal((uintptr_t)iov[1].base, INT64_C(1) << 62);
    assert_int_equal(packwright_hash(t, hash), PACKWRIGHT_ERR_UNSUPPORTED);
    assert_true(*packwright_last_error());
    packwright_type_free(t);
    packwright_type_free(cell);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_types_do_as_their_typemaps_say),
        cmocka_unit_test(large_copies_between_unlike_types),
        cmocka_unit_test(types_with_too_many_loops),
        cmocka_unit_test(extents_beyond_the_passes),
    };

    if (argc > 1)
        first_seed = strtoull(argv[1], NULL, 10);
    if (argc > 2)
        seeds = atoi(argv[2]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
