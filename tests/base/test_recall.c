/* Unit test of base/recall: what is remembered holds for its key, its place, its counts and its epoch. */
#include "base/recall.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

enum { KEY = 0x4c000405, PLACE = 1 << PW_RECALL_REGION };

static pw_recall table[1 << PW_RECALL_BITS];
static char *const buffer = (char *)(uintptr_t)(7 * PLACE + 60);

/* Messages of 3 and 4 objects whose lowest byte lies 40 bytes behind the buffer's address. */
static void remember(uint64_t key)
{
    pw_recall call = {.key = key, .from = pw_recall_from(buffer, 40), .least = 3, .more = 1, .epoch = pw_epoch_now()};

    pw_recall_keep(table, call, buffer);
}

static void test_like(void **state)
{
    (void)state;
    remember(KEY);
    assert_true(pw_recall_find(table, KEY, buffer, 3));
    assert_true(pw_recall_find(table, KEY, buffer, 4));
    assert_false(pw_recall_find(table, KEY, buffer, 2));
    assert_false(pw_recall_find(table, KEY, buffer, 5));
    assert_false(pw_recall_find(table, KEY, buffer, 0));
    assert_false(pw_recall_find(table, KEY, buffer, -3));
    assert_false(pw_recall_find(table, KEY + 1, buffer, 3));
    assert_true(pw_recall_find(table, KEY, buffer - 60, 3));
    assert_true(pw_recall_find(table, KEY, buffer - 101 + PLACE, 3));
    assert_false(pw_recall_find(table, KEY, buffer - 100 + PLACE, 3));
}

/* Two calls share a pair of places; a third one takes that of the second one. */
static void test_pairs(void **state)
{
    uint64_t keys[3] = {KEY};

    (void)state;
    for (int i = 1; i < 3; i++)
        for (keys[i] = keys[i - 1] + 1; pw_recall_pair(table, keys[i], buffer) != pw_recall_pair(table, KEY, buffer);)
            keys[i]++;
    remember(KEY);
    remember(keys[1]);
    remember(KEY);
    assert_true(pw_recall_find(table, KEY, buffer, 3));
    assert_true(pw_recall_find(table, keys[1], buffer, 3));
    remember(keys[2]);
    assert_true(pw_recall_find(table, KEY, buffer, 3));
    assert_true(pw_recall_find(table, keys[2], buffer, 3));
    assert_false(pw_recall_find(table, keys[1], buffer, 3));
}

static void test_ends(void **state)
{
    (void)state;
    remember(KEY);
    assert_true(pw_recall_find(table, KEY, buffer, 3));
    pw_epoch_end();
    assert_false(pw_recall_find(table, KEY, buffer, 3));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_like), cmocka_unit_test(test_pairs),
                                       cmocka_unit_test(test_ends)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
