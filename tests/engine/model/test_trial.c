/* Trials: decisions in host memory whose estimates are wrong are tried both ways. Programs run by a clock of their own.
 */
#include "runtime/engine/model/decide.h"
#include "runtime/engine/model/internal.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { NATIVE, PACKED, STRATEGIES, SEND = 0, RECV = 1 };

/* A program that exchanges one kind of message: rounds of `sends` sends and `recvs` receives, which end with waiting
 * for all of them, and work of its own in every `period`-th. Times are nanoseconds. */
typedef struct program {
    pw_estimate costs[STRATEGIES];
    int64_t truth[STRATEGIES]; /* what a message takes in truth */
    int64_t own;               /* what packing takes in truth */
    int sends, recvs, period;
    int64_t work;
    double noise; /* of a round, at most, in parts of it */
    uint32_t random;
    pw_decision_key key;
    pw_decision *decision;
} program;

static _Thread_local int64_t now;

static int64_t fake_clock(void)
{
    return now;
}

static pw_estimate estimate(void *arg, int strategy)
{
    return ((program *)arg)->costs[strategy];
}

static double random_part(program *p)
{
    p->random = p->random * 1664525 + 1013904223;
    return (double)(p->random >> 8) / (1 << 24);
}

static int use(program *p, int direction)
{
    const pw_question q = {.strategies = STRATEGIES, .forced = -1, .direction = direction, .fn = estimate, .arg = p};
    int id = pw_decide(&p->key, &q, &p->decision);
    pw_direction side = direction == SEND ? PW_PACK : PW_UNPACK;

    if (id == PACKED && pw_decision_is_timed(p->decision, id, side))
        pw_decision_observe(p->decision, id, side, p->own, true);
    return id;
}

/* MPI does the work of nonblocking messages when they are waited for. */
static void run(program *p, int rounds)
{
    for (int round = 0; round < rounds; round++) {
        int64_t time = 0;

        for (int i = 0; i < p->recvs + p->sends; i++) {
            time += p->truth[use(p, i < p->recvs ? RECV : SEND)];
            now += 20;
        }
        now += (int64_t)((double)time * (1 + p->noise * random_part(p)));
        if (p->period && round % p->period == 0)
            now += p->work;
    }
}

/* The x-face of a NAS MG, with the estimates of a model that ignores cache lines and pages. */
static program face(void)
{
    static uint64_t layouts;

    return (program){.costs = {{260e3, {0}}, {161e3, {81e3, 81e3}}},
                     .truth = {510000, 995000},
                     .own = 909000,
                     .sends = 1,
                     .recvs = 1,
                     .random = 1,
                     .key = {.layout = {++layouts, 2}, .size = pw_decision_size(512 << 10)}};
}

static int reset(void **state)
{
    (void)state;
    pw_decision_reset();
    pw_decision_set_clock(fake_clock);
    return 0;
}

static int64_t uses(const program *p, int strategy)
{
    return p->decision->cells[strategy].uses;
}

/* ---- decisions --------------------------------------------------------------------------------------------------- */

static void a_wrong_estimate_is_turned(void **state)
{
    program p = face();

    (void)state;
    run(&p, 40); /* 80 messages */
    assert_int_equal(p.decision->chosen, NATIVE);
    assert_in_range(uses(&p, PACKED), 1, PW_DECIDE_FIRST + 2 * PW_TRIAL_EACH + 1);
    assert_true(p.decision->cells[NATIVE].tried > 500e3F && p.decision->cells[NATIVE].tried < 520e3F);
    assert_true(p.decision->cells[PACKED].tried > 990e3F && p.decision->cells[PACKED].tried < 1e6F);
    /* From then on the short path of native calls takes the message. */
    run(&p, 20);
    assert_int_equal(pw_decision_again(p.decision, NATIVE, 1), 1);
}

static void and_back_when_conditions_change(void **state)
{
    program p = face();

    (void)state;
    run(&p, 40);
    assert_int_equal(p.decision->chosen, NATIVE);
    p.truth[PACKED] = 100000;
    p.own = 81000;
    run(&p, 40);
    assert_int_equal(p.decision->chosen, NATIVE);
    run(&p, 2000);
    assert_int_equal(p.decision->chosen, PACKED);
}

/* Uses of the wrong strategy get ever rarer. */
static void trials_cost_little(void **state)
{
    program p = face();

    (void)state;
    p.truth[PACKED] = 300000;
    run(&p, 5000);
    assert_int_equal(p.decision->chosen, PACKED);
    assert_in_range(uses(&p, NATIVE), 1, 5000 * 2 / 100);
    run(&p, 45000);
    assert_in_range(uses(&p, NATIVE), 1, 50000 * 2 / 1000);
}

static void right_estimates_are_not_tried(void **state)
{
    program p = face();

    (void)state;
    p.own = 81000;
    p.costs[NATIVE].total = 2.3 * p.costs[PACKED].total;
    run(&p, 5000);
    assert_int_equal(uses(&p, PACKED), 10000);
    /* Decisions whose estimates are close are tried, but not soon. */
    p = face();
    p.own = 81000;
    p.truth[PACKED] = 200000;
    run(&p, PW_DECIDE_CLOSE / 2 - 1);
    assert_int_equal(uses(&p, NATIVE), 0);
    run(&p, 2000);
    assert_int_equal(uses(&p, NATIVE), 2 * PW_TRIAL_EACH);
    assert_int_equal(p.decision->chosen, PACKED);
}

static void native_by_estimate_is_never_tried(void **state)
{
    program p = face();

    (void)state;
    p.costs[NATIVE].total = 100e3;
    run(&p, 5000);
    assert_int_equal(uses(&p, NATIVE), 10000);
}

static void what_cannot_win_is_not_tried(void **state)
{
    program p = face();

    (void)state;
    p.costs[NATIVE].total = 10e6;
    run(&p, 5000);
    assert_int_equal(uses(&p, NATIVE), 0);
}

static void only_host_memory_and_messages_are_tried(void **state)
{
    program p = face();

    (void)state;
    p.key.memory = PW_MODEL_DEVICE;
    p.costs[NATIVE].total = 1e6; /* corrections do not go so far */
    run(&p, 1000);
    assert_int_equal(uses(&p, NATIVE), 0);
    p = face();
    p.key.kind = PW_CALL_ONE_SIDED;
    run(&p, 1000);
    assert_int_equal(uses(&p, NATIVE), 0);
}

/* Several in flight, whose time passes while all are waited for; work between rounds, twice as long as they; rounds of
 * sends only. */
static void programs_of_many_kinds(void **state)
{
    program flight = face(), busy = face(), bursts = face(), collective = face();

    (void)state;
    flight.sends = flight.recvs = 8;
    flight.key.kind = PW_CALL_NONBLOCKING;
    run(&flight, 60);
    assert_int_equal(flight.decision->chosen, NATIVE);
    busy.work = 4000000;
    busy.period = 2;
    busy.noise = 0.1;
    run(&busy, 60);
    assert_int_equal(busy.decision->chosen, NATIVE);
    bursts.recvs = 0;
    bursts.sends = 6;
    bursts.key.kind = PW_CALL_NONBLOCKING;
    run(&bursts, 200);
    assert_int_equal(bursts.decision->chosen, NATIVE);
    collective.key.kind = PW_CALL_COLLECTIVE;
    run(&collective, 40);
    assert_int_equal(collective.decision->chosen, NATIVE);
}

/* Returns how many of 100 programs, each disturbed by up to as much time again, change their strategy after the first
 * trial. */
static int turned(int64_t native, int64_t packed)
{
    int n = 0;

    for (uint32_t seed = 1; seed <= 100; seed++) {
        program p = face();

        p.truth[NATIVE] = native;
        p.truth[PACKED] = packed;
        p.noise = 1;
        p.random = seed * 2654435761U;
        run(&p, 40);
        n += p.decision->chosen == NATIVE;
    }
    return n;
}

static void noise_turns_nothing(void **state)
{
    (void)state;
    assert_in_range(turned(500000, 500000), 0, 4);
    assert_int_equal(turned(600000, 500000), 0);
    assert_in_range(turned(250000, 500000), 95, 100);
}

/* Estimates that guess otherwise than at the time of a trial, since what they know has changed, end its verdict. */
static void other_guesses_end_a_verdict(void **state)
{
    program p = face();

    (void)state;
    p.truth[NATIVE] = 2000000;
    run(&p, 40);
    assert_int_equal(p.decision->verdict, PACKED);
    p.costs[NATIVE].total = 1;
    run(&p, 600);
    assert_int_equal(p.decision->chosen, NATIVE);
    assert_int_equal(p.decision->verdict, -1);
}

/* Both decisions are used in turns, so their trials would disturb each other. */
static void one_at_a_time(void **state)
{
    program x = face(), y = face();

    (void)state;
    y.truth[NATIVE] = 3000000;
    for (int i = 0; i < 80; i++) {
        run(&x, 1);
        run(&y, 1);
        if (x.decision && y.decision)
            assert_false(x.decision->chosen == PW_DECIDE_ON_TRIAL && y.decision->chosen == PW_DECIDE_ON_TRIAL);
    }
    assert_int_equal(x.decision->chosen, NATIVE);
    assert_int_equal(y.decision->chosen, PACKED);
}

static void a_trial_that_got_stuck_is_given_up(void **state)
{
    program stuck = face(), other = face();

    (void)state;
    run(&stuck, PW_DECIDE_FIRST / 2 + 5);
    assert_int_equal(stuck.decision->chosen, PW_DECIDE_ON_TRIAL);
    assert_false(pw_decision_again(stuck.decision, NATIVE, 1));
    run(&other, 600);
    assert_int_equal(other.decision->chosen, NATIVE);
    assert_int_equal(stuck.decision->chosen, PACKED);
}

static void *use_beside(void *arg)
{
    program *p = arg;
    intptr_t native = 0;

    for (int i = 0; i < 1000; i++)
        native += use(p, i % 2) == NATIVE;
    return (void *)native;
}

static void other_threads_take_no_part(void **state)
{
    program p = face(), beside;
    pthread_t thread;
    void *native;

    (void)state;
    run(&p, PW_DECIDE_FIRST / 2 + 2);
    assert_int_equal(p.decision->chosen, PW_DECIDE_ON_TRIAL);
    beside = p;
    pthread_create(&thread, NULL, use_beside, &beside);
    pthread_join(thread, &native);
    assert_null(native);
    run(&p, 40);
    assert_int_equal(p.decision->chosen, NATIVE);
}

/* ---- rounds ------------------------------------------------------------------------------------------------------ */

/* How many uses one strategy was taken for, one behind the other, at most and at least; until the trial ends. */
static void both_directions_make_a_round(void **state)
{
    pw_trial t = pw_trial_of(PACKED, NATIVE, RECV, PW_TRIAL_MIXED);
    int taken[STRATEGIES] = {0}, id, last = PACKED, changes = 0;

    (void)state;
    for (int i = 5; pw_trial_use(&t, i % 16 < 8 ? RECV : SEND, i, &id); i++) {
        if (id != last)
            assert_int_equal(i % 32, 16); /* two rounds, after the first that is not whole */
        changes += id != last;
        last = id;
        taken[id]++;
    }
    assert_int_equal(taken[PACKED], 16 * PW_TRIAL_EACH + 11);
    assert_int_equal(taken[NATIVE], 16 * PW_TRIAL_EACH);
    assert_int_equal(changes, 5);
}

static void rounds_are_bounded(void **state)
{
    pw_trial one = pw_trial_of(PACKED, NATIVE, SEND, 1), mixed = pw_trial_of(PACKED, NATIVE, RECV, PW_TRIAL_MIXED);
    int n = 0, id;

    (void)state;
    while (pw_trial_use(&one, SEND, 10 * n, &id))
        n++;
    assert_int_equal(n, 1 + 2 * PW_TRIAL_EACH);
    assert_true(pw_trial_time(&one, PW_TRIAL_CHALLENGER) == 10);
    assert_int_equal(pw_trial_verdict(&one), PACKED);
    for (n = 0; pw_trial_use(&mixed, n == 0 ? RECV : SEND, 10 * n, &id); n++)
        ;
    assert_int_equal(n, (1 + 2 * PW_TRIAL_EACH) * PW_TRIAL_MIXED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_wrong_estimate_is_turned, reset),
        cmocka_unit_test_setup(and_back_when_conditions_change, reset),
        cmocka_unit_test_setup(trials_cost_little, reset),
        cmocka_unit_test_setup(right_estimates_are_not_tried, reset),
        cmocka_unit_test_setup(native_by_estimate_is_never_tried, reset),
        cmocka_unit_test_setup(what_cannot_win_is_not_tried, reset),
        cmocka_unit_test_setup(only_host_memory_and_messages_are_tried, reset),
        cmocka_unit_test_setup(programs_of_many_kinds, reset),
        cmocka_unit_test_setup(noise_turns_nothing, reset),
        cmocka_unit_test_setup(other_guesses_end_a_verdict, reset),
        cmocka_unit_test_setup(one_at_a_time, reset),
        cmocka_unit_test_setup(a_trial_that_got_stuck_is_given_up, reset),
        cmocka_unit_test_setup(other_threads_take_no_part, reset),
        cmocka_unit_test(both_directions_make_a_round),
        cmocka_unit_test(rounds_are_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
