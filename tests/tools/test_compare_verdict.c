/* The verdict of `packwright compare` on times that are known. */
#include "tools/compare/compare.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void assert_near(double a, double b)
{
    assert_true(fabs(a - b) < 1e-3);
}

/* What drifts on the machine changes both runs of a pair, and the verdict is exact. */
static void drift_is_no_spread(void **state)
{
    const double native[] = {2, 4, 8}, packwright[] = {1, 2, 4};
    pw_compare_verdict v = pw_compare_judge(native, packwright, 3);

    (void)state;
    assert_int_equal(v.outcome, PW_COMPARE_FASTER);
    assert_near(v.ratio, 2);
    assert_near(v.low, 2);
    assert_near(v.high, 2);
    assert_near(v.native.median, 4);
    assert_near(v.packwright.least, 1);
    assert_near(v.packwright.longest, 4);
    assert_int_equal(pw_compare_judge(packwright, native, 3).outcome, PW_COMPARE_SLOWER);
}

/* Ratios e, 1, 1/e and 1: the mean is 1, and Student's interval of three degrees of freedom is 3.182 * 0.8165 / 2. */
static void spread_hides_a_difference(void **state)
{
    const double native[] = {2.718281828, 1, 1, 1}, packwright[] = {1, 1, 2.718281828, 1};
    pw_compare_verdict v = pw_compare_judge(native, packwright, 4);

    (void)state;
    assert_int_equal(v.outcome, PW_COMPARE_UNCLEAR);
    assert_near(v.ratio, 1);
    assert_near(v.high, exp(3.182 * sqrt(2.0 / 3) / 2));
    assert_near(v.low, 1 / v.high);
    assert_near(v.native.median, 1);
}

/* A program that loses a second in its messages, of runs that take one more: the report says the same. If trials have
 * seen messages gain, the rest of the run has lost it. */
static void a_loss_is_said_by_both(void **state)
{
    const double native[] = {2, 2.1, 1.9, 2}, packwright[] = {3, 3.05, 2.95, 3.1};
    pw_compare_verdict v = pw_compare_judge(native, packwright, 4);

    (void)state;
    assert_int_equal(v.outcome, PW_COMPARE_SLOWER);
    assert_int_equal(pw_compare_rest_of(&v, -1), PW_COMPARE_AGREES);
    assert_int_equal(pw_compare_rest_of(&v, 0.25), PW_COMPARE_REST_LOST);
    assert_int_equal(pw_compare_rest_of(&v, -0.25), PW_COMPARE_REST_LOST);
    assert_int_equal(pw_compare_rest_of(&v, -2), PW_COMPARE_REST_SAVED);
    v = pw_compare_judge(packwright, native, 4);
    assert_int_equal(pw_compare_rest_of(&v, 1), PW_COMPARE_AGREES);
    assert_int_equal(pw_compare_rest_of(&v, -1), PW_COMPARE_REST_SAVED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(drift_is_no_spread),
        cmocka_unit_test(spread_hides_a_difference),
        cmocka_unit_test(a_loss_is_said_by_both),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
