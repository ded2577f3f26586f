/* Sites: classes of sizes, guesses, rounds, and what is remembered. */
#include "runtime/choice/site.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

typedef struct mock {
    double costs[3], first; /* `first`: what the first use of way 1 costs once more */
    _Atomic int asked;
} mock;

static double cost(void *arg, int way)
{
    mock *m = arg;

    atomic_fetch_add(&m->asked, 1);
    return m->costs[way];
}

static pw_site_key key(uint64_t shape, int64_t bytes)
{
    return (pw_site_key){.shape = shape, .size = pw_site_size(bytes)};
}

static const uint8_t all[] = {0, 1, 2};

static pw_site_question question(mock *m, int forced, bool tried)
{
    return (pw_site_question){
        .ways = 3, .forced = forced, .rivals = tried ? 3 : 0, .rival = all, .cost = cost, .arg = m};
}

static int reset(void **state)
{
    (void)state;
    pw_site_reset();
    return 0;
}

static void classes_are_quarters(void **state)
{
    uint16_t last = 0;

    (void)state;
    for (int64_t n = 1; n < 100000; n++) {
        uint16_t size = pw_site_size(n);

        assert_true(size == last || size == last + 1);
        assert_true(n <= pw_site_most(size));
        assert_true(size == 0 || n > pw_site_most((uint16_t)(size - 1)));
        last = size;
    }
    for (int shift = 3; shift < 63; shift++) {
        int64_t n = (int64_t)1 << shift;

        assert_int_equal(pw_site_most(pw_site_size(n)), n);
        assert_int_equal(pw_site_size(n + 1), pw_site_size(n) + 1);
    }
    pw_site_size(INT64_MAX);
}

static void the_cheapest_that_can(void **state)
{
    mock m = {.costs = {100, 50, -1}};
    pw_site_question q = question(&m, -1, false);
    pw_site_key k = key(1, 1000);
    pw_site *s;

    (void)state;
    assert_int_equal(pw_site_take(&k, &q, NULL, NULL, &s), 1);
    assert_non_null(s);
    assert_true(s->cells[0].total == 100 && s->cells[1].total == 50 && s->cells[2].total == -1);
    m.costs[1] = 100; /* on a tie, the first one is taken */
    k = key(2, 1000);
    assert_int_equal(pw_site_take(&k, &q, NULL, NULL, &s), 0);
    m.costs[0] = -1;
    k = key(3, 1000);
    assert_int_equal(pw_site_take(&k, &q, NULL, NULL, &s), 1);
}

static void forced_if_it_can(void **state)
{
    mock m = {.costs = {1, 2, -1}};
    pw_site_question q = question(&m, 1, false);
    pw_site_key k = key(1, 1000);
    pw_site *s;

    (void)state;
    assert_int_equal(pw_site_take(&k, &q, NULL, NULL, &s), 1);
    q = question(&m, 2, false);
    k = key(2, 1000);
    assert_int_equal(pw_site_take(&k, &q, NULL, NULL, &s), 0);
}

/* A site keeps a forced way as it keeps any other, so that callers may remember it, until another way is forced. */
static void a_forced_way_is_kept(void **state)
{
    mock m = {.costs = {1, 2, 3}};
    pw_site_question q = question(&m, 1, false);
    pw_site_key k = key(1, 1000);
    pw_site *s;

    (void)state;
    for (int i = 0; i < 9; i++)
        assert_int_equal(pw_site_take(&k, &q, NULL, NULL, &s), 1);
    assert_true(pw_site_again(s, 1, 1));
    q = question(&m, 2, false);
    pw_site_ask_all();
    assert_false(pw_site_again(s, 1, 1));
    assert_int_equal(pw_site_take(&k, &q, NULL, NULL, &s), 2);
}

/* A site without a trial asks for costs again, at first often. */
static void costs_are_asked_for_again(void **state)
{
    mock m = {.costs = {1, 2, 3}};
    pw_site_question q = question(&m, -1, false);
    pw_site_key k = key(1, 1000);
    pw_site *s;

    (void)state;
    for (int i = 0; i < 8; i++)
        assert_int_equal(pw_site_take(&k, &q, NULL, NULL, &s), 0);
    assert_int_equal(m.asked, 3);
    m.costs[0] = 5;
    assert_int_equal(pw_site_take(&k, &q, NULL, NULL, &s), 1);
    assert_int_equal(m.asked, 6);
}

static void who_remembers_must_ask_again(void **state)
{
    mock m = {.costs = {1, 2, 3}};
    pw_site_question q = question(&m, -1, false);
    pw_site_key k = key(1, 1000);
    pw_site *s;

    (void)state;
    pw_site_take(&k, &q, NULL, NULL, &s);
    assert_false(pw_site_again(s, 1, 1));
    for (int i = 0; i < 6; i++)
        assert_true(pw_site_again(s, 0, 1));
    assert_false(pw_site_again(s, 0, 2));
    assert_true(pw_site_again(s, 0, 1));
    assert_true(pw_site_again(s, 0, -1));
    assert_true(pw_site_again(s, 0, 1));
    assert_false(pw_site_again(s, 0, 1));
    assert_int_equal(s->rounds, 8);
}

/* Returns the way of one round with one use, whose time is that way's. */
static int round_of(const pw_site_key *k, const pw_site_question *q, const double *times)
{
    pw_round now = {.n = 0};
    pw_site *s;
    int way = pw_site_take(k, q, &now, NULL, &s);

    pw_round_end(&now, times[way]);
    return way;
}

static void a_trial_finds_the_best(void **state)
{
    const double times[] = {300000, 200000, 100000};
    mock m = {.costs = {10000, 11000, 12000}};
    pw_site_question q = question(&m, -1, true);
    pw_site_key k = key(1, 1000);
    pw_site *s;
    int way;

    (void)state;
    for (int i = 0; i < 400; i++)
        round_of(&k, &q, times);
    for (int i = 400; i < 512; i++)
        assert_int_equal(round_of(&k, &q, times), 2);
    way = pw_site_take(&k, &q, NULL, NULL, &s);
    assert_int_equal(way, 2);
    assert_true(s->cells[0].tried == 300000 && s->cells[2].tried == 100000);
}

/* Runs the rounds of the first window, and returns how many lie in it. */
static int rounds_of_window(const pw_site_key *k, const pw_site_question *q, const double *times, pw_site **s)
{
    int in_window = 0;

    for (int i = 0; i < 60; i++) {
        pw_round now = {.n = 0};
        int way = pw_site_take(k, q, &now, NULL, s);

        in_window += now.lead != NULL;
        pw_round_end(&now, times[way]);
    }
    return in_window;
}

/* Where all sites of a round mean the same by their usual way, that takes two turns in a window and not four; and what
 * is said of it is what it took, also if another one has won. */
static void what_is_usual_has_one_slot(void **state)
{
    mock m = {.costs = {10000, 11000, -1}};
    pw_site_question q = question(&m, -1, true);
    pw_site_key k = key(1, 1000), other = key(2, 1000);
    pw_site *s;

    (void)state;
    assert_true(rounds_of_window(&k, &q, (double[]){100000, 200000}, &s) <= 4 * PW_TRIAL_ROUNDS);
    assert_true(s->cells[0].tried == 100000 && s->cells[1].tried == 200000);
    rounds_of_window(&other, &q, (double[]){200000, 100000}, &s);
    assert_true(s->cells[0].tried == 200000 && s->cells[1].tried == 100000);
}

/* What a trial has found outlasts ways that were forced for a while, and no window comes early for them. */
static void a_trial_outlasts_questions(void **state)
{
    const double times[] = {300000, 200000, 100000};
    mock m = {.costs = {10000, 11000, 12000}};
    pw_site_question q = question(&m, -1, true);
    pw_site_key k = key(1, 1000);
    pw_site *s;

    (void)state;
    rounds_of_window(&k, &q, times, &s);
    for (int i = 60; i < PW_TRIAL_SECOND - 1; i++) {
        pw_round now = {.n = 0};

        pw_site_ask_all();
        assert_false(pw_site_again(s, 2, 1));
        assert_int_equal(pw_site_take(&k, &q, &now, NULL, &s), 2);
        assert_null(now.lead);
        if (!pw_site_is_due(s)) {
            assert_true(pw_site_again(s, 2, 1));
            assert_true(pw_site_again(s, 2, -1));
        }
    }
    assert_int_equal(s->trial.windows, 1);
}

static double first_cost(void *arg, int way)
{
    const mock *m = arg;

    return way == 1 ? m->first : 0;
}

/* Returns the first round of a site that takes the best of three ways, whose first use costs `first` more than later
 * ones. */
static int first_round(double first)
{
    const double times[] = {100000, 50000, 90000};
    mock m = {.costs = {10000, 11000, 11000}, .first = first};
    pw_site_question q = question(&m, -1, true);
    pw_site_key k = key(1, 1000);
    int found = -1;
    pw_site *s;

    pw_site_reset();
    q.first = first_cost;
    for (int i = 0; i < 300; i++) {
        pw_round now = {.n = 0};
        int way = pw_site_take(&k, &q, &now, NULL, &s);

        way = pw_site_take(&k, &q, &now, NULL, &s); /* two uses, of which each pays */
        found = found < 0 && way == 1 ? i : found;
        pw_round_end(&now, times[way]);
    }
    assert_int_equal(s->chosen, 1);
    assert_true(s->cells[2].uses > 0);
    return found;
}

/* What a first use costs once, as memory to stage in does, is little by the time of the 256th round, if it takes as
 * long as twenty rounds. Another way that costs nothing once is tried at once. */
static void a_dear_first_use_waits(void **state)
{
    (void)state;
    assert_true(first_round(1000000) >= 256);
}

/* It is paid in one window, so that it may take longer than all rounds of the first window may lose. */
static void a_first_use_is_paid_once(void **state)
{
    (void)state;
    assert_true(first_round(250000) < PW_TRIAL_SECOND);
}

/* Within a round, and while operations of a round are in flight, a site keeps its way. */
static void a_round_has_one_way(void **state)
{
    mock m = {.costs = {10000, 11000, 12000}};
    pw_site_question q = question(&m, -1, true);
    pw_site_key k = key(1, 1000), other = key(2, 1000);
    pw_site *s;

    (void)state;
    for (int i = 0; i < 100; i++) {
        pw_round now = {.n = 0}, flight = {.n = 0};
        int way = pw_site_take(&k, &q, &now, &flight, &s), again;
        int64_t rounds = s->rounds;

        if (!now.lead)
            continue;
        pw_site_take(&other, &q, &now, &flight, &s);
        again = pw_site_take(&k, &q, &now, &flight, &s);
        assert_int_equal(again, way);
        pw_round_join(&flight, &now);
        assert_null(now.lead);
        again = pw_site_take(&k, &q, &now, &flight, &s);
        assert_int_equal(again, way);
        assert_int_equal(s->rounds, rounds);
        pw_round_end(&flight, 10);
    }
}

/* The sites of a round are judged together: each keeps its own guess if that is best for all. */
static void sites_of_a_round_are_judged_together(void **state)
{
    mock a = {.costs = {10000, 20000, -1}}, b = {.costs = {20000, 10000, -1}};
    pw_site_question qa = question(&a, -1, true), qb = question(&b, -1, true);
    pw_site_key ka = key(1, 1000), kb = key(2, 1000);
    pw_site *s;

    (void)state;
    for (int i = 0; i < 64; i++) {
        pw_round now = {.n = 0};
        int x = pw_site_take(&ka, &qa, &now, NULL, &s), y = pw_site_take(&kb, &qb, &now, NULL, &s);

        pw_round_end(&now, (x == 0 ? 1e5 : 2e5) + (y == 1 ? 1e5 : 2e5));
    }
    assert_int_equal(pw_site_take(&ka, &qa, NULL, NULL, &s), 0);
    assert_int_equal(pw_site_take(&kb, &qb, NULL, NULL, &s), 1);
}

/* Makes rounds of two sites, and returns how many of the first `rounds` way 1 of `a` is taken in. */
static int64_t rounds_of_both(mock *a, mock *b, int rounds)
{
    pw_site_question qa = question(a, -1, true), qb = question(b, -1, true);
    pw_site_key ka = key(1, 1000), kb = key(2, 1000);
    pw_site *s;

    pw_site_take(&ka, &qa, NULL, NULL, &s);
    for (int i = 0; i < rounds; i++) {
        pw_round now = {.n = 0};
        int x = pw_site_take(&ka, &qa, &now, NULL, &s), y = pw_site_take(&kb, &qb, &now, NULL, &s);

        pw_round_end(&now, a->costs[x] + b->costs[y]);
    }
    pw_site_take(&ka, &qa, NULL, NULL, &s);
    return s->cells[1].uses;
}

/* What a slot is expected to cost is that of all sites of a round, whichever of them leads: a way that is dear for one
 * waits though it costs the one that leads nothing, and one that is dear for a small part of the round does not. */
static void a_slot_costs_what_all_sites_pay(void **state)
{
    (void)state;
    assert_int_equal(
        rounds_of_both(&(mock){.costs = {10000, 10000, -1}}, &(mock){.costs = {30000, 75000, -1}}, PW_TRIAL_SECOND), 0);
    pw_site_reset();
    assert_true(rounds_of_both(&(mock){.costs = {10000, 30000, -1}}, &(mock){.costs = {90000, -1, 100000}},
                               PW_TRIAL_SECOND) > 0);
}

/* Where only a site can take a slot that joins after the rounds of slot 0, the slot is expected to cost what it costs
 * that site. */
static void a_slot_of_a_late_site_has_its_cost(void **state)
{
    mock a = {.costs = {100000, 110000, -1}}, b = {.costs = {300000, -1, 30000000}};
    pw_site_question qa = question(&a, -1, true), qb = question(&b, -1, true);
    pw_site_key ka = key(1, 1000), kb = key(2, 1000);
    pw_site *s;

    (void)state;
    for (int i = 0; i < PW_TRIAL_SECOND; i++) {
        pw_round now = {.n = 0};
        double ns = a.costs[pw_site_take(&ka, &qa, &now, NULL, &s)];

        if (i > PW_TRIAL_FIRST + PW_TRIAL_ROUNDS)
            ns += b.costs[pw_site_take(&kb, &qb, &now, NULL, &s)];
        pw_round_end(&now, ns);
    }
    pw_site_take(&kb, &qb, NULL, NULL, &s);
    assert_int_equal(s->cells[2].uses, 0);
}

/* A site may have begun its window before it meets one that leads: both are judged once. */
static void sites_that_meet_share_a_window(void **state)
{
    mock m = {.costs = {10000, 11000, -1}};
    pw_site_question q = question(&m, -1, true);
    pw_site_key first = key(1, 1000), second = key(2, 1000);
    pw_site *a, *b;

    (void)state;
    for (int i = 0; i < PW_TRIAL_SECOND; i++) {
        pw_round now = {.n = 0};
        int x = i < 2 ? 0 : pw_site_take(&first, &q, &now, NULL, &a), y = pw_site_take(&second, &q, &now, NULL, &b);

        pw_round_end(&now, 5e4 + (x == 0 ? 1e5 : 2e4) + (y == 0 ? 1e5 : 2e4));
        assert_true(i < 20 || (x == 1 && y == 1));
    }
    assert_int_equal(a->trial.windows, 1);
    assert_int_equal(b->trial.windows, 1);
    assert_true(a->trial.begin == PW_TRIAL_SECOND && b->trial.begin == PW_TRIAL_SECOND);
}

/* The ends of a message judge together, however differently their calls take: one that sends and soon returns, and one
 * that waits for what the other has left to it. */
static void ends_take_one_way(void **state)
{
    const double sends[] = {1e5, 6e4}, receives[] = {1e5, 2e5};
    mock m = {.costs = {10000, 11000, -1}};
    pw_site_question q = question(&m, -1, true);
    pw_site_key from = key(1, 1000), to = from;

    (void)state;
    to.role = 1;
    for (int i = 0; i < 100; i++) {
        int way = round_of(&from, &q, sends);

        assert_int_equal(round_of(&to, &q, receives), way);
        assert_true(i < PW_TRIAL_SECOND / 2 || i >= PW_TRIAL_SECOND - 1 || way == 0);
    }
}

/* Windows come by rounds, not by uses, also where each round has many uses of a site. */
static void many_uses_are_one_round(void **state)
{
    enum { USES = 16, ROUNDS = 4 * PW_TRIAL_SECOND };
    mock m = {.costs = {10000, 11000, -1}};
    pw_site_question q = question(&m, -1, true);
    pw_site_key k = key(1, 1000), other = key(2, 1000);
    int rounds[2] = {0};
    pw_site *s, *follower;

    (void)state;
    for (int i = 0; i < ROUNDS; i++) {
        pw_round now = {.n = 0};
        bool tried = false;

        for (int j = 0; j < USES; j++) {
            tried = pw_site_take(&k, &q, &now, NULL, &s) == 1 || tried;
            tried = pw_site_take(&other, &q, &now, NULL, &follower) == 1 || tried;
        }
        rounds[i >= PW_TRIAL_SECOND - 1] += tried;
        pw_round_end(&now, tried ? 1.1e5 : 1e5);
        if (i == PW_TRIAL_SECOND - 3)
            assert_true(s->trial.windows == 1 && follower->trial.windows == 1);
    }
    assert_true(rounds[0] > 0 && rounds[0] <= PW_TRIAL_ROUNDS * PW_TRIAL_TURNS);
    assert_true(rounds[1] > 0 && rounds[1] <= PW_TRIAL_ROUNDS * PW_TRIAL_TURNS);
    assert_true(s->trial.windows == 2 && follower->trial.windows == 2);
}

/* What was carried out otherwise than its turn said teaches nothing. */
static void spoilt_uses_do_not_count(void **state)
{
    const double times[] = {1e5, 3e4, 3e4};
    mock m = {.costs = {10000, 11000, -1}};
    pw_site_question q = question(&m, -1, true);
    pw_site_key k = key(1, 1000);
    pw_site *s;

    (void)state;
    for (int i = 0; i < 64; i++) {
        pw_round now = {.n = 0};
        int way = pw_site_take(&k, &q, &now, NULL, &s);

        if (way == 1)
            pw_round_spoil(&now);
        pw_round_end(&now, times[way]);
    }
    assert_int_equal(pw_site_take(&k, &q, NULL, NULL, &s), 0);
}

/* Uses that MPI carries out whatever is answered say nothing of ways: a window of no others ends with the safe way. */
static void uses_that_are_left_are_not_judged(void **state)
{
    const double times[] = {200000, 100000};
    mock m = {.costs = {11000, 10000, -1}};
    pw_site_question q = question(&m, -1, true), left = q;
    pw_site_key alone = key(1, 1000), with = key(2, 1000);
    pw_site *s;

    (void)state;
    left.ignored = true;
    rounds_of_window(&alone, &left, times, &s);
    assert_int_equal(s->chosen, 0);
    assert_true(s->cells[1].tried == 0);
    for (int i = 0; i < PW_TRIAL_SECOND; i++) {
        pw_round now = {.n = 0};
        int way = pw_site_take(&with, &left, &now, NULL, &s);

        assert_int_equal(pw_site_take(&with, &q, &now, NULL, &s), way);
        pw_round_end(&now, times[way]);
    }
    assert_int_equal(s->chosen, 1);
    assert_true(s->cells[1].tried == 50000);
}

/* Returns by how much, by what its sites have tried, a round takes less than natively: what reports sum up, of uses
 * that are not left to the MPI. */
static double saved_a_round(const int *uses, pw_site *const *sites, int n)
{
    double sum = 0;

    for (int i = 0; i < n; i++)
        if (sites[i]->chosen != 0)
            sum += uses[i] * (double)(sites[i]->cells[0].tried - sites[i]->cells[sites[i]->chosen].tried);
    return sum;
}

/* Runs exchanges of two kinds of uses, of which ways 1 and 2 carry out one kind each, and returns what they are said to
 * save a round. A round takes `native` less `less[way]`, whichever way is not native in it. */
static double saved_by_exchanges(const int *uses, const mock *mocks, double native, const double *less)
{
    pw_site *sites[2];

    pw_site_reset();
    for (int i = 0; i < 300; i++) {
        pw_round now = {.n = 0};
        double ns = native;

        for (int j = 0; j < 2; j++) {
            mock m = mocks[j];
            pw_site_question q = question(&m, -1, true);
            pw_site_key k = key((uint64_t)j, 1000);
            int way = 0;

            for (int use = 0; use < uses[j]; use++)
                way = pw_site_take(&k, &q, &now, NULL, &sites[j]);
            ns -= less[way];
        }
        pw_round_end(&now, ns);
    }
    return saved_a_round(uses, sites, 2);
}

/* What a round saves is said to be saved by those of its uses that are not left to the MPI, as where only the block to
 * oneself is joined, and by no other number of uses. */
static void all_of_a_round_is_saved(void **state)
{
    const mock oneself[] = {{.costs = {10000, 11000, -1}}, {.costs = {10000, -1, 11000}}};
    const mock guessed[] = {{.costs = {11000, 10000, -1}}, {.costs = {10000, -1, 11000}}};

    (void)state;
    assert_true(saved_by_exchanges((int[]){1, 2}, oneself, 900000, (double[]){0, 600000, -90000}) == 600000);
    assert_true(saved_by_exchanges((int[]){1, 2}, oneself, 900000, (double[]){0, 0, 300000}) == 300000);
    assert_true(saved_by_exchanges((int[]){1, 2}, guessed, 900000, (double[]){0, 600000, -90000}) == 600000);
    assert_true(saved_by_exchanges((int[]){1, 4}, guessed, 900000, (double[]){0, 300000, 500000}) == 800000);
}

static void a_full_round_goes_on(void **state)
{
    mock m = {.costs = {10000, 11000, 12000}};
    pw_site_question q = question(&m, -1, true);
    pw_round now = {.n = 0};
    pw_site *s;

    (void)state;
    for (int i = 0; i < 4 * PW_ROUND_SITES; i++) {
        pw_site_key k = key((uint64_t)i / 2, 1000);

        pw_site_take(&k, &q, &now, NULL, &s);
    }
    assert_int_equal(now.n, PW_ROUND_SITES);
    pw_round_drop(&now);
    assert_null(now.lead);
}

static void without_room_it_is_guessed(void **state)
{
    mock m = {.costs = {10000, 5000, 12000}};
    pw_site_question q = question(&m, -1, true);
    pw_site *s;

    (void)state;
    for (int i = 0; i <= PW_SITE_RECORDS; i++) {
        pw_site_key k = key((uint64_t)i, 1000);

        assert_int_equal(pw_site_take(&k, &q, NULL, NULL, &s), 1);
    }
    assert_null(s);
}

static void *many_uses(void *arg)
{
    mock m = {.costs = {10000, 11000, 12000}};
    pw_site_question q = question(&m, -1, true);

    for (int i = 0; i < 20000; i++) {
        const double times[] = {30, 20, 10};
        pw_site_key k = key((uint64_t)(i % 7), 1000);

        round_of(&k, &q, times);
    }
    return arg;
}

static void threads_share_sites(void **state)
{
    pthread_t threads[4];

    (void)state;
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, many_uses, NULL), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classes_are_quarters),
        cmocka_unit_test_setup(the_cheapest_that_can, reset),
        cmocka_unit_test_setup(forced_if_it_can, reset),
        cmocka_unit_test_setup(a_forced_way_is_kept, reset),
        cmocka_unit_test_setup(costs_are_asked_for_again, reset),
        cmocka_unit_test_setup(who_remembers_must_ask_again, reset),
        cmocka_unit_test_setup(a_trial_finds_the_best, reset),
        cmocka_unit_test_setup(what_is_usual_has_one_slot, reset),
        cmocka_unit_test_setup(a_trial_outlasts_questions, reset),
        cmocka_unit_test_setup(a_dear_first_use_waits, reset),
        cmocka_unit_test_setup(a_first_use_is_paid_once, reset),
        cmocka_unit_test_setup(a_round_has_one_way, reset),
        cmocka_unit_test_setup(sites_of_a_round_are_judged_together, reset),
        cmocka_unit_test_setup(a_slot_costs_what_all_sites_pay, reset),
        cmocka_unit_test_setup(a_slot_of_a_late_site_has_its_cost, reset),
        cmocka_unit_test_setup(sites_that_meet_share_a_window, reset),
        cmocka_unit_test_setup(ends_take_one_way, reset),
        cmocka_unit_test_setup(many_uses_are_one_round, reset),
        cmocka_unit_test_setup(spoilt_uses_do_not_count, reset),
        cmocka_unit_test_setup(uses_that_are_left_are_not_judged, reset),
        cmocka_unit_test_setup(all_of_a_round_is_saved, reset),
        cmocka_unit_test_setup(a_full_round_goes_on, reset),
        cmocka_unit_test_setup(without_room_it_is_guessed, reset),
        cmocka_unit_test_setup(threads_share_sites, reset),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
