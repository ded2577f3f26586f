/* What messages are said to have taken and saved, from records of decisions. */
#include "runtime/mpi/stats/choice.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { USES = 1000, NATIVE_NS = 8000, PACKED_NS = 4000 };

/* Messages that were packed, and what a trial saw of both ways. 0: there was no trial. */
static pw_stats_times times_of(double native_tried, double packed_tried)
{
    pw_stats_choice c = {.low = 4096, .high = 8192};
    pw_stats_expected expected = {0};

    c.cells[PW_STRATEGY_NATIVE] =
        (pw_stats_cell){.total = NATIVE_NS, .ranks = 1, .tries = native_tried > 0, .tried = native_tried};
    c.cells[PW_STRATEGY_PACKED] =
        (pw_stats_cell){.uses = USES, .total = PACKED_NS, .ranks = 1, .tries = packed_tried > 0, .tried = packed_tried};
    return pw_stats_choice_times(&c, &expected);
}

static void by_estimate(void **state)
{
    pw_stats_times t = times_of(0, 0);

    (void)state;
    assert_int_equal(t.taken, USES * PACKED_NS / 2);
    assert_int_equal(t.saved, USES * (NATIVE_NS - PACKED_NS) / 2);
    assert_int_equal(t.native, t.taken + t.saved);
}

static void by_trial(void **state)
{
    (void)state;
    assert_int_equal(times_of(9000, 6000).saved, USES * 3000);
    assert_int_equal(times_of(6000, 9000).saved, USES * -3000);
}

/* All native rounds of a trial lost the processor, or all packed ones. */
static void by_trial_on_a_busy_machine(void **state)
{
    (void)state;
    assert_int_equal(times_of(50e6, 6000).saved, USES * 4 * NATIVE_NS);
    assert_int_equal(times_of(6000, 50e6).saved, USES * -4 * PACKED_NS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_estimate),
        cmocka_unit_test(by_trial),
        cmocka_unit_test(by_trial_on_a_busy_machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
