/* Trials, driven with invented times: two ranks that count the same rounds, noise, late peers, interruptions, drift. */
#include "runtime/choice/trial.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { RUNS = 2000, WAYS = PW_TRIAL_SLOTS - 1, RANKS = 32 };

/* A verdict is right if its way takes at most so many times the least time: closer ones are not told apart. */
static const double right = 1.15;

/* What a message takes by each way, and how times of it vary. */
typedef struct world {
    int ways;
    double cost[WAYS];
    double noise; /* times are up to some three times this part longer */
    double late;  /* the part of rounds in which the peer comes late */
    double skew;  /* up to such a part of a round one rank waits for the other one, which saves as much */
    double unit;  /* nanoseconds; 0: such that no round is short */
    double slow;  /* what the last way takes before round `ready`, when its kernel is not there; 0: it always is */
    int64_t ready;
    int disturbed; /* the way that takes tenfold in some rounds: */
    int64_t from, until;
    double ahead; /* the part of its time that the last way takes right after another way; 0: all of it */
    double quick; /* the part of rounds in which the last way takes half of its time */
} world;

/* One rank's site, as runtime/choice/site.c keeps it. */
typedef struct rank {
    pw_trial trial;
    int way[PW_TRIAL_SLOTS];
} rank;

enum { WINDOWS = 16 };

/* The records that all ranks of a run share. */
static pw_trial_record records[WINDOWS];

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
    pw_trial_init(&r.trial, w->ways + 1, best + 1, 1, ratios);
    memset(records, 0, sizeof records);
    return r;
}

/* Returns what a round takes; a step below 0: it is outside of windows, or not timed. */
static pw_trial_turn turn(rank *r, int64_t round)
{
    if (round < r->trial.begin)
        return (pw_trial_turn){PW_TRIAL_USUAL, -1};
    if (!r->trial.record)
        pw_trial_open(&r->trial, &records[r->trial.windows]);
    if (!pw_trial_is_over(&r->trial, round))
        return pw_trial_take(&r->trial, round);
    r->way[0] = r->way[pw_trial_close(&r->trial, round)];
    return (pw_trial_turn){PW_TRIAL_USUAL, -1};
}

/* Returns what the rounds have taken on average, without noise. A round takes the mean of what the ways of all ranks
 * take. */
static double run_ranks(const world *w, rank *ranks, int n, int64_t first, int64_t last)
{
    double sum = 0, unit = w->unit > 0 ? w->unit : 20000;
    int before = -1;

    for (int64_t round = first; round < last; round++) {
        pw_trial_turn turns[RANKS];
        double cost = 0, skew = unit * w->skew * (2 * uniform() - 1);
        int way = before;

        for (int i = 0; i < n; i++) {
            turns[i] = turn(&ranks[i], round);
            way = ranks[i].way[turns[i].slot];
            cost += (round < w->ready && way == w->ways - 1 ? w->slow : w->cost[way]) *
                    (way == w->disturbed && round >= w->from && round < w->until ? 10 : 1) / n;
        }
        if (way == w->ways - 1)
            cost *= w->ahead > 0 && before != way ? w->ahead : w->quick > 0 && uniform() < w->quick ? 0.5 : 1;
        before = way;
        sum += cost;
        for (int i = 0; i < n; i++) {
            double seen = unit * noisy(w, cost) + (i % 2 ? -skew : skew) * cost;

            pw_trial_add(&ranks[i].trial, turns[i], seen);
        }
    }
    return sum / (double)(last - first);
}

static double run(const world *w, rank ranks[2], int64_t first, int64_t last)
{
    return run_ranks(w, ranks, 2, first, last);
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

/* Returns in how many runs the last of two ways has won, which takes more than the other one but for few rounds. */
static int misled(double ahead, double quick)
{
    const double guesses[] = {10, 10};
    int won = 0;

    for (int i = 0; i < RUNS; i++) {
        world w = {.ways = 2, .cost = {10, 12}, .noise = 0.05, .ahead = ahead, .quick = quick};
        rank ranks[2];

        srand48(i);
        ranks[0] = ranks[1] = begin(&w, guesses);
        run(&w, ranks, 0, 1100);
        won += ranks[0].way[0] == 1;
    }
    return won;
}

/* Ranks do not end a round at the same moment, so the first one that takes another way may have begun before. */
static void the_first_round_of_a_turn_does_not_count(void **state)
{
    (void)state;
    assert_true(misled(0.6, 0) <= RUNS / 100);
}

static void one_short_round_does_not_count(void **state)
{
    (void)state;
    assert_true(misled(0, 0.05) <= RUNS * 5 / 100);
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

/* Ranks that count the same rounds take the same turns and the same ways, however different their times are. */
static void ranks_agree(void **state)
{
    const double guesses[] = {10, 11, 12};
    const world w = {.ways = 3, .cost = {10, 11, 12}};
    rank ranks[RANKS];

    (void)state;
    for (int seed = 0; seed < 50; seed++) {
        srand48(seed);
        for (int i = 0; i < RANKS; i++)
            ranks[i] = begin(&w, guesses);
        for (int64_t round = 0; round < 5000; round++) {
            pw_trial_turn first = turn(&ranks[0], round);
            int way = ranks[0].way[first.slot];

            for (int i = 0; i < RANKS; i++) {
                pw_trial_turn mine = i > 0 ? turn(&ranks[i], round) : first;
                double seen = 1e4 * (1 + uniform()) * w.cost[way];

                assert_int_equal(ranks[i].way[mine.slot], way);
                pw_trial_add(&ranks[i].trial, mine, seen);
            }
        }
    }
}

/* A rank that is interrupted again and again judges as the others do. */
static void one_disturbed_rank_does_not_part(void **state)
{
    const double guesses[] = {10, 11};
    const world w = {.ways = 2, .cost = {15, 10}, .noise = 0.2, .late = 0.3};
    rank ranks[RANKS];

    (void)state;
    srand48(1);
    for (int i = 0; i < RANKS; i++)
        ranks[i] = begin(&w, guesses);
    run_ranks(&w, ranks, RANKS, 0, 100);
    for (int i = 0; i < RANKS; i++)
        assert_int_equal(ranks[i].way[0], 1);
}

/* A rank that comes late finds the other one's part done, which has waited for it. */
static void late_ranks_find_no_short_rounds(void **state)
{
    const double guesses[] = {10, 11};
    const world w = {.ways = 2, .cost = {12, 10}, .noise = 0.02, .skew = 0.8};
    rank ranks[2];

    (void)state;
    for (int seed = 0; seed < 100; seed++) {
        srand48(seed);
        ranks[0] = ranks[1] = begin(&w, guesses);
        run(&w, ranks, 0, PW_TRIAL_SECOND);
        assert_int_equal(ranks[0].way[0], 1);
    }
}

/* Rounds that are so short that a first use of a way counts are not tried before their 256th. */
static void short_rounds_wait(void **state)
{
    const double guesses[] = {10, 11};
    const world w = {.ways = 2, .cost = {15, 10}, .unit = 50};
    rank ranks[2];

    (void)state;
    ranks[0] = ranks[1] = begin(&w, guesses);
    assert_true(run(&w, ranks, 0, 256) == 15);
    run(&w, ranks, 256, 300);
    assert_int_equal(ranks[0].way[0], 1);
}

/* In the first window such rounds are timed in one step, and the next one is outside of it. */
static void short_rounds_end_their_window(void **state)
{
    const double guesses[] = {10, 11};
    const world w = {.ways = 2, .cost = {15, 10}, .unit = 50};
    rank ranks[2];

    (void)state;
    ranks[0] = ranks[1] = begin(&w, guesses);
    run_ranks(&w, ranks, 2, 0, PW_TRIAL_FIRST + PW_TRIAL_ROUNDS + 1);
    for (int i = 0; i < 2; i++) {
        assert_null(ranks[i].trial.record);
        assert_int_equal(ranks[i].trial.windows, 1);
        assert_int_equal(ranks[i].trial.begin, PW_TRIAL_LATER * PW_TRIAL_SECOND);
    }
}

/* A site leads in some rounds of a step, and takes part in others that another site leads and times. */
static void half_of_the_rounds_are_enough(void **state)
{
    const double guesses[] = {10, 11};
    const world w = {.ways = 2, .cost = {15, 10}};
    rank r;

    (void)state;
    r = begin(&w, guesses);
    for (int64_t round = 0; round < PW_TRIAL_SECOND; round++) {
        pw_trial_turn t = turn(&r, round);

        if (round % 2)
            pw_trial_add(&r.trial, t, 2e4 * w.cost[r.way[t.slot]]);
    }
    assert_int_equal(r.way[0], 1);
}

/* What another process has written to a record makes choices worse, and nothing else. */
static void records_may_hold_anything(void **state)
{
    const double guesses[] = {10, 11, 12};
    const world w = {.ways = 3, .cost = {10, 11, 12}};

    (void)state;
    for (int seed = 0; seed < 200; seed++) {
        rank ranks[2];

        srand48(seed);
        ranks[0] = ranks[1] = begin(&w, guesses);
        for (size_t i = 0; i < sizeof records; i++)
            ((unsigned char *)records)[i] = (unsigned char)lrand48();
        assert_true(run(&w, ranks, 0, 5000) <= 12);
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

/* What other ways take at first may be little later, but not so the safe one: it is not tried again so soon. */
static void what_is_safe_is_believed_at_once(void **state)
{
    const double guesses[] = {16, 10};
    const world w = {.ways = 2, .cost = {130, 10}};
    rank ranks[2];

    (void)state;
    ranks[0] = ranks[1] = begin(&w, guesses);
    run(&w, ranks, 0, PW_TRIAL_SECOND);
    assert_true(run(&w, ranks, PW_TRIAL_SECOND, 1000) == 10);
}

/* It gets two rounds even where it is guessed to be too dear for a turn, unless these would be too dear, too. */
static void what_is_safe_is_soon_seen(void **state)
{
    const double guesses[] = {27, 10}, far[] = {60, 10};
    const world slow = {.ways = 2, .cost = {27, 10}}, fast = {.ways = 2, .cost = {8, 10}};
    rank ranks[2];

    (void)state;
    ranks[0] = ranks[1] = begin(&fast, guesses);
    run(&fast, ranks, 0, PW_TRIAL_SECOND);
    assert_int_equal(ranks[0].way[0], 0);
    assert_int_equal(ranks[1].way[0], 0);
    ranks[0] = ranks[1] = begin(&slow, guesses);
    assert_true(fabs(run(&slow, ranks, 0, PW_TRIAL_SECOND) - (10 + 2 * 17 / 64.0)) < 1e-9);
    assert_true(run(&slow, ranks, PW_TRIAL_SECOND, 256) == 10);
    ranks[0] = ranks[1] = begin(&slow, far);
    assert_true(run(&slow, ranks, 0, PW_TRIAL_SECOND) == 10);
}

/* Two ranks run a trial. After `some` rounds rank 0 must have the way `then`, and after `all` both the way `last`. */
static void check_ways(const world *w, const double *guesses, int some, int then, int all, int last)
{
    rank ranks[2];

    ranks[0] = ranks[1] = begin(w, guesses);
    run(w, ranks, 0, some);
    assert_int_equal(ranks[0].way[0], then);
    run(w, ranks, some, all);
    assert_int_equal(ranks[0].way[0], last);
    assert_int_equal(ranks[1].way[0], last);
}

/* Two disturbed rounds do not make it wait for longer than its guess does. */
static void what_is_safe_is_not_judged_by_two_rounds(void **state)
{
    const double guesses[] = {27, 10};
    const world w = {.ways = 2, .cost = {8, 10}, .disturbed = 0, .from = 0, .until = PW_TRIAL_SECOND};

    (void)state;
    check_ways(&w, guesses, 256, 1, 300, 0);
}

/* A guess that was disturbed is tried again, also where it is the safe one. */
static void a_safe_guess_is_tried_again(void **state)
{
    const double guesses[] = {10, 11};
    const world w = {.ways = 2, .cost = {10, 14}, .disturbed = 0, .from = 0, .until = PW_TRIAL_SECOND};

    (void)state;
    check_ways(&w, guesses, PW_TRIAL_SECOND, 1, PW_TRIAL_SECOND + 26, 0);
}

/* A way that takes much longer than expected does not use up the budget before the safe one has had a turn. */
static void what_is_safe_comes_first(void **state)
{
    const double guesses[] = {17, 10, 17};
    const world w = {.ways = 3, .cost = {5, 10, 60}};
    rank ranks[2];

    (void)state;
    ranks[0] = ranks[1] = begin(&w, guesses);
    run(&w, ranks, 0, PW_TRIAL_SECOND);
    assert_int_equal(ranks[0].way[0], 0);
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

/* Where rounds are much longer than was guessed, as with files, what is guessed to be dearer loses little of them. */
static void what_is_dear_is_little_of_long_rounds(void **state)
{
    const double guesses[] = {10, 50};
    const world w = {.ways = 2, .cost = {1500, 1000}};
    rank ranks[2];

    (void)state;
    ranks[0] = begin(&w, guesses);
    ranks[0].trial.guessed = 10 * 20000;
    ranks[1] = ranks[0];
    run(&w, ranks, 0, 64);
    assert_int_equal(ranks[0].way[0], 1);
    assert_int_equal(ranks[1].way[0], 1);
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

/* Returns the way that two ranks take in a round, of two whose second one has its kernel from round `ready` on, and
 * takes `slow` before that. */
static int way_in(int64_t round, double slow, int64_t ready, double guess)
{
    const double guesses[] = {10, guess};
    const world w = {.ways = 2, .cost = {27, 10}, .slow = slow, .ready = ready};
    rank ranks[2];

    ranks[0] = ranks[1] = begin(&w, guesses);
    run(&w, ranks, 0, round);
    assert_int_equal(ranks[0].way[0], ranks[1].way[0]);
    return ranks[0].way[0];
}

/* A way that has lost since its kernel was not there has another turn in the second window, whether it was the guess or
 * not. */
static void what_lost_without_its_kernel_is_tried_again(void **state)
{
    (void)state;
    for (double guess = 8; guess <= 12; guess += 4) {
        assert_int_equal(way_in(PW_TRIAL_SECOND, 40, 20, guess), 0);
        assert_int_equal(way_in(PW_TRIAL_SECOND + 26, 40, 20, guess), 1);
        assert_int_equal(way_in(PW_TRIAL_SECOND + 26, 40, 60, guess), 1);
    }
}

/* The guess has it even where it took a hundred times as long without its kernel, and another way has not. */
static void a_guess_is_tried_again_whatever_it_took(void **state)
{
    (void)state;
    assert_int_equal(way_in(PW_TRIAL_SECOND, 3000, 20, 8), 0);
    assert_int_equal(way_in(PW_TRIAL_SECOND + 26, 3000, 20, 8), 1);
    assert_int_equal(way_in(PW_TRIAL_SECOND + 26, 3000, 20, 12), 0);
}

/* In how many of `runs` worlds the best way is not taken after the window that follows one in which it took tenfold;
 * `dear`: in how many rounds then take more than a tenth too long. What is safe is believed in the first window. */
static int wrong_after(int64_t from, double unit, int runs, int *dear)
{
    int64_t next = from < PW_TRIAL_SECOND ? PW_TRIAL_SECOND : PW_TRIAL_LATER * from, over = next + 80;
    int wrong = 0;

    for (int i = 0; i < runs; i++) {
        double guesses[WAYS];
        world w;
        rank ranks[2];

        srand48(i);
        w = random_world(0.05, 0, 1.2, guesses);
        w.unit = unit;
        for (int way = 1; way < w.ways; way++)
            w.disturbed = w.cost[way] < w.cost[w.disturbed] ? way : w.disturbed;
        w.from = from;
        w.until = next;
        ranks[0] = ranks[1] = begin(&w, guesses);
        run(&w, ranks, 0, over);
        if (from > PW_TRIAL_FIRST || w.disturbed > 0) {
            wrong += w.cost[ranks[0].way[0]] > right * least(&w) || w.cost[ranks[1].way[0]] > right * least(&w);
            *dear += run(&w, ranks, over, PW_TRIAL_LATER * next) > 1.1 * least(&w);
        }
    }
    return wrong;
}

/* Also where rounds are so short that this was the first window that has tried the way. */
static void one_disturbed_window_does_not_decide_for_long(void **state)
{
    const struct {
        int64_t from;
        double unit;
    } cases[] = {{PW_TRIAL_FIRST, 0}, {PW_TRIAL_SECOND, 0}, {256, 0}, {256, 50}};

    (void)state;
    for (int i = 0; i < 4; i++) {
        int dear = 0, runs = RUNS / 4;

        assert_true(wrong_after(cases[i].from, cases[i].unit, runs, &dear) <= runs / 100);
        assert_true(dear <= runs / 100);
    }
}

/* What has really become dearer is tried once more for that. */
static void what_has_become_dear_is_believed_the_second_time(void **state)
{
    const double guesses[] = {11, 10};
    const world w = {.ways = 2, .cost = {11, 10}, .disturbed = 1, .from = PW_TRIAL_SECOND, .until = INT64_MAX};
    rank ranks[2];

    (void)state;
    ranks[0] = ranks[1] = begin(&w, guesses);
    run(&w, ranks, 0, 256);
    assert_int_equal(ranks[0].way[0], 0);
    assert_true(run(&w, ranks, 256, 1024) > 11);
    assert_true(run(&w, ranks, 1024, 4096) == 11);
}

static void what_cannot_be_is_never_taken(void **state)
{
    const float ratios[] = {1, 1, -1, 1.1F};
    rank r = {.way = {0}};

    (void)state;
    memset(records, 0, sizeof records);
    pw_trial_init(&r.trial, 4, 1, 1, ratios);
    for (int64_t round = 0; round < 1000; round++) {
        pw_trial_turn t = turn(&r, round);

        assert_int_not_equal(t.slot, 2);
        pw_trial_add(&r.trial, t, 1e5);
    }
}

static void rounds_before_a_window_are_its_first_step(void **state)
{
    const float ratios[] = {1, 1, 1};
    pw_trial t;

    (void)state;
    memset(records, 0, sizeof records);
    pw_trial_init(&t, 3, 1, 1, ratios);
    t.begin = PW_TRIAL_SECOND;
    pw_trial_open(&t, &records[1]);
    for (int64_t round = -1000000; round <= PW_TRIAL_SECOND; round += 4096) {
        assert_false(pw_trial_is_over(&t, round));
        assert_int_equal(pw_trial_take(&t, round).step, 0);
    }
    for (int i = 0; i < PW_TRIAL_STEPS; i++)
        assert_int_equal(records[1].steps[i] != 0, i == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(verdicts_are_right),
        cmocka_unit_test(the_first_round_of_a_turn_does_not_count),
        cmocka_unit_test(one_short_round_does_not_count),
        cmocka_unit_test(the_loss_is_bounded),
        cmocka_unit_test(guesses_that_are_far_off_are_corrected),
        cmocka_unit_test(ranks_agree),
        cmocka_unit_test(one_disturbed_rank_does_not_part),
        cmocka_unit_test(late_ranks_find_no_short_rounds),
        cmocka_unit_test(short_rounds_wait),
        cmocka_unit_test(short_rounds_end_their_window),
        cmocka_unit_test(half_of_the_rounds_are_enough),
        cmocka_unit_test(records_may_hold_anything),
        cmocka_unit_test(what_is_far_behind_is_not_repeated),
        cmocka_unit_test(what_is_safe_is_believed_at_once),
        cmocka_unit_test(what_is_safe_is_soon_seen),
        cmocka_unit_test(what_is_safe_is_not_judged_by_two_rounds),
        cmocka_unit_test(a_safe_guess_is_tried_again),
        cmocka_unit_test(what_is_safe_comes_first),
        cmocka_unit_test(what_is_dear_waits),
        cmocka_unit_test(what_is_dear_is_little_of_long_rounds),
        cmocka_unit_test(a_changed_machine_is_noticed),
        cmocka_unit_test(what_lost_without_its_kernel_is_tried_again),
        cmocka_unit_test(a_guess_is_tried_again_whatever_it_took),
        cmocka_unit_test(one_disturbed_window_does_not_decide_for_long),
        cmocka_unit_test(what_has_become_dear_is_believed_the_second_time),
        cmocka_unit_test(what_cannot_be_is_never_taken),
        cmocka_unit_test(rounds_before_a_window_are_its_first_step),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
