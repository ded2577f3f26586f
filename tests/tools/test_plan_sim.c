/* The simulation of `packwright plan`, on exchanges whose times are known in closed form. */
#include "tools/plan/sim.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { MOST_RANKS = 64 };

static const double latency = 1000, link = 2; /* ns; bytes a ns */

/* Every rank sends `messages` of these to the rank that is `step` behind it, and one more behind that, … */
typedef struct ring {
    int64_t ranks, step;
    pw_sim_message message;
} ring;

static pw_sim_message to_next(const void *arg, int64_t rank, int k)
{
    const ring *r = arg;
    pw_sim_message message = r->message;

    message.to = (rank + (k + 1) * r->step) % r->ranks;
    return message;
}

static pw_sim_machine machine_of(int64_t ranks, int64_t ranks_per_node)
{
    return (pw_sim_machine){ranks, ranks_per_node, latency, link, INFINITY};
}

static void simulate(const pw_sim_machine *m, const ring *r, int messages, bool staged, pw_sim_rank *out)
{
    pw_sim_exchange x = {messages, staged, to_next, r};

    memset(out, 0xff, sizeof *out * (size_t)m->ranks);
    assert_int_equal(pw_sim_run(m, &x, out), PW_OK);
}

static void assert_near(double a, double b)
{
    assert_true(fabs(a - b) < 1e-6);
}

/* Alone a message takes its packing, latency + bytes / bandwidth, and its unpacking. */
static void one_message(void **state)
{
    pw_sim_machine m = machine_of(2, 1);
    ring r = {2, 1, {.bytes = 8000, .pack = 300, .copy_out = 20, .copy_in = 30, .unpack = 500}};
    pw_sim_rank ranks[2];

    (void)state;
    simulate(&m, &r, 1, false, ranks);
    for (int i = 0; i < 2; i++) {
        assert_near(ranks[i].end, 300 + 20 + latency + 4000 + 30 + 500);
        assert_near(ranks[i].pack, 300);
        assert_near(ranks[i].unpack, 500);
        assert_int_equal(ranks[i].abroad, 8000);
    }
}

/* The ranks of a node share its link both ways: of two the second message waits for the first one. */
static void two_share_a_link(void **state)
{
    pw_sim_machine m = machine_of(4, 2);
    ring r = {4, 2, {.bytes = 8000}};
    pw_sim_rank ranks[4];

    (void)state;
    simulate(&m, &r, 1, false, ranks);
    assert_near(ranks[2].end, latency + 4000);
    assert_near(ranks[3].end, latency + 8000);
}

/* Messages from many nodes to one wait at its link in. */
static pw_sim_message to_first(const void *arg, int64_t rank, int k)
{
    (void)k;
    return (pw_sim_message){.to = rank ? 0 : 1, .bytes = *(const int64_t *)arg};
}

static void many_to_one(void **state)
{
    pw_sim_machine m = machine_of(9, 1);
    int64_t bytes = 2000;
    pw_sim_exchange x = {1, false, to_first, &bytes};
    pw_sim_rank ranks[9];

    (void)state;
    assert_int_equal(pw_sim_run(&m, &x, ranks), PW_OK);
    assert_near(ranks[0].end, latency + 8 * 1000);
    assert_int_equal(ranks[0].received, 8 * bytes);
    assert_near(ranks[1].end, latency + 1000);
}

/* In a ring of n nodes nobody waits for anybody: n does not matter. */
static void ring_of_n(void **state)
{
    pw_sim_rank ranks[MOST_RANKS];

    (void)state;
    for (int64_t n = 2; n <= MOST_RANKS; n *= 2) {
        pw_sim_machine m = machine_of(n, 1);
        ring r = {n, 1, {.bytes = 4000, .pack = 100, .unpack = 100}};

        simulate(&m, &r, 1, false, ranks);
        for (int64_t i = 0; i < n; i++)
            assert_near(ranks[i].end, 100 + latency + 2000 + 100);
    }
}

/* Within a node there is no latency, and copies share the memory's bandwidth. A message to oneself is one of these. */
static void within_a_node(void **state)
{
    pw_sim_machine m = machine_of(2, 2);
    ring r = {2, 1, {.bytes = 4000, .copy_out = 200, .copy_in = 300}};
    pw_sim_rank ranks[2];

    (void)state;
    simulate(&m, &r, 1, false, ranks);
    assert_near(ranks[1].end, 500);
    m.memory = 4;
    simulate(&m, &r, 2, false, ranks); /* the second one to oneself */
    /* Packed at 200, 200, 400 and 400; 1000 of memory each; the last copy out at 4200. */
    assert_near(fmax(ranks[0].end, ranks[1].end), 200 + 4 * 1000 + 300);
    assert_int_equal(ranks[0].abroad, 0);
    assert_int_equal(ranks[0].received, 8000);
}

/* The wire works while the next message is packed, unless all are packed before. */
static void packing_overlaps(void **state)
{
    pw_sim_machine m = machine_of(MOST_RANKS, 1);
    ring r = {MOST_RANKS, 1, {.bytes = 2000, .pack = 1500, .unpack = 700}};
    pw_sim_rank ranks[MOST_RANKS];

    (void)state;
    simulate(&m, &r, 3, false, ranks);
    assert_near(ranks[5].end, 3 * 1500 + latency + 1000 + 700);
    simulate(&m, &r, 3, true, ranks);
    assert_near(ranks[5].end, 3 * 1500 + latency + 3 * 1000 + 3 * 700);
}

/* Every byte that is sent arrives once, wherever it goes, and phases fit into the time. */
static void bytes_are_conserved(void **state)
{
    pw_sim_rank ranks[MOST_RANKS];
    int64_t sent = 0, received = 0;

    (void)state;
    for (int64_t per_node = 1; per_node <= 7; per_node += 3) {
        pw_sim_machine m = machine_of(MOST_RANKS, per_node);
        ring r = {MOST_RANKS, 5, {.bytes = 777, .pack = 10, .copy_in = 3, .unpack = 20}};

        m.memory = 3;
        simulate(&m, &r, 11, per_node == 4, ranks);
        for (int i = 0; i < MOST_RANKS; i++) {
            sent += ranks[i].sent;
            received += ranks[i].received;
            assert_int_equal(ranks[i].arrived, 11);
            assert_true(ranks[i].end >= ranks[i].pack + ranks[i].unpack);
        }
        assert_int_equal(sent, received);
    }
    assert_int_equal(sent, INT64_C(3) * MOST_RANKS * 11 * 777);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_message),         cmocka_unit_test(two_share_a_link), cmocka_unit_test(many_to_one),
        cmocka_unit_test(ring_of_n),           cmocka_unit_test(within_a_node),    cmocka_unit_test(packing_overlaps),
        cmocka_unit_test(bytes_are_conserved),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
