/*
 * Moves with the buffer and the packed bytes in memory of every kind, for random types, against the typemap, with guard
 * bytes around both; and their order behind the caller's stream.
 *
 * usage: test_library_device <driver, or -> [types [first-seed]]. Exits 77, for "skipped", without a GPU.
 */
#include "random_types.h"
#include "tests/mpi/gpu/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SKIPPED = 77, GUARD = 64, ROOM = 1 << 20, COUNT = 2 };

static int types = 60;
static uint64_t first_seed = 1;
static gpu_memory users[GPU_KINDS], packs[GPU_KINDS];
static unsigned char user_image[ROOM], packed_image[ROOM], seen[ROOM];

/* ---- every pair of kinds ------------------------------------------------------------------------------- */

static void set(pw_rng *rng, const gpu_memory *m, unsigned char *image, int64_t bytes)
{
    pw_rng_fill(rng, image, (size_t)bytes);
    gpu_write(m, 0, image, (size_t)bytes);
}

static void same(const gpu_memory *m, const unsigned char *image, int64_t bytes)
{
    gpu_read(m, 0, seen, (size_t)bytes);
    assert_memory_equal(seen, image, (size_t)bytes);
}

typedef struct subject {
    random_type t;
    int64_t lo, span, size;
    bool overlaps;
} subject;

static unsigned char *origin(const subject *s, unsigned char *at)
{
    return (unsigned char *)((uintptr_t)at + GUARD - (uintptr_t)s->lo);
}

static void check_pack(pw_rng *rng, const subject *s, const gpu_memory *user, const gpu_memory *packed, void *stream)
{
    set(rng, user, user_image, s->span);
    set(rng, packed, packed_image, s->size + 2 * GUARD);
    pw_naive_pack(&s->t.map, random_type_extent(&s->t), COUNT, origin(s, user_image), packed_image + GUARD);
    assert_int_equal(packwright_pack_stream(s->t.type, origin(s, user->at), COUNT, packed->at + GUARD, stream),
                     PACKWRIGHT_OK);
    same(packed, packed_image, s->size + 2 * GUARD);
    same(user, user_image, s->span);
}

static void check_unpack(pw_rng *rng, const subject *s, const gpu_memory *user, const gpu_memory *packed, void *stream)
{
    set(rng, user, user_image, s->span);
    set(rng, packed, packed_image, s->size + 2 * GUARD);
    pw_naive_unpack_range(&s->t.map, random_type_extent(&s->t), COUNT, 0, s->size, origin(s, user_image),
                          packed_image + GUARD);
    assert_int_equal(packwright_unpack_stream(s->t.type, origin(s, user->at), COUNT, packed->at + GUARD, stream),
                     PACKWRIGHT_OK);
    same(user, user_image, s->span);
}

static void check_seed(uint64_t seed, void *stream)
{
    pw_rng rng = {seed};
    subject s = {.t = random_type_make(&rng)};
    int64_t hi;

    random_type_span(&s.t, COUNT, &s.lo, &hi);
    s.span = hi - s.lo + 2 * GUARD;
    s.size = COUNT * s.t.map.size;
    s.overlaps = pw_naive_overlaps(&s.t.map, random_type_extent(&s.t), COUNT);
    for (int a = 0; a < GPU_KINDS && s.span <= ROOM && s.size + 2 * GUARD <= ROOM; a++)
        for (int b = 0; b < GPU_KINDS; b++) {
            check_pack(&rng, &s, &users[a], &packs[b], seed % 2 ? stream : NULL);
            if (!s.overlaps)
                check_unpack(&rng, &s, &users[a], &packs[b], seed % 2 ? stream : NULL);
        }
    random_type_free(&s.t);
}

static void *make_stream(void)
{
    int (*create)(void **, unsigned) = (int (*)(void **, unsigned))gpu_symbol("cuStreamCreate");
    void *stream;

    assert_int_equal(create(&stream, 1), 0);
    return stream;
}

static void memory_of_every_kind(void **state)
{
    void *stream = make_stream();

    (void)state;
    for (int i = 0; i < types; i++)
        check_seed(first_seed + (uint64_t)i, stream);
    gpu_report();
}

/* ---- copies -------------------------------------------------------------------------------------------- */

enum { MOST_BLOCKS = 4096 };

/* Blocks of bytes with gaps, in order, that are as long together as what they take. */
typedef struct blocks {
    int64_t n, offs[MOST_BLOCKS], lens[MOST_BLOCKS], span;
    packwright_type *type;
} blocks;

/* Returns false if that would be too many. */
static bool make_blocks(pw_rng *rng, int64_t bytes, blocks *b)
{
    int64_t unit = bytes % 8 == 0 ? 8 : 1, most = bytes / unit / 8 + 1;
    packwright_type *byte;

    b->n = b->span = 0;
    while (bytes > 0 && b->n < MOST_BLOCKS) {
        int64_t len = unit * pw_rng_range(rng, 1, most);

        b->lens[b->n] = len < bytes ? len : bytes;
        b->offs[b->n] = b->span;
        bytes -= b->lens[b->n];
        b->span += b->lens[b->n++] + unit * pw_rng_range(rng, 1, 9);
    }
    if (bytes > 0 || b->span + 2 * GUARD > ROOM)
        return false;
    assert_int_equal(packwright_bytes(1, 1, &byte), PACKWRIGHT_OK);
    assert_int_equal(packwright_hindexed(b->n, b->lens, b->offs, byte, &b->type), PACKWRIGHT_OK);
    packwright_type_free(byte);
    return true;
}

/* Copies from COUNT objects of a random type to one of blocks, or back. */
static void check_copy(pw_rng *rng, const subject *s, const blocks *b, const gpu_memory *user, const gpu_memory *other,
                       bool back, void *stream)
{
    unsigned char *at = packed_image + GUARD, *packed = seen;

    set(rng, user, user_image, s->span);
    set(rng, other, packed_image, b->span + 2 * GUARD);
    if (back) {
        for (int64_t i = 0; i < b->n; packed += b->lens[i++])
            memcpy(packed, at + b->offs[i], (size_t)b->lens[i]);
        pw_naive_unpack_range(&s->t.map, random_type_extent(&s->t), COUNT, 0, s->size, origin(s, user_image), seen);
        assert_int_equal(
            packwright_copy_stream(b->type, other->at + GUARD, 1, s->t.type, origin(s, user->at), COUNT, stream),
            PACKWRIGHT_OK);
    } else {
        pw_naive_pack(&s->t.map, random_type_extent(&s->t), COUNT, origin(s, user_image), seen);
        for (int64_t i = 0; i < b->n; packed += b->lens[i++])
            memcpy(at + b->offs[i], packed, (size_t)b->lens[i]);
        assert_int_equal(
            packwright_copy_stream(s->t.type, origin(s, user->at), COUNT, b->type, other->at + GUARD, 1, stream),
            PACKWRIGHT_OK);
    }
    same(user, user_image, s->span);
    same(other, packed_image, b->span + 2 * GUARD);
}

static void copies_between_memory_of_every_kind(void **state)
{
    static blocks b;
    void *stream = make_stream();

    (void)state;
    for (int i = 0; i < types; i++) {
        pw_rng rng = {first_seed + (uint64_t)i};
        subject s = {.t = random_type_make(&rng)};
        int64_t hi;

        random_type_span(&s.t, COUNT, &s.lo, &hi);
        s.span = hi - s.lo + 2 * GUARD;
        s.size = COUNT * s.t.map.size;
        s.overlaps = pw_naive_overlaps(&s.t.map, random_type_extent(&s.t), COUNT);
        if (s.span <= ROOM && s.size > 0 && make_blocks(&rng, s.size, &b)) {
            for (int k = 0; k < GPU_KINDS * GPU_KINDS; k++)
                for (int back = 0; back < 2 - s.overlaps; back++)
                    check_copy(&rng, &s, &b, &users[k / GPU_KINDS], &packs[k % GPU_KINDS], back, i % 2 ? stream : NULL);
            packwright_type_free(b.type);
        }
        random_type_free(&s.t);
    }
}

/* Within one buffer, to every other place from those between: what may overlap goes through a buffer. */
static void copies_within_a_buffer_are_right(void **state)
{
    enum { N = 1000 };
    static int image[2 * N + 1], got[2 * N + 1];
    packwright_type *integer, *every_other;
    const gpu_memory *m = &users[GPU_DEVICE];

    (void)state;
    for (int i = 0; i < 2 * N + 1; i++)
        image[i] = i;
    gpu_write(m, 0, image, sizeof image);
    assert_int_equal(packwright_bytes(4, 4, &integer), PACKWRIGHT_OK);
    assert_int_equal(packwright_vector(N, 1, 2, integer, &every_other), PACKWRIGHT_OK);
    assert_int_equal(packwright_copy_stream(every_other, m->at, 1, every_other, m->at + sizeof(int), 1, NULL),
                     PACKWRIGHT_OK);
    gpu_read(m, 0, got, sizeof got);
    for (int i = 0; i < 2 * N + 1; i++)
        assert_int_equal(got[i], i % 2 ? i - 1 : i);
    assert_int_equal(packwright_copy_stream(every_other, m->at, 1, integer, m->at, 1, NULL), PACKWRIGHT_ERR_INVALID);
    packwright_type_free(integer);
    packwright_type_free(every_other);
}

/* ---- order --------------------------------------------------------------------------------------------- */

/* What a copy in the stream has yet to bring is packed, from every kind of memory to every kind. */
static void moves_wait_for_the_stream(void **state)
{
    enum { N = 4096, ROUNDS = 20 };
    int (*copy)(uint64_t, uint64_t, size_t, void *) =
        (int (*)(uint64_t, uint64_t, size_t, void *))gpu_symbol("cuMemcpyAsync");
    gpu_memory from = gpu_memory_make(GPU_PINNED, N * sizeof(int));
    static const gpu_kind kinds[] = {GPU_DEVICE, GPU_PINNED};
    packwright_type *integer, *every_other;
    void *stream = make_stream();
    static int got[N / 2];

    (void)state;
    assert_int_equal(packwright_bytes(4, 4, &integer), PACKWRIGHT_OK);
    assert_int_equal(packwright_vector(N / 2, 1, 2, integer, &every_other), PACKWRIGHT_OK);
    for (int round = 0; round < ROUNDS; round++) {
        const gpu_memory *user = &users[kinds[round % 2]], *packed = &packs[kinds[round / 2 % 2]];

        for (int i = 0; i < N; i++)
            ((int *)(void *)from.at)[i] = round * N + i;
        for (int i = 0; i < 8; i++)
            assert_int_equal(copy((uint64_t)(uintptr_t)user->at, (uint64_t)(uintptr_t)from.at, N * sizeof(int), stream),
                             0);
        assert_int_equal(packwright_pack_stream(every_other, user->at, 1, packed->at, stream), PACKWRIGHT_OK);
        gpu_read(packed, 0, got, sizeof got);
        for (int i = 0; i < N / 2; i++)
            assert_int_equal(got[i], round * N + 2 * i);
    }
    packwright_type_free(integer);
    packwright_type_free(every_other);
}

/* ---- failures ------------------------------------------------------------------------------------------ */

static void failures_of_the_driver_are_reported(void **state)
{
    void (*break_it)(const char *, int, int);
    packwright_type *integer, *every_other;
    void *stream = make_stream();

    (void)state;
    if (!gpu_is_fake())
        skip();
    break_it = (void (*)(const char *, int, int))gpu_symbol("fake_fail");
    assert_int_equal(packwright_bytes(4, 4, &integer), PACKWRIGHT_OK);
    assert_int_equal(packwright_vector(100, 1, 2, integer, &every_other), PACKWRIGHT_OK);
    break_it("cuStreamSynchronize", 0, 1);
    assert_int_equal(packwright_pack_stream(every_other, users[GPU_DEVICE].at, 1, packs[GPU_DEVICE].at, stream),
                     PACKWRIGHT_ERR_DEVICE);
    assert_non_null(strstr(packwright_last_error(), "CUDA driver"));
    break_it("cuStreamSynchronize", 0, 0);
    assert_int_equal(packwright_pack_stream(every_other, users[GPU_DEVICE].at, 1, packs[GPU_DEVICE].at, stream),
                     PACKWRIGHT_OK);
    packwright_type_free(integer);
    packwright_type_free(every_other);
}

/* A process that uses no GPU: the calls are those without a stream. */
static void host_memory_needs_no_driver(void **state)
{
    packwright_type *integer;
    int from[] = {1, 2, 3}, to[3] = {0};

    (void)state;
    assert_int_equal(packwright_bytes(4, 4, &integer), PACKWRIGHT_OK);
    assert_int_equal(packwright_pack_stream(integer, from, 3, to, NULL), PACKWRIGHT_OK);
    assert_memory_equal(from, to, sizeof from);
    memset(from, 0, sizeof from);
    assert_int_equal(packwright_unpack_stream(integer, from, 3, to, NULL), PACKWRIGHT_OK);
    assert_memory_equal(from, to, sizeof from);
    packwright_type_free(integer);
}

/* A thread of a program with GPUs that has no context has no stream to wait for either. */
static void host_memory_needs_no_context(void **state)
{
    void *context = gpu_current();

    gpu_set_current(NULL);
    host_memory_needs_no_driver(state);
    gpu_set_current(context);
}

static int start(void **state)
{
    (void)state;
    for (int k = 0; k < GPU_KINDS; k++) {
        users[k] = gpu_memory_make((gpu_kind)k, ROOM);
        packs[k] = gpu_memory_make((gpu_kind)k, ROOM);
    }
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest before[] = {cmocka_unit_test(host_memory_needs_no_driver)};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_of_every_kind),
        cmocka_unit_test(copies_between_memory_of_every_kind),
        cmocka_unit_test(copies_within_a_buffer_are_right),
        cmocka_unit_test(moves_wait_for_the_stream),
        cmocka_unit_test(failures_of_the_driver_are_reported),
        cmocka_unit_test(host_memory_needs_no_driver),
        cmocka_unit_test(host_memory_needs_no_context),
    };
    int failed = cmocka_run_group_tests(before, NULL, NULL);

    if (argc > 2)
        types = atoi(argv[2]);
    if (argc > 3)
        first_seed = strtoull(argv[3], NULL, 10);
    if (!gpu_start(argc > 1 && strcmp(argv[1], "-") != 0 ? argv[1] : NULL))
        return failed ? failed : SKIPPED;
    return failed + cmocka_run_group_tests(tests, start, NULL);
}
