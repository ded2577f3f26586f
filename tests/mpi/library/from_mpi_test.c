/*
 * packwright_from_mpi: random types over all combiners have the size and the bounds that MPI says, pack to the bytes of
 * the typemap and of MPI_Pack, and unpack from them.
 */
#include "tests/support/random_mpi.h"

#include <packwright/packwright-mpi.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { TYPES = 400, ROOM = 1 << 18 };

static void expect_facts(const pw_random_mpi *t, const packwright_type *type)
{
    int64_t lb, extent, true_lb, true_extent;
    MPI_Count mpi_lb, mpi_extent;

    packwright_extent(type, &lb, &extent);
    packwright_true_extent(type, &true_lb, &true_extent);
    MPI_Type_get_extent_x(t->type, &mpi_lb, &mpi_extent);
    assert_int_equal(packwright_size(type), t->map.size);
    assert_int_equal(lb, mpi_lb);
    assert_int_equal(extent, mpi_extent);
    if (t->map.size > 0) {
        assert_int_equal(true_lb, t->map.lo);
        assert_int_equal(true_extent, t->map.hi - t->map.lo);
    }
}

/* Returns whether this MPI packs the type in typemap order (tests/mpi/random/subjects.c has the reasons). */
static bool is_packed_right(const pw_random_mpi *t)
{
#ifdef OPEN_MPI
    return !t->hollow && !t->creeping;
#else
    return !t->hollow && !t->backwards;
#endif
}

/* Copies the bytes that an MPI may leave alone from `ours`. */
static void copy_padding(const pw_random_mpi *t, int64_t count, unsigned char *to, const unsigned char *ours)
{
    int64_t at = 0;

    for (int64_t i = 0; i < count; i++)
        for (int64_t k = 0; k < t->map.n; k++) {
            const pw_naive_entry *e = &t->map.entries[k];

            at += e->bytes;
            memcpy(to + at - e->padding, ours + at - e->padding, (size_t)e->padding);
        }
}

typedef struct buffers {
    unsigned char memory[ROOM], restored[ROOM], expected[ROOM], packed[ROOM], mpi_packed[ROOM + 64];
} buffers;

static void expect_packed_by_mpi(buffers *b, const pw_random_mpi *t, int64_t count, const unsigned char *memory)
{
    int position = 0;

    assert_int_equal(
        MPI_Pack(memory, (int)count, t->type, b->mpi_packed, sizeof b->mpi_packed, &position, MPI_COMM_SELF),
        MPI_SUCCESS);
    assert_int_equal(position, count * t->map.size);
    copy_padding(t, count, b->mpi_packed, b->packed);
    assert_memory_equal(b->packed, b->mpi_packed, (size_t)position);
}

static void expect_moves(buffers *b, pw_rng *rng, const pw_random_mpi *t, const packwright_type *type, int64_t count)
{
    int64_t lo, hi, size = count * t->map.size;

    pw_naive_span(&t->map, t->extent, count, &lo, &hi);
    if (hi - lo > ROOM || size > ROOM)
        return;
    pw_rng_fill(rng, b->memory, (size_t)(hi - lo));
    pw_naive_pack(&t->map, t->extent, count, b->memory - lo, b->expected);
    assert_int_equal(packwright_pack(type, b->memory - lo, count, b->packed), PACKWRIGHT_OK);
    assert_memory_equal(b->packed, b->expected, (size_t)size);

    if (is_packed_right(t))
        expect_packed_by_mpi(b, t, count, b->memory - lo);
    if (pw_naive_overlaps(&t->map, t->extent, count))
        return;
    pw_rng_fill(rng, b->restored, (size_t)(hi - lo));
    memcpy(b->memory, b->restored, (size_t)(hi - lo));
    pw_naive_unpack_range(&t->map, t->extent, count, 0, size, b->memory - lo, b->packed);
    assert_int_equal(packwright_unpack(type, b->restored - lo, count, b->packed), PACKWRIGHT_OK);
    assert_memory_equal(b->restored, b->memory, (size_t)(hi - lo));
}

static void random_types(void **state)
{
    pw_random_mpi_limits limits = {.depth = 4, .max_entries = 2000, .max_span = ROOM / 4};
    buffers *b = malloc(sizeof *b);

    (void)state;
    assert_non_null(b);
    for (uint64_t seed = 0; seed < TYPES; seed++) {
        pw_rng rng = {seed * 0x2545f4914f6cdd1du};
        pw_random_mpi t;
        packwright_type *type = NULL;

        pw_random_mpi_create(&rng, &limits, &t);
        if (packwright_from_mpi(t.type, &type) != PACKWRIGHT_OK)
            fail_msg("seed %d: %s: %s", (int)seed, t.text, packwright_last_error());
        expect_facts(&t, type);
        expect_moves(b, &rng, &t, type, 1);
        expect_moves(b, &rng, &t, type, 3);
        packwright_type_free(type);
        pw_random_mpi_free(&t);
    }
    free(b);
}

/* The type lives on after the datatype is freed, and the datatype need not be committed. */
static void outlives_the_datatype(void **state)
{
    const int64_t expected[] = {0, 2, 4};
    int64_t numbers[6] = {0, 1, 2, 3, 4, 5}, packed[3];
    MPI_Datatype vector;
    packwright_type *type;

    (void)state;
    MPI_Type_vector(3, 1, 2, MPI_INT64_T, &vector);
    assert_int_equal(packwright_from_mpi(vector, &type), PACKWRIGHT_OK);
    MPI_Type_free(&vector);
    assert_int_equal(packwright_pack(type, numbers, 1, packed), PACKWRIGHT_OK);
    assert_memory_equal(packed, expected, sizeof expected);
    packwright_type_free(type);
}

/* Nested structs of equal members have 2^LEVELS paths to their elements, and LEVELS nodes. Open MPI lists the elements
 * itself when such a type is made. */
static void equal_members_are_made_once(void **state)
{
#ifdef OPEN_MPI
    enum { LEVELS = 12 };
#else
    enum { LEVELS = 30 };
#endif
    int lengths[2] = {1, 1};
    MPI_Aint places[2] = {0, 0};
    MPI_Datatype inner = MPI_BYTE;
    packwright_type *type;

    (void)state;
    for (int level = 0; level < LEVELS; level++) {
        MPI_Datatype outer, both[2] = {inner, inner};

        places[1] = (MPI_Aint)3 << level;
        MPI_Type_create_struct(2, lengths, places, both, &outer);
        if (level > 0)
            MPI_Type_free(&inner);
        inner = outer;
    }
    assert_int_equal(packwright_from_mpi(inner, &type), PACKWRIGHT_OK);
    assert_int_equal(packwright_size(type), (int64_t)1 << LEVELS);
    packwright_type_free(type);
    MPI_Type_free(&inner);
}

static void failures_are_described(void **state)
{
    packwright_type *type = (packwright_type *)&state;

    assert_int_equal(packwright_from_mpi(MPI_DATATYPE_NULL, &type), PACKWRIGHT_ERR_INVALID);
    assert_non_null(strstr(packwright_last_error(), "MPI_DATATYPE_NULL"));
    assert_ptr_equal(type, &state);
    assert_int_equal(packwright_from_mpi(MPI_INT, NULL), PACKWRIGHT_ERR_INVALID);
    assert_non_null(strstr(packwright_last_error(), "out"));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_types),
        cmocka_unit_test(outlives_the_datatype),
        cmocka_unit_test(equal_members_are_made_once),
        cmocka_unit_test(failures_are_described),
    };
    int failed;

    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    MPI_Finalize();
    return failed;
}
