/* When a type is noted at its commit, and what ends that. What fleeting.c asks others for is answered here. */
#include "runtime/fleeting.h"

#include "runtime/layout/layout.h"
#include "runtime/memory.h"
#include "runtime/strategy/fragile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { MANY = 200 };

static bool forced, fragile, on_host;
static MPI_Count size;
static char buffer[8];

_Atomic pw_memory_world pw_memory_now;
_Thread_local uintptr_t pw_memory_seen[PW_MEMORY_SEEN];

pw_memory_place pw_memory_look(const void *address)
{
    if (on_host)
        *pw_memory_slot(pw_memory_region(address)) = pw_memory_region(address) + 1;
    return (pw_memory_place){.kind = on_host ? PW_PLACE_HOST : PW_PLACE_DEVICE};
}

bool pw_strategy_is_forced(void)
{
    return forced;
}

bool pw_layout_use_is_told(void)
{
    return false;
}

bool pw_fragile_is_staged(void)
{
    return fragile;
}

int PMPI_Type_size_x(MPI_Datatype type, MPI_Count *bytes)
{
    (void)type;
    *bytes = size;
    return MPI_SUCCESS;
}

/* ---- what programs do -------------------------------------------------------------------------------------------- */

static MPI_Datatype handle(uint64_t key)
{
    MPI_Datatype type;

    memcpy(&type, &key, sizeof type);
    return type;
}

/* Noted? */
static bool commit(MPI_Datatype type)
{
    bool noted = pw_fleeting_note(type);

    if (!noted)
        pw_fleeting_born(type);
    return noted;
}

static bool uses(MPI_Datatype type)
{
    return pw_fleeting_stays(type, buffer, 1);
}

/* Types come and go until one is noted; how many. */
static int many_die_young(void)
{
    int n = 0;

    while (n < MANY && !commit(handle(1))) {
        assert_false(pw_fleeting_freed(handle(1)));
        n++;
    }
    assert_true(pw_fleeting_freed(handle(1)));
    return n;
}

/* Nothing is noted and no type has died. */
static int begin(void **state)
{
    (void)state;
    forced = fragile = false;
    on_host = true;
    size = 100;
    memset(pw_memory_seen, 0, sizeof pw_memory_seen);
    atomic_store(&pw_memory_now, PW_MEMORY_HOST_ONLY);
    pw_fleeting_start();
    pw_fleeting_close();
    for (uint64_t i = 0; i < MANY; i++)
        pw_fleeting_born(handle(i + 1));
    pw_fleeting_close();
    return 0;
}

/* The same, but types are noted, and one is. */
static int begin_noting(void **state)
{
    begin(state);
    many_die_young();
    return !commit(handle(2));
}

/* ---- the tests --------------------------------------------------------------------------------------------------- */

static void types_are_noted_once_many_have_died_young(void **state)
{
    (void)state;
    assert_in_range(many_die_young(), 8, MANY - 1);
    assert_true(commit(handle(2)));
    assert_false(pw_fleeting_stays(handle(3), buffer, 1));
    assert_true(pw_fleeting_stays(handle(2), buffer, 1));
}

static void some_short_messages_stay(void **state)
{
    int n = 0;

    (void)state;
    while (n < MANY && uses(handle(2)))
        n++;
    assert_int_equal(n, PW_FLEETING_USES - 1);
    assert_true(pw_fleeting_take(handle(2)));
    assert_false(pw_fleeting_take(handle(2)));
    assert_false(pw_fleeting_freed(handle(2)));
}

/* The handle is another type's, which has its own uses. */
static void a_note_ends_with_its_type(void **state)
{
    (void)state;
    many_die_young();
    for (int type = 0; type < 3; type++) {
        assert_true(commit(handle(2)));
        for (int n = 1; n < PW_FLEETING_USES; n++)
            assert_true(uses(handle(2)));
        assert_true(pw_fleeting_freed(handle(2)));
        assert_false(uses(handle(2)));
        assert_false(pw_fleeting_take(handle(2)));
    }
}

static void long_messages_do_not_stay(void **state)
{
    (void)state;
    size = PW_FLEETING_BYTES;
    assert_true(uses(handle(2)));
    size++;
    assert_false(uses(handle(2)));
    size = 8;
    assert_true(pw_fleeting_stays(handle(2), buffer, PW_FLEETING_BYTES / 8));
    assert_false(pw_fleeting_stays(handle(2), buffer, PW_FLEETING_BYTES / 8 + 1));
    size = INT64_MAX;
    assert_false(pw_fleeting_stays(handle(2), buffer, PW_FLEETING_BYTES));
}

/* A message of a new type of `size` bytes. Is its type learned? */
static bool learns(bool to_be_staged)
{
    bool stays;

    assert_true(commit(handle(2)));
    stays = uses(handle(2));
    if (!stays)
        pw_fleeting_decided(to_be_staged);
    assert_true(pw_fleeting_freed(handle(2)));
    return !stays;
}

static int many_learn(bool to_be_staged)
{
    int n = 0;

    while (n < MANY && learns(to_be_staged))
        n++;
    return n;
}

static void long_messages_stay_once_learning_was_in_vain(void **state)
{
    int learned = 0;

    (void)state;
    many_die_young();
    size = 4 * PW_FLEETING_BYTES;
    assert_int_equal(many_learn(false), PW_FLEETING_IN_VAIN);
    for (int i = 0; i < 10 * PW_FLEETING_AGAIN; i++)
        learned += learns(false);
    assert_int_equal(learned, 10);
    size = 16 * PW_FLEETING_BYTES; /* another story */
    assert_true(learns(false));
    size = 64 << 20;
    assert_int_equal(many_learn(false), MANY);
}

static void one_that_is_staged_is_enough(void **state)
{
    (void)state;
    many_die_young();
    size = 4 * PW_FLEETING_BYTES;
    assert_int_equal(many_learn(true), MANY);
    many_learn(false);
    for (int i = 0; i < PW_FLEETING_AGAIN; i++)
        if (learns(true))
            break;
    assert_int_equal(many_learn(true), MANY);
    /* Messages of types that were known are no news. */
    many_learn(false);
    pw_fleeting_decided(true);
    assert_false(learns(false));
}

/* Those that are noted and used again, and those that were never noted. */
static void types_that_stay_alive_end_it(void **state)
{
    uint64_t key = 2;

    (void)state;
    many_die_young();
    while (key < MANY && commit(handle(key))) {
        for (int n = 0; n < PW_FLEETING_USES; n++)
            uses(handle(key));
        assert_true(pw_fleeting_take(handle(key++)));
    }
    assert_in_range(key, 3, MANY - 1);
    many_die_young();
    for (key = 0; key < MANY; key++)
        pw_fleeting_born(handle(MANY + key));
    assert_false(commit(handle(2)));
}

/* Of two types with one place, the second is learned. */
static void notes_do_not_drive_each_other_out(void **state)
{
    int refused = 0;

    (void)state;
    many_die_young();
    for (uint64_t key = 1; key <= MANY; key++)
        refused += !pw_fleeting_note(handle(key));
    assert_in_range(refused, 1, MANY - 1);
    for (uint64_t key = 1; key <= MANY; key++)
        refused -= !uses(handle(key));
    assert_int_equal(refused, 0);
}

static void a_gpu_ends_it(void **state)
{
    (void)state;
    on_host = false;
    assert_false(uses(handle(2)));
    on_host = true;
    atomic_store(&pw_memory_now, PW_MEMORY_ASK_CUDA);
    assert_false(uses(handle(2)));
    assert_false(commit(handle(3)));
    assert_true(pw_fleeting_take(handle(2)));
}

static void assert_nothing_is_noted(void)
{
    pw_fleeting_start();
    for (int i = 0; i < MANY; i++) {
        assert_false(commit(handle(1)));
        assert_false(pw_fleeting_freed(handle(1)));
    }
}

static void nothing_is_noted_with_a_forced_strategy(void **state)
{
    (void)state;
    forced = true;
    assert_nothing_is_noted();
}

static void nothing_is_noted_where_messages_must_be_staged(void **state)
{
    (void)state;
    fragile = true;
    assert_nothing_is_noted();
}

static void an_invalid_handle_is_not_noted(void **state)
{
    (void)state;
    many_die_young();
    assert_false(uses(handle(0)));
    assert_false(pw_fleeting_take(handle(0)));
    assert_false(pw_fleeting_freed(handle(0)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(types_are_noted_once_many_have_died_young, begin),
        cmocka_unit_test_setup(some_short_messages_stay, begin_noting),
        cmocka_unit_test_setup(a_note_ends_with_its_type, begin),
        cmocka_unit_test_setup(long_messages_do_not_stay, begin_noting),
        cmocka_unit_test_setup(long_messages_stay_once_learning_was_in_vain, begin),
        cmocka_unit_test_setup(one_that_is_staged_is_enough, begin),
        cmocka_unit_test_setup(nothing_is_noted_where_messages_must_be_staged, begin),
        cmocka_unit_test_setup(types_that_stay_alive_end_it, begin),
        cmocka_unit_test_setup(notes_do_not_drive_each_other_out, begin),
        cmocka_unit_test_setup(a_gpu_ends_it, begin_noting),
        cmocka_unit_test_setup(nothing_is_noted_with_a_forced_strategy, begin),
        cmocka_unit_test_setup(an_invalid_handle_is_not_noted, begin),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
