/* Trials, driven with invented times: two ranks that count the same rounds, noise, late peers, interruptions, drift. */
#include "runtime/choice/trial.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { RUNS = 2000, WAYS = PW_TRIAL_SLOTS - 1 };

/* A verdict is right if its way takes at most so many times the least time: closer ones are not told apart. */
static const double right = 1.15;

/* What a message takes by each way, and how times of it vary. */
typedef struct world {
    int ways;
    double cost[WAYS];
    double noise; /* times are up to some three times this part longer */
    double late;  /* the part of rounds in which the peer comes late */
} world;

/* One rank's site, as runtime/choice/site.c keeps it. */
typedef struct rank {
    pw_trial trial;
    int way[PW_TRIAL_SLOTS];
} rank;

static double uniform(void)
{
    return drand48();
}

static double noisy(const world *w, double cost)
{
    double gauss = sqrt(-2 * log(1 - uniform())) * cos(6.2831853 * uniform());

    return cost * exp(fabs(gauss) * w->noise) + (uniform() < w->late ? 3 * cost * uniform() : 0);
}

/* `guesses`: what the ways are expected to take. */
static rank begin(const world *w, const double *guesses)
{
    rank r = {.way = {0}};
    float ratios[PW_TRIAL_SLOTS] = {1};
    int best = 0;

    for (int i = 1; i < w->ways; i++)
        best = guesses[i] < guesses[best] ? i : best;
    for (int i = 0; i < w->ways; i++) {
        ratios[i + 1] = (float)(guesses[i] / guesses[best]);
        r.way[i + 1] = i;
    }
    r.way[0] = best;
    pw_trial_init(&r.trial, w->ways + 1, best + 1, ratios, false);
    return r;
}

static int turn(rank *r, int64_t round, bool *timed)
{
    if (pw_trial_is_over(&r->trial, round))
        r->way[0] = r->way[pw_trial_close(&r->trial)];
    return pw_trial_turn(&r->trial, round, timed);
}

/* Returns what the rounds have taken on average, without noise. A round takes the mean of what the ways of both ranks
 * take. */
static double run(const world *w, rank ranks[2], int64_t first, int64_t last)
{
    double sum = 0;

    for (int64_t round = first; round < last; round++) {
        bool timed[2];
        int slot[2];
        double cost = 0, seen;

        for (int i = 0; i < 2; i++) {
            slot[i] = turn(&ranks[i], round, &timed[i]);
            cost += w->cost[ranks[i].way[slot[i]]] / 2;
        }
        sum += cost;
        seen = noisy(w, cost);
        for (int i = 0; i < 2; i++)
            if (timed[i])
                pw_trial_add(&ranks[i].trial, slot[i], seen);
    }
    return sum / (double)(last - first);
}

static double least(const world *w)
{
    double best = w->cost[0];

    for (int i = 1; i < w->ways; i++)
        best = fmin(best, w->cost[i]);
    return best;
}

/* A world of random costs, and guesses that are up to `off` times too high or too low. */
static world random_world(double noise, double late, double off, double *guesses)
{
    world w = {.ways = 2 + (int)(lrand48() % 4), .noise = noise, .late = late};

    for (int i = 0; i < w.ways; i++) {
        w.cost[i] = exp(log(8) * uniform());
        guesses[i] = w.cost[i] * exp((2 * uniform() - 1) * log(off));
    }
    return w;
}

typedef struct tally {
    int wrong, dear_soon, dear_later;
} tally;

static tally many(double noise, double late, double off)
{
    tally t = {0};

    for (int i = 0; i < RUNS; i++) {
        double guesses[WAYS], soon, later;
        world w;
        rank ranks[2];

        srand48(i);
        w = random_world(noise, late, off, guesses);
        ranks[0] = ranks[1] = begin(&w, guesses);
        soon = run(&w, ranks, 0, 64);
        later = (64 * soon + 448 * run(&w, ranks, 64, 512)) / 512;
        run(&w, ranks, 512, 1100);
        t.dear_soon += soon > 1.1 * least(&w);
        t.dear_later += later > 1.1 * least(&w);
        t.wrong += w.cost[ranks[0].way[0]] > right * least(&w) || w.cost[ranks[1].way[0]] > right * least(&w);
    }
    return t;
}

static void verdicts_are_right(void **state)
{
    tally t = many(0.1, 0.1, 1.5);

    (void)state;
    assert_true(t.wrong <= RUNS / 100);
}

/* With guesses that are at most a fifth too high or too low, the loss is bounded but for few. */
static void the_loss_is_bounded(void **state)
{
    tally t = many(0.1, 0, 1.2);

    (void)state;
    assert_true(t.dear_soon <= RUNS * 2 / 100);
    assert_true(t.dear_later <= RUNS * 2 / 100);
}

static void guesses_that_are_far_off_are_corrected(void **state)
{
    tally t = many(0.05, 0, 3);

    (void)state;
    assert_true(t.wrong <= RUNS * 2 / 100);
}

/* Ranks that count the same rounds take the same turns, however different their times are. */
static void ranks_take_the_same_turns(void **state)
{
    const double guesses[] = {10, 11, 12};
    const world w = {.ways = 3, .cost = {10, 11, 12}};
    rank ranks[2];

    (void)state;
    srand48(1);
    ranks[0] = ranks[1] = begin(&w, guesses);
    for (int64_t round = 0; round < 2000; round++) {
        bool timed[2];
        int slots[2] = {turn(&ranks[0], round, &timed[0]), turn(&ranks[1], round, &timed[1])};

        assert_int_equal(slots[0], slots[1]);
        for (int i = 0; i < 2; i++)
            if (timed[i])
                pw_trial_add(&ranks[i].trial, slots[i], 10 + 0.1 * uniform() + i);
    }
}

/* A way that is a thousand times as long as it was expected to be is carried out once or twice, and then no more. */
static void what_is_far_behind_is_not_repeated(void **state)
{
    const double guesses[] = {10, 12, 50};
    const world w = {.ways = 3, .cost = {10, 10000, 60}};
    rank ranks[2];
    double mean;

    (void)state;
    ranks[0] = ranks[1] = begin(&w, guesses);
    mean = run(&w, ranks, 0, 64);
    assert_true(mean < (2 * 10000 + 2 * 60 + 62 * 10) / 64.0);
    assert_true(run(&w, ranks, 64, 512) < 10.5);
}

/* What is expected to be far behind waits until the rounds so far have taken much longer. */
static void what_is_dear_waits(void **state)
{
    const double guesses[] = {10, 1000};
    const world w = {.ways = 2, .cost = {10, 5}};
    rank ranks[2];

    (void)state;
    ranks[0] = ranks[1] = begin(&w, guesses);
    assert_true(run(&w, ranks, 0, 4096) == 10);
    assert_true(run(&w, ranks, 4096, 50000) < 10);
    assert_int_equal(ranks[0].way[0], 1);
}

static void a_changed_machine_is_noticed(void **state)
{
    const double guesses[] = {10, 12};
    world w = {.ways = 2, .cost = {10, 12}, .noise = 0.05};
    rank ranks[2];

    (void)state;
    srand48(1);
    ranks[0] = ranks[1] = begin(&w, guesses);
    run(&w, ranks, 0, 600);
    assert_int_equal(ranks[0].way[0], 0);
    w.cost[0] = 15; /* other ranks have begun to work */
    run(&w, ranks, 600, 4096 + 100);
    assert_int_equal(ranks[0].way[0], 1);
    assert_int_equal(ranks[1].way[0], 1);
}

/* The least times count, however many there are. */
static void the_least_times_are_kept(void **state)
{
    const float ratios[] = {1, 1};
    pw_trial t;

    (void)state;
    pw_trial_init(&t, 2, 1, ratios, false);
    for (int i = 0; i < 4 * PW_TRIAL_KEPT; i++)
        pw_trial_add(&t, 0, 100 - i);
    for (int i = 0; i < PW_TRIAL_KEPT; i++)
        assert_true(t.slots[0].times[i] == 100 - 4 * PW_TRIAL_KEPT + 1 + i);
}

static void what_cannot_be_is_never_taken(void **state)
{
    const float ratios[] = {1, 1, -1, 1.1F};
    bool timed;
    pw_trial t;

    (void)state;
    pw_trial_init(&t, 4, 1, ratios, false);
    for (int64_t round = 0; round < 1000; round++) {
        int slot;

        if (pw_trial_is_over(&t, round))
            pw_trial_close(&t);
        slot = pw_trial_turn(&t, round, &timed);
        assert_int_not_equal(slot, 2);
        if (timed)
            pw_trial_add(&t, slot, 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(verdicts_are_right),
        cmocka_unit_test(the_loss_is_bounded),
        cmocka_unit_test(guesses_that_are_far_off_are_corrected),
        cmocka_unit_test(ranks_take_the_same_turns),
        cmocka_unit_test(what_is_far_behind_is_not_repeated),
        cmocka_unit_test(what_is_dear_waits),
        cmocka_unit_test(a_changed_machine_is_noticed),
        cmocka_unit_test(the_least_times_are_kept),
        cmocka_unit_test(what_cannot_be_is_never_taken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
