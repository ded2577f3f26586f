/* Decisions: classes of sizes, what is remembered, and how observations correct estimates. */
#include "runtime/engine/model/decide.h"

#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

typedef struct mock {
    pw_estimate costs[3];
    _Atomic int asked;
} mock;

static pw_estimate estimate(void *arg, int strategy)
{
    mock *m = arg;

    atomic_fetch_add(&m->asked, 1);
    return m->costs[strategy];
}

static pw_decision_key key(uint64_t layout, int64_t bytes)
{
    return (pw_decision_key){
        .layout = {layout, 1}, .size = pw_decision_size(bytes), .memory = PW_MODEL_DEVICE, .device = 0};
}

static int decide(const pw_decision_key *k, int strategies, int forced, mock *m, pw_decision **d)
{
    const pw_question question = {.strategies = strategies, .forced = forced, .fn = estimate, .arg = m};

    return pw_decide(k, &question, d);
}

static int reset(void **state)
{
    (void)state;
    pw_decision_reset();
    return 0;
}

static void classes_are_quarters(void **state)
{
    uint16_t last = 0;

    (void)state;
    for (int64_t n = 1; n < 100000; n++) {
        uint16_t size = pw_decision_size(n);

        assert_true(size == last || size == last + 1);
        assert_true(n <= pw_decision_most(size));
        assert_true(size == 0 || n > pw_decision_most((uint16_t)(size - 1)));
        last = size;
    }
    for (int shift = 3; shift < 63; shift++) {
        int64_t n = (int64_t)1 << shift;

        assert_int_equal(pw_decision_most(pw_decision_size(n)), n);
        assert_int_equal(pw_decision_size(n + 1), pw_decision_size(n) + 1);
        assert_int_equal(pw_decision_size(n + n / 4), pw_decision_size(n) + 1);
    }
    pw_decision_size(INT64_MAX);
}

static void the_cheapest_that_can(void **state)
{
    mock m = {.costs = {{100, {0}}, {50, {0}}, {-1, {0}}}};
    pw_decision_key k = key(1, 1000);
    pw_decision *d;

    (void)state;
    assert_int_equal(decide(&k, 3, -1, &m, &d), 1);
    assert_non_null(d);
    assert_true(d->cells[0].total == 100 && d->cells[1].total == 50 && d->cells[2].total == -1);
    m.costs[1].total = 100; /* on a tie, the first one is taken */
    k = key(2, 1000);
    assert_int_equal(decide(&k, 3, -1, &m, NULL), 0);
}

static void the_forced_one_if_it_can(void **state)
{
    mock m = {.costs = {{10, {0}}, {50, {0}}, {-1, {0}}}};
    pw_decision_key k = key(1, 1000), other = key(2, 1000), third = key(3, 1000);

    (void)state;
    assert_int_equal(decide(&k, 3, 1, &m, NULL), 1);
    assert_int_equal(decide(&other, 3, 2, &m, NULL), 0);
    m.costs[2].total = 5;
    assert_int_equal(decide(&third, 3, 0, &m, NULL), 0);
    /* Another one may be forced later. */
    assert_int_equal(decide(&third, 3, 2, &m, NULL), 2);
    assert_int_equal(decide(&k, 3, 0, &m, NULL), 0);
    assert_int_equal(decide(&k, 3, 2, &m, NULL), 0);
}

static void costs_are_asked_for_once(void **state)
{
    mock m = {.costs = {{100, {0}}, {50, {0}}}};
    pw_decision_key k = key(3, 1000), other = key(3, 1300);

    (void)state;
    for (int i = 0; i < 7; i++)
        assert_int_equal(decide(&k, 2, -1, &m, NULL), 1);
    assert_int_equal(m.asked, 2);
    decide(&other, 2, -1, &m, NULL);
    assert_int_equal(m.asked, 4);
    decide(&k, 2, -1, &m, NULL); /* the eighth use decides again */
    assert_int_equal(m.asked, 6);
}

/* A caller that remembers a decision may use it until it changes, or may change; all uses count. */
static void a_remembered_one_is_asked_again_when_due(void **state)
{
    mock m = {.costs = {{100, {0}}, {50, {0}}}};
    pw_decision_key k = key(3, 1000);
    pw_decision *d;

    (void)state;
    for (int64_t use = 1; use <= 3000; use++) {
        bool due = use <= 64 || use % 512 == 0, again;

        if (use == 1)
            decide(&k, 2, -1, &m, &d);
        assert_int_equal(d->cells[1].uses, use == 1 ? 1 : use - 1);
        assert_true(d->least <= 1000 && d->most >= 1000 && pw_decision_size(d->least) == k.size &&
                    pw_decision_size(d->most) == k.size && pw_decision_size(d->least - 1) != k.size &&
                    pw_decision_size(d->most + 1) != k.size);
        if (use == 1)
            continue;
        assert_false(pw_decision_again(d, 0, 1));
        again = pw_decision_again(d, 1, 1);
        assert_int_equal(again, !due);
        if (!again)
            assert_int_equal(decide(&k, 2, -1, &m, NULL), 1);
    }
    m.costs[0].total = 10;
    for (int use = 0; use < 2000; use++)
        if (!pw_decision_again(d, 1, 1))
            decide(&k, 2, -1, &m, NULL);
    assert_false(pw_decision_again(d, 1, 1));
    assert_int_equal(decide(&k, 2, -1, &m, NULL), 0);
}

/* Ties between keys: everything in a key tells decisions apart. */
static void keys_are_told_apart(void **state)
{
    mock a = {.costs = {{100, {0}}, {50, {0}}}}, b = {.costs = {{50, {0}}, {100, {0}}}};
    pw_decision_key k = key(4, 1000), others[5];

    (void)state;
    for (int i = 0; i < 5; i++)
        others[i] = k;
    others[0].layout.hi++;
    others[1].size++;
    others[2].kind++;
    others[3].memory++;
    others[4].device++;
    assert_int_equal(decide(&k, 2, -1, &a, NULL), 1);
    for (int i = 0; i < 5; i++)
        assert_int_equal(decide(&others[i], 2, -1, &b, NULL), 0);
    assert_int_equal(decide(&k, 2, -1, &b, NULL), 1);
}

static void observe(pw_decision *d, int strategy, int64_t ns, int times)
{
    for (int i = 0; i < times; i++)
        pw_decision_observe(d, strategy, PW_PACK, ns, true);
}

static void observations_correct(void **state)
{
    /* The estimate for strategy 1 is 40, of which 30 are its own work. In truth that takes 90. */
    mock m = {.costs = {{70, {0}}, {40, {30, 0}}}};
    pw_decision_key k = key(5, 5000), neighbour = key(6, 5100), far = key(7, 500000);
    pw_decision *d;

    (void)state;
    assert_int_equal(decide(&k, 2, -1, &m, &d), 1);
    observe(d, 1, 90, 7);
    assert_true(pw_decision_factor(1, k.size, PW_PACK) == 1); /* too few observations to count */
    observe(d, 1, 90, 20);
    assert_true(fabs(pw_decision_factor(1, k.size, PW_PACK) - 3) < 1e-3);
    for (int i = 0; i < 8; i++)
        decide(&k, 2, -1, &m, NULL);
    assert_int_equal(decide(&k, 2, -1, &m, NULL), 0);
    assert_int_equal(d->cells[1].observed[PW_PACK], 27 * 90);
    assert_int_equal(d->cells[1].estimated[PW_PACK], 27 * 30);
    /* Layouts of a like size are corrected, too, and those of other sizes are not. */
    assert_true(pw_decision_factor(1, neighbour.size, PW_PACK) > 1.5);
    assert_int_equal(decide(&far, 2, -1, &m, NULL), 1);
    /* A strategy that is no longer taken is tried again some time later. */
    for (int i = 0; i < 20000; i++)
        if (decide(&k, 2, -1, &m, NULL) == 1)
            return;
    fail_msg("strategy 1 was never tried again");
}

static void corrections_are_bounded(void **state)
{
    mock m = {.costs = {{1000, {0}}, {100, {100, 100}}}};
    pw_decision_key k = key(8, 64);
    pw_decision *d;

    (void)state;
    decide(&k, 2, -1, &m, &d);
    observe(d, 1, INT64_C(1) << 50, 1000);
    assert_true(fabs(pw_decision_factor(1, k.size, PW_PACK) - 4) < 1e-3);
    observe(d, 1, 1, 1000);
    assert_true(fabs(pw_decision_factor(1, k.size, PW_PACK) - 0.25) < 1e-3);
    assert_true(pw_decision_factor(1, k.size, PW_UNPACK) == 1);
    /* If a fifth of the times were interrupted, the factor hardly moves. */
    pw_decision_reset();
    decide(&k, 2, -1, &m, &d);
    observe(d, 1, 100, 10);
    for (int i = 0; i < 200; i++) {
        observe(d, 1, INT64_C(1) << 40, 1);
        observe(d, 1, 100, 4);
        assert_true(pw_decision_factor(1, k.size, PW_PACK) < 1.2);
    }
    observe(d, 0, 100, 100); /* has no work of its own */
    assert_true(pw_decision_factor(0, k.size, PW_PACK) == 1);
    observe(NULL, 0, 100, 1);
    pw_decision_observe(d, 1, PW_UNPACK, 400, false); /* only noted */
    assert_int_equal(d->cells[1].observed[PW_UNPACK], 400);
    for (int i = 0; i < 20; i++)
        pw_decision_observe(d, 1, PW_UNPACK, 400, false);
    assert_true(pw_decision_factor(1, k.size, PW_UNPACK) == 1);
}

static void a_full_table_still_decides(void **state)
{
    mock m = {.costs = {{100, {0}}, {50, {0}}}};

    (void)state;
    for (uint64_t i = 0; i < 2 * PW_DECIDE_RECORDS; i++) {
        pw_decision_key k = key(i * 7919, 1000);
        pw_decision *d;

        assert_int_equal(decide(&k, 2, -1, &m, &d), 1);
        assert_true((d != NULL) == (i < PW_DECIDE_RECORDS));
    }
}

static void *decide_much(void *arg)
{
    mock m = {.costs = {{100, {0}}, {50, {20, 20}}, {200, {0}}}};
    uintptr_t wrong = 0;

    for (int i = 0; i < 50000; i++) {
        pw_decision_key k = key((uint64_t)(i * 31 % 500), 1000 + i % 3 * 1000);
        pw_decision *d;

        wrong += decide(&k, 3, -1, &m, &d) != 1;
        pw_decision_observe(d, 1, i % 2 ? PW_PACK : PW_UNPACK, 20 + i % 5, true);
    }
    (void)arg;
    return (void *)wrong;
}

static void count_uses(void *arg, const pw_decision *d)
{
    *(int64_t *)arg += d->cells[1].uses;
}

static void threads_share(void **state)
{
    pthread_t threads[4];
    int64_t uses = 0;

    (void)state;
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, decide_much, NULL);
    for (int i = 0; i < 4; i++) {
        void *wrong;

        pthread_join(threads[i], &wrong);
        assert_null(wrong);
    }
    pw_decision_each(count_uses, &uses);
    assert_in_range(uses, 1, 4 * 50000); /* threads may lose each other's uses */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classes_are_quarters),
        cmocka_unit_test_setup(the_cheapest_that_can, reset),
        cmocka_unit_test_setup(the_forced_one_if_it_can, reset),
        cmocka_unit_test_setup(costs_are_asked_for_once, reset),
        cmocka_unit_test_setup(a_remembered_one_is_asked_again_when_due, reset),
        cmocka_unit_test_setup(keys_are_told_apart, reset),
        cmocka_unit_test_setup(observations_correct, reset),
        cmocka_unit_test_setup(corrections_are_bounded, reset),
        cmocka_unit_test_setup(a_full_table_still_decides, reset),
        cmocka_unit_test_setup(threads_share, reset),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
