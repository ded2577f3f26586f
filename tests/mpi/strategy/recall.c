/* What the short way remembers: found again for the same arguments, and for no others; gone when anything changes. */
#include "runtime/mpi/collective/recall.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { REGION = 1 << PW_MEMORY_REGION_SHIFT, SORT = 1 };

/* Never looked at, but for their addresses. */
static char *const memory = (char *)((uintptr_t)1 << 40);

static bool recalls(MPI_Datatype type, const void *buf, int64_t count)
{
    return pw_recalls(SORT, type, buf, count);
}

static void note(MPI_Datatype type, const char *buf, int64_t count, int64_t lowest, int left)
{
    pw_recall_note(SORT, type, buf, count, false, buf + lowest, pw_generation_now(), left);
}

/* ---- messages --------------------------------------------------------------------------------------------------- */

static void a_message_is_found_by_its_arguments(void **state)
{
    (void)state;
    assert_false(recalls(MPI_INT, memory, 3));
    note(MPI_INT, memory, 3, 0, 100);
    assert_true(recalls(MPI_INT, memory, 3));
    assert_true(recalls(MPI_INT, memory + REGION - 1, 3));
    assert_false(recalls(MPI_INT, memory + REGION, 3));
    assert_false(recalls(MPI_INT, memory - 1, 3));
    assert_false(recalls(MPI_INT, memory, 4));
    assert_false(recalls(MPI_INT, memory, 3 + (INT64_C(1) << 32)));
    assert_false(recalls(MPI_FLOAT, memory, 3));
    assert_false(pw_recalls(!SORT, MPI_INT, memory, 3));
}

/* The answer is one for the region of the lowest byte, not for that of the buffer's address. */
static void the_lowest_byte_decides(void **state)
{
    (void)state;
    note(MPI_INT, memory, 1, 4096, 100);
    assert_true(recalls(MPI_INT, memory + REGION - 4097, 1));
    assert_false(recalls(MPI_INT, memory + REGION - 4096, 1));
    note(MPI_INT, memory, 1, -4096, 100);
    assert_true(recalls(MPI_INT, memory + 4095, 1));
    assert_false(recalls(MPI_INT, memory + 4096, 1));
}

static void counts_may_not_matter(void **state)
{
    (void)state;
    pw_recall_note(SORT, MPI_INT, memory, 7, true, memory, pw_generation_now(), 100);
    assert_true(recalls(MPI_INT, memory, 7));
    assert_true(recalls(MPI_INT, memory, 1 << 30));
    assert_false(recalls(MPI_FLOAT, memory, 7));
    note(MPI_INT, memory, 7, 0, 100);
    assert_false(recalls(MPI_INT, memory, 1 << 30));
}

static void uses_run_out(void **state)
{
    (void)state;
    note(MPI_INT, memory, 5, 0, 3);
    for (int use = 0; use < 3; use++)
        assert_true(recalls(MPI_INT, memory, 5));
    assert_false(recalls(MPI_INT, memory, 5));
    assert_false(recalls(MPI_INT, memory, 5));
    note(MPI_INT, memory, 5, 0, 0);
    assert_false(recalls(MPI_INT, memory, 5));
}

static void what_changes_is_forgotten(void **state)
{
    uint64_t before = pw_generation_now();

    (void)state;
    note(MPI_INT, memory, 6, 0, 100);
    pw_generation_begin();
    assert_false(recalls(MPI_INT, memory, 6));
    /* Sought while something changed. */
    pw_recall_note(SORT, MPI_INT, memory, 6, false, memory, before, 100);
    assert_false(recalls(MPI_INT, memory, 6));
}

/* Counts that do not fit are not remembered as others. */
static void large_counts_are_left_out(void **state)
{
    (void)state;
    note(MPI_INT, memory, INT64_C(1) << 32, 0, 100);
    assert_false(recalls(MPI_INT, memory, 0));
    assert_false(recalls(MPI_INT, memory, INT64_C(1) << 32));
}

/* ---- collectives ------------------------------------------------------------------------------------------------ */

static void keep(pw_recall_id id, const pw_sides *s, int blocks)
{
    pw_recall_call(id, s, MPI_COMM_SELF, blocks, blocks, pw_generation_now(), 10000);
}

static void every_argument_of_a_collective_counts(void **state)
{
    const pw_sides s = {.send = pw_side_same(PW_SIDE_EQUAL, memory, 2, MPI_INT),
                        .recv = pw_side_same(PW_SIDE_ONE, memory + 64, 3, MPI_FLOAT),
                        .root = 1};
    pw_sides others[] = {s, s, s, s, s, s, s};

    (void)state;
    others[0].send.buf = memory + 8;
    others[1].send.count++;
    others[2].send.type = MPI_CHAR;
    others[3].recv.buf = memory + 8;
    others[4].recv.count++;
    others[5].recv.type = MPI_CHAR;
    others[6].root++;
    keep(PW_RECALL_Scatter, &s, 4);
    assert_true(pw_recalls_call(PW_RECALL_Scatter, &s, MPI_COMM_SELF));
    assert_false(pw_recalls_call(PW_RECALL_Gather, &s, MPI_COMM_SELF));
    assert_false(pw_recalls_call(PW_RECALL_Scatter, &s, MPI_COMM_WORLD));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(pw_recalls_call(PW_RECALL_Scatter, &others[i], MPI_COMM_SELF));
    assert_true(pw_recalls_call(PW_RECALL_Scatter, &s, MPI_COMM_SELF));
    pw_recall_drop_call(PW_RECALL_Scatter, &s);
    assert_false(pw_recalls_call(PW_RECALL_Scatter, &s, MPI_COMM_SELF));
    keep(PW_RECALL_Scatter, &s, 4);
    pw_generation_begin();
    assert_false(pw_recalls_call(PW_RECALL_Scatter, &s, MPI_COMM_SELF));
}

typedef struct lists {
    int counts[PW_RECALL_BLOCKS + 1];
    MPI_Aint displs[PW_RECALL_BLOCKS + 1];
    MPI_Datatype types[PW_RECALL_BLOCKS + 1];
} lists;

static lists some_lists(void)
{
    lists l;

    for (int i = 0; i <= PW_RECALL_BLOCKS; i++) {
        l.counts[i] = i + 1;
        l.displs[i] = 100 * i;
        l.types[i] = i % 2 ? MPI_INT : MPI_FLOAT;
    }
    return l;
}

static pw_sides sides_of(const lists *send, const lists *recv)
{
    return (pw_sides){
        .send = pw_side_typed(memory, (pw_counts){send->counts, false}, (pw_displs){send->displs, true}, send->types),
        .recv = pw_side_typed(memory, (pw_counts){recv->counts, false}, (pw_displs){recv->displs, true}, recv->types)};
}

static bool recalls_lists(const pw_sides *s)
{
    return pw_recalls_call(PW_RECALL_Neighbor_alltoallw, s, MPI_COMM_SELF);
}

/* By what is in them, as far as it mattered. */
static void lists_are_compared_by_content(void **state)
{
    enum { BLOCKS = 5 };
    lists mine[2] = {some_lists(), some_lists()}, copies[2] = {mine[0], mine[1]};
    pw_sides s = sides_of(&mine[0], &mine[1]), same = sides_of(&copies[0], &copies[1]);

    (void)state;
    keep(PW_RECALL_Neighbor_alltoallw, &s, BLOCKS);
    for (int side = 0; side < 2; side++)
        for (int i = 0; i <= PW_RECALL_BLOCKS; i++) {
            lists kept = copies[side];

            assert_true(recalls_lists(&same));
            copies[side].counts[i] += 7;
            assert_int_equal(recalls_lists(&same), i >= BLOCKS);
            copies[side] = kept;
            copies[side].displs[i] += INT64_C(1) << 33;
            assert_int_equal(recalls_lists(&same), i >= BLOCKS);
            copies[side] = kept;
            copies[side].types[i] = MPI_CHAR;
            assert_int_equal(recalls_lists(&same), i >= BLOCKS);
            copies[side] = kept;
        }
}

static void missing_lists_are_not_looked_at(void **state)
{
    lists l = some_lists();
    pw_sides s = sides_of(&l, &l), missing = s;

    (void)state;
    keep(PW_RECALL_Neighbor_alltoallw, &s, 2);
    missing.recv.counts.at = NULL;
    assert_false(recalls_lists(&missing));
    missing = s;
    missing.send.types = NULL;
    assert_false(recalls_lists(&missing));
    missing = s;
    missing.send.displs.at = NULL;
    assert_false(recalls_lists(&missing));
    assert_true(recalls_lists(&s));
}

static void what_has_no_place_is_left_out(void **state)
{
    lists l = some_lists();
    pw_sides s = sides_of(&l, &l), wide = s;

    (void)state;
    pw_generation_begin();
    keep(PW_RECALL_Neighbor_alltoallw, &s, PW_RECALL_BLOCKS + 1);
    assert_false(recalls_lists(&s));
    keep(PW_RECALL_Neighbor_alltoallw, &s, PW_RECALL_BLOCKS);
    assert_true(recalls_lists(&s));
    wide.send.counts.wide = true;
    assert_false(recalls_lists(&wide));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_message_is_found_by_its_arguments),
        cmocka_unit_test(the_lowest_byte_decides),
        cmocka_unit_test(counts_may_not_matter),
        cmocka_unit_test(uses_run_out),
        cmocka_unit_test(what_changes_is_forgotten),
        cmocka_unit_test(large_counts_are_left_out),
        cmocka_unit_test(every_argument_of_a_collective_counts),
        cmocka_unit_test(lists_are_compared_by_content),
        cmocka_unit_test(missing_lists_are_not_looked_at),
        cmocka_unit_test(what_has_no_place_is_left_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
