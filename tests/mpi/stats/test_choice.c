/* What is said to be saved, from what trials have seen. */
#include "tools/report/choice.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void is(pw_stats_saved saved, int64_t ns, int64_t known, int64_t unknown)
{
    assert_int_equal(saved.ns, ns);
    assert_int_equal(saved.known, known);
    assert_int_equal(saved.unknown, unknown);
}

/* Estimates are no measurement, and nothing is said to be saved by them. */
static void without_a_trial(void **state)
{
    pw_stats_saved saved = {0};

    (void)state;
    pw_stats_saved_count(&saved, 1000, 0, 0);
    pw_stats_saved_count(&saved, 500, 8000, 0);
    is(saved, 0, 0, 1500);
}

static void by_trial(void **state)
{
    pw_stats_saved saved = {0}, other = {0};

    (void)state;
    pw_stats_saved_count(&saved, 400, 9000, 6000);
    is(saved, 1200000, 400, 0);
    pw_stats_saved_count(&saved, 400, 6000, 15000); /* packed although a trial has seen it lose */
    is(saved, -2400000, 800, 0);
    pw_stats_saved_count(&other, 100, 0, 6000);
    pw_stats_saved_add(&saved, other);
    is(saved, -2400000, 800, 100);
}

static pw_stats_choice read_site(const char *text)
{
    pw_arena *arena = pw_arena_create();
    pw_data site;
    pw_diag diag;
    pw_stats_choice choice;

    assert_int_equal(pw_json_parse(text, strlen(text), arena, &site, &diag), PW_OK);
    pw_stats_choice_read(&choice, site);
    pw_arena_destroy(arena);
    return choice;
}

/* A site that has tried native and packed knows what its uses saved. */
static void of_a_site(void **state)
{
    pw_stats_choice choice = read_site("{\"ways\": {\"native\": {\"uses\": 30, \"total\": 8000},"
                                       " \"packed\": {\"uses\": 70, \"total\": 4000}}}");

    (void)state;
    assert_int_equal(choice.saved.known, 0);
    assert_int_equal(choice.saved.unknown, 70);
    choice = read_site("{\"ways\": {\"native\": {\"uses\": 30, \"total\": 8000, \"tried\": 9000},"
                       " \"packed\": {\"uses\": 70, \"total\": 4000, \"tried\": 6000}}}");
    assert_int_equal(choice.saved.known, 70);
    assert_int_equal(choice.saved.ns, 70 * 3000);
}

/* A line of a report tells of sites that chose alike: two reads and a write of one size, of which only the reads gain
 * by packing. */
static void what_chose_otherwise_stays_apart(void **state)
{
    pw_stats_choice choices[3];
    pw_stats_list list = {.bytes = sizeof *choices, .at = choices, .n = 3};

    (void)state;
    memset(choices, 0, sizeof choices);
    for (int i = 0; i < 3; i++)
        choices[i].cells[i == 1 ? PW_STRATEGY_NATIVE : PW_STRATEGY_PACKED].uses = 10;
    pw_stats_choice_merge(&list);
    assert_int_equal(list.n, 2);
    assert_int_equal(choices[0].cells[PW_STRATEGY_NATIVE].uses, 10);
    assert_int_equal(choices[0].cells[PW_STRATEGY_PACKED].uses, 0);
    assert_int_equal(choices[1].cells[PW_STRATEGY_PACKED].uses, 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_trial),
        cmocka_unit_test(by_trial),
        cmocka_unit_test(of_a_site),
        cmocka_unit_test(what_chose_otherwise_stays_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
