/* Unit test of base/recall: what is remembered holds for its key, its place, its sizes and its epoch. */
#include "base/recall.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

enum { KEY = 0x4c000405, PLACE = 1 << PW_RECALL_REGION };

static char *const buffer = (char *)(uintptr_t)(7 * PLACE);

/* Messages of 9 to 16 bytes, of objects of 4 bytes, whose lowest byte lies 40 bytes behind the buffer's address. */
static pw_recall *remember(void)
{
    static pw_recall table[1 << PW_RECALL_BITS];
    pw_recall *at = pw_recall_slot(table, KEY, buffer);

    *at = (pw_recall){
        .key = KEY, .from = pw_recall_from(buffer, 40), .size = 4, .least = 9, .more = 7, .epoch = pw_epoch_now()};
    return at;
}

static void test_like(void **state)
{
    pw_recall *at = remember();

    (void)state;
    assert_true(pw_recall_again(at, KEY, buffer, 3));
    assert_true(pw_recall_again(at, KEY, buffer, 4));
    assert_false(pw_recall_again(at, KEY, buffer, 2));
    assert_false(pw_recall_again(at, KEY, buffer, 5));
    assert_false(pw_recall_again(at, KEY, buffer, 0));
    assert_false(pw_recall_again(at, KEY, buffer, -3));
    assert_false(pw_recall_again(at, KEY + 1, buffer, 3));
    assert_true(pw_recall_again(at, KEY, buffer - 40, 3));
    assert_true(pw_recall_again(at, KEY, buffer - 41 + PLACE, 3));
    assert_false(pw_recall_again(at, KEY, buffer - 41, 3));
    assert_false(pw_recall_again(at, KEY, buffer - 40 + PLACE, 3));
}

static void test_ends(void **state)
{
    pw_recall *at = remember();

    (void)state;
    assert_true(pw_recall_again(at, KEY, buffer, 3));
    pw_epoch_end();
    assert_false(pw_recall_again(at, KEY, buffer, 3));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_like), cmocka_unit_test(test_ends)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
