/*
 * Ways: which conditions each one needs, what it costs, and which one is chosen. The program is linked with the object
 * that says so and with nothing else of the project, so that one calls nothing.
 */
#include "runtime/choice/way.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const pw_facts *const f = &pw_facts_default;

/* What is true of an ordinary message of many blocks in a call between two processes. */
enum {
    ORDINARY = PW_IF_LAYOUT | PW_IF_BETWEEN_TWO | PW_IF_ONE_WAY | PW_IF_BYTES | PW_IF_SHORT,
    ON_GPU = ORDINARY | PW_IF_ON_DEVICE | PW_IF_NOT_TAKEN
};

static void near(double got, double expected)
{
    if (fabs(got - expected) > 1e-6 * expected)
        fail_msg("%g in place of %g", got, expected);
}

/* ---- can --------------------------------------------------------------------------------------------------------- */

/* Without any one of these conditions, and with any one of those, a way cannot carry a message that it could. */
static void needs(int way, unsigned set, unsigned needed, unsigned barring)
{
    assert_true(pw_way_can(way, set));
    for (unsigned bit = 1; bit < 1U << PW_CONDITION_BITS; bit <<= 1) {
        if (set & bit && pw_way_can(way, set & ~bit) == !!(needed & bit))
            fail_msg("way %d without condition %u", way, bit);
        if (!(set & bit) && pw_way_can(way, set | bit) == !!(barring & bit))
            fail_msg("way %d with condition %u", way, bit);
    }
}

static void ways_in_host_memory(void **state)
{
    const unsigned packable = PW_IF_LAYOUT | PW_IF_BYTES | PW_IF_SHORT;
    const unsigned piecewise = PW_IF_IN_PIECES | PW_IF_LAYOUT | PW_IF_BETWEEN_TWO | PW_IF_ONE_WAY;

    (void)state;
    needs(PW_STRATEGY_NATIVE, ORDINARY, 0, PW_IF_NOT_TAKEN | PW_IF_FOLLOWED);
    needs(PW_STRATEGY_NATIVE, 0, 0, PW_IF_NOT_TAKEN | PW_IF_FOLLOWED);
    needs(PW_STRATEGY_PACKED, ORDINARY, packable, PW_IF_ON_DEVICE);
    needs(PW_STRATEGY_CONTIGUOUS, ORDINARY | PW_IF_ONE_BLOCK, PW_IF_ONE_BLOCK | PW_IF_BETWEEN_TWO | PW_IF_BYTES,
          PW_IF_SENT_DENSE);
    needs(PW_STRATEGY_JOINED, ORDINARY | PW_IF_TO_ONESELF, PW_IF_TO_ONESELF, 0);
    needs(PW_STRATEGY_PIPELINE, ORDINARY | PW_IF_IN_PIECES, piecewise, PW_IF_ON_DEVICE | PW_IF_CUT_THERE);
    needs(PW_STRATEGY_DIRECT, ORDINARY | PW_IF_SHOWN, PW_IF_SHOWN, 0);
    needs(PW_STRATEGY_REMOTE, ORDINARY | PW_IF_FAR, PW_IF_FAR, PW_IF_ON_DEVICE);
}

static void ways_in_gpu_memory(void **state)
{
    const unsigned packable = PW_IF_ON_DEVICE | PW_IF_BYTES | PW_IF_SHORT;

    (void)state;
    assert_false(pw_way_can(PW_STRATEGY_NATIVE, ON_GPU));
    assert_false(pw_way_can(PW_STRATEGY_PACKED, ON_GPU));
    needs(PW_STRATEGY_DIRECT, ON_GPU | PW_IF_SHOWN, PW_IF_SHOWN, 0);
    needs(PW_STRATEGY_DEVICE, ON_GPU & ~PW_IF_NOT_TAKEN, packable | PW_IF_LAYOUT, PW_IF_NOT_TAKEN);
    needs(PW_STRATEGY_ONE_SHOT, ON_GPU, packable | PW_IF_LAYOUT, 0);
    needs(PW_STRATEGY_STAGED, ON_GPU, packable, 0);
}

/* ---- cost -------------------------------------------------------------------------------------------------------- */

static pw_conditions on_host(int64_t bytes, int64_t block)
{
    return (pw_conditions){.set = ORDINARY, .kind = PW_CALL_NONBLOCKING, .shape = {bytes, block, 2}};
}

static pw_conditions on_device(int64_t bytes, int64_t block, double spread)
{
    return (pw_conditions){.set = ON_GPU, .shape = {bytes, block, spread}, .kind = PW_CALL_BLOCKING};
}

static double cost(int way, const pw_conditions *c)
{
    return pw_way_cost(way, f, c);
}

static double own(int way, const pw_conditions *c, pw_direction direction)
{
    return pw_way_own_cost(way, f, c, direction);
}

static void shapes(void **state)
{
    pw_cost_shape s = pw_cost_shape_of(1000, 10, -16000);

    (void)state;
    assert_int_equal(s.block, 100);
    near(s.spread, 16);
    near(pw_cost_shape_of(1000, 10, 1000).spread, 2);
    assert_int_equal(pw_cost_shape_of(3, 10, 10).block, 1);
}

static void impossible_ways_cost_nothing(void **state)
{
    const pw_conditions c = on_host(4096, 8);

    (void)state;
    for (int way = 0; way < PW_STRATEGY_COUNT; way++)
        assert_true((cost(way, &c) < 0) == !pw_way_can(way, c.set));
}

/* The sums of docs/model.md, by any facts. */
static void host_memory_is_guessed(void **state)
{
    const double bytes = 1 << 20, blocks = bytes / 64, kernel = blocks * f->moved + bytes * f->copied;
    pw_conditions c = on_host(1 << 20, 64);
    pw_facts slow = *f;

    (void)state;
    c.set |= PW_IF_SHOWN | PW_IF_IN_PIECES;
    near(cost(PW_STRATEGY_NATIVE, &c), f->message + blocks * f->walked + bytes * f->copied);
    near(cost(PW_STRATEGY_PIPELINE, &c), cost(PW_STRATEGY_NATIVE, &c));
    near(cost(PW_STRATEGY_PACKED, &c), f->message + f->staged + 2 * kernel + 2 * bytes * f->copied);
    near(cost(PW_STRATEGY_DIRECT, &c), f->message + f->staged + kernel);
    near(own(PW_STRATEGY_PACKED, &c, PW_UNPACK), kernel);
    c.set |= PW_IF_SHARED;
    near(cost(PW_STRATEGY_PACKED, &c), f->message + f->staged + 2 * kernel);
    c.kind = PW_CALL_IO;
    near(cost(PW_STRATEGY_NATIVE, &c), blocks * f->passed + bytes * f->copied);
    near(cost(PW_STRATEGY_PACKED, &c), f->staged + kernel + bytes * f->stored);
    c.set |= PW_IF_CACHED;
    near(cost(PW_STRATEGY_PACKED, &c), f->staged + kernel);
    slow.passed = 400;
    near(pw_way_cost(PW_STRATEGY_NATIVE, &slow, &c), blocks * 400 + bytes * f->copied);
    c.set &= ~(unsigned)PW_IF_LAYOUT;
    near(cost(PW_STRATEGY_NATIVE, &c), f->message + 2 * bytes * f->copied);
    c = on_host(4096, 64);
    near(cost(PW_STRATEGY_NATIVE, &c), f->message + 2 * (64 * f->walked + 4096 * f->copied));
}

static bool packs(pw_call_kind kind, int64_t bytes, int64_t block, bool shared)
{
    pw_conditions c = on_host(bytes, block);

    c.kind = kind;
    c.set |= shared ? PW_IF_SHARED : 0;
    return cost(PW_STRATEGY_PACKED, &c) < cost(PW_STRATEGY_NATIVE, &c);
}

/* Many short blocks are packed, few or long ones are left to the MPI; to a file only tiny ones are packed. */
static void short_blocks_are_packed(void **state)
{
    (void)state;
    for (int64_t bytes = 4096; bytes <= 8 << 20; bytes *= 2) {
        assert_true(packs(PW_CALL_BLOCKING, bytes, 8, false));
        assert_true(packs(PW_CALL_BLOCKING, bytes, 16, true));
        assert_false(packs(PW_CALL_BLOCKING, bytes, 4096, false));
    }
    assert_false(packs(PW_CALL_BLOCKING, 64, 32, true));
    assert_true(packs(PW_CALL_IO, 1 << 20, 8, false));
    assert_false(packs(PW_CALL_IO, 1 << 20, 256, false));
}

static void one_copy_is_cheaper_than_two(void **state)
{
    (void)state;
    for (int64_t bytes = 64; bytes <= 8 << 20; bytes *= 2) {
        pw_conditions c = on_host(bytes, 64);

        c.set |= PW_IF_SHOWN | PW_IF_SHARED;
        assert_true(cost(PW_STRATEGY_DIRECT, &c) < cost(PW_STRATEGY_PACKED, &c));
    }
}

/* Where the MPI sends one block as such, packing it gains nothing; else the block goes as bytes, for less than by any
 * other way. */
static void one_block_is_not_packed(void **state)
{
    pw_conditions c = on_host(64, 64);

    (void)state;
    c.set |= PW_IF_ONE_BLOCK;
    assert_true(cost(PW_STRATEGY_CONTIGUOUS, &c) < cost(PW_STRATEGY_NATIVE, &c));
    assert_true(cost(PW_STRATEGY_CONTIGUOUS, &c) < cost(PW_STRATEGY_PACKED, &c));
    for (c.shape.bytes = 64; c.shape.bytes < 8 << 20; c.shape.bytes *= 2) {
        c.shape.block = 8;
        c.set |= PW_IF_SENT_DENSE;
        assert_true(cost(PW_STRATEGY_PACKED, &c) >= cost(PW_STRATEGY_NATIVE, &c));
    }
}

/* A message to oneself: both sides are this process's, of which one may be contiguous. */
static void both_sides_count(void **state)
{
    const int64_t bytes = 1 << 20;
    pw_conditions dense = {.kind = PW_CALL_COLLECTIVE, .shape = {bytes, bytes, 2}};
    pw_conditions to = on_host(bytes, 8), from = on_host(bytes, 64), c = from;

    (void)state;
    to.kind = from.kind = c.kind = PW_CALL_COLLECTIVE;
    c.set |= PW_IF_TO_ONESELF;
    c.to = &to;
    near(cost(PW_STRATEGY_JOINED, &c), own(PW_STRATEGY_PACKED, &to, PW_PACK));
    near(cost(PW_STRATEGY_NATIVE, &c), (cost(PW_STRATEGY_NATIVE, &from) + cost(PW_STRATEGY_NATIVE, &to)) / 2);
    near(cost(PW_STRATEGY_PACKED, &c), own(PW_STRATEGY_PACKED, &from, PW_PACK) + cost(PW_STRATEGY_NATIVE, &dense) +
                                           own(PW_STRATEGY_PACKED, &to, PW_UNPACK));
    c.to = &dense;
    near(cost(PW_STRATEGY_JOINED, &c), own(PW_STRATEGY_PACKED, &from, PW_PACK));
    near(cost(PW_STRATEGY_NATIVE, &c), cost(PW_STRATEGY_NATIVE, &from) / 2);
}

static void far_blocks_take_a_part(void **state)
{
    pw_conditions c = on_host(1 << 20, 1 << 16);

    (void)state;
    c.set |= PW_IF_FAR;
    c.far_part = 0.8;
    near(cost(PW_STRATEGY_REMOTE, &c), 0.8 * cost(PW_STRATEGY_NATIVE, &c));
    assert_int_equal(pw_way_choose(f, &c, 1U << PW_STRATEGY_PACKED, -1), PW_STRATEGY_REMOTE);
    c.far_part = INFINITY;
    assert_int_equal(pw_way_choose(f, &c, 1U << PW_STRATEGY_PACKED, -1), PW_STRATEGY_NATIVE);
    assert_int_equal(pw_way_choose(f, &c, 0, PW_STRATEGY_REMOTE), PW_STRATEGY_REMOTE);
}

/* A kernel moves whole granules of its own memory, one more than an aligned block has but for a word, and the message's
 * bytes to where they are packed. */
static void kernels_move_granules(void **state)
{
    pw_conditions whole = on_device(1 << 20, 64, 2), part = on_device(1 << 20, 32, 4);
    double bytes = 1 << 20;

    (void)state;
    near(own(PW_STRATEGY_DEVICE, &whole, PW_PACK), f->launch + 2.875 * bytes / f->gpu_memory);
    near(own(PW_STRATEGY_DEVICE, &whole, PW_UNPACK), f->launch + 2.875 * bytes / f->gpu_memory);
    near(own(PW_STRATEGY_DEVICE, &part, PW_PACK), f->launch + 3.75 * bytes / f->gpu_memory);
    near(own(PW_STRATEGY_DEVICE, &part, PW_UNPACK), f->launch + 6.5 * bytes / f->gpu_memory);
    near(own(PW_STRATEGY_ONE_SHOT, &whole, PW_PACK), f->launch + bytes / f->mapped);
    near(own(PW_STRATEGY_ONE_SHOT, &whole, PW_UNPACK), f->launch + f->mapped_read + bytes / f->mapped);
}

/* Pieces of odd lengths cross the bus by single bytes: the guess is above that of staged. */
static void odd_pieces_are_staged(void **state)
{
    pw_conditions c = on_device(4096, 27, 2);

    (void)state;
    assert_true(cost(PW_STRATEGY_ONE_SHOT, &c) < cost(PW_STRATEGY_STAGED, &c));
    c.set |= PW_IF_ODD;
    assert_true(cost(PW_STRATEGY_ONE_SHOT, &c) > cost(PW_STRATEGY_STAGED, &c));
}

/* What another GPU opens needs no copy to the host; whole granules cross the link. */
static void other_gpus_read(void **state)
{
    pw_conditions c = on_device(1 << 20, 8, 8), opened = c;
    double bytes = 1 << 20;

    (void)state;
    c.set |= PW_IF_SHOWN;
    opened.set |= PW_IF_SHOWN | PW_IF_OPENED;
    near(own(PW_STRATEGY_STAGED, &opened, PW_PACK), own(PW_STRATEGY_DEVICE, &c, PW_PACK));
    assert_true(cost(PW_STRATEGY_STAGED, &opened) < cost(PW_STRATEGY_STAGED, &c));
    near(cost(PW_STRATEGY_DIRECT, &c),
         f->message + 2 * f->copied * (1 << 20) + f->peer_launch + 8 * bytes / f->peer_bytes);
    c.set &= ~(unsigned)PW_IF_LAYOUT;
    near(cost(PW_STRATEGY_DIRECT, &c),
         f->message + 2 * f->copied * (1 << 20) + f->peer_launch + (bytes + 56) / f->peer_bytes);
}

/* Short blocks of a long message cross the link packed, since whole granules would cross it otherwise; long blocks, and
 * short messages, are read where they are. */
static void short_blocks_do_not_cross(void **state)
{
    static const struct {
        int64_t bytes, block;
        double spread;
        bool direct;
    } rows[] = {{512 << 10, 8, 2, true},  {4 << 20, 8, 2, false},   {32 << 20, 8, 2, false}, {512 << 10, 8, 8, false},
                {32 << 20, 64, 2, false}, {32 << 20, 512, 2, true}, {64 << 10, 8, 8, true}};

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        pw_conditions c = on_device(rows[i].bytes, rows[i].block, rows[i].spread);

        c.set |= PW_IF_SHOWN | PW_IF_OPENED | PW_IF_SHARED;
        assert_int_equal(pw_way_choose(f, &c, 0, -1) == PW_STRATEGY_DIRECT, rows[i].direct);
    }
}

/* Kernels that write mapped memory need no copy behind them: on the default GPU, as on an H100. */
static void defaults_choose(void **state)
{
    pw_conditions small = on_device(4096, 64, 2), large = on_device(64 << 20, 8, 16);

    (void)state;
    assert_int_equal(pw_way_choose(f, &small, 0, -1), PW_STRATEGY_ONE_SHOT);
    assert_int_equal(pw_way_choose(f, &large, 0, -1), PW_STRATEGY_ONE_SHOT);
    large.set &= ~(unsigned)PW_IF_NOT_TAKEN;
    assert_true(cost(PW_STRATEGY_NATIVE, &large) > 100 * cost(PW_STRATEGY_STAGED, &large));
}

/* ---- choosing ---------------------------------------------------------------------------------------------------- */

static void cheapest_way_is_chosen(void **state)
{
    pw_conditions few = on_host(1 << 16, 4096), many = on_host(1 << 16, 8);

    (void)state;
    assert_int_equal(pw_way_choose(f, &few, 0, -1), PW_STRATEGY_NATIVE);
    assert_int_equal(pw_way_choose(f, &many, 0, -1), PW_STRATEGY_PACKED);
    assert_int_equal(pw_way_choose(f, &many, 1U << PW_STRATEGY_PACKED, -1), PW_STRATEGY_NATIVE);
    assert_int_equal(pw_way_choose(f, &few, 0, PW_STRATEGY_PACKED), PW_STRATEGY_PACKED);
    assert_int_equal(pw_way_choose(f, &many, 0, PW_STRATEGY_NATIVE), PW_STRATEGY_NATIVE);
    assert_int_equal(pw_way_choose(f, &few, 0, PW_STRATEGY_STAGED), PW_STRATEGY_NATIVE);
    /* If no way can carry it, the MPI gets it. */
    few.set = PW_IF_NOT_TAKEN;
    assert_int_equal(pw_way_choose(f, &few, 0, -1), PW_STRATEGY_NATIVE);
}

static void some_messages_leave_no_choice(void **state)
{
    const unsigned cut = ORDINARY | PW_IF_CUT_HERE, block = ORDINARY | PW_IF_ONE_BLOCK;

    (void)state;
    assert_true(pw_way_certain(ORDINARY, 0, false) < 0);
    assert_int_equal(pw_way_certain(cut, 0, true), PW_STRATEGY_PACKED);
    assert_true(pw_way_certain(cut, 1U << PW_STRATEGY_PACKED, false) < 0);
    assert_true(pw_way_certain(cut | PW_IF_TO_ONESELF, 0, false) < 0);
    assert_int_equal(pw_way_certain(block, 0, false), PW_STRATEGY_CONTIGUOUS);
    assert_true(pw_way_certain(block, 0, true) < 0);
    assert_true(pw_way_certain(block | PW_IF_SENT_DENSE, 0, false) < 0);
}

/* Native is the first rival everywhere, and messages that meet in a call have rivals of the same number. */
static void rivals_begin_with_native(void **state)
{
    static const unsigned sets[] = {ORDINARY, ORDINARY | PW_IF_TO_ONESELF, ON_GPU};
    const uint8_t *ways, *others;

    (void)state;
    for (int i = 0; i < 3; i++) {
        assert_true(pw_way_rivals(sets[i], &ways) > 1);
        assert_int_equal(ways[0], PW_STRATEGY_NATIVE);
    }
    assert_int_equal(pw_way_rivals(sets[0], &ways), pw_way_rivals(sets[1], &others));
    assert_int_equal(ways[1], PW_STRATEGY_PACKED);
    assert_int_equal(others[1], PW_STRATEGY_JOINED);
}

/* Returns whether a trial lets a block to oneself take a way while the other blocks of its collective do as usual: that
 * is, in a slot whose way those cannot take. */
static bool is_tried_alone(int way)
{
    const unsigned block = PW_IF_LAYOUT | PW_IF_ONE_WAY | PW_IF_BYTES | PW_IF_SHORT | PW_IF_IN_PIECES;
    const uint8_t *own, *others;
    int n = pw_way_rivals(block, &others);
    bool found = false;

    pw_way_rivals(block | PW_IF_TO_ONESELF, &own);
    for (int i = 0; i < n; i++)
        found = found || (own[i] == way && !pw_way_can(others[i], block));
    return found && pw_way_can(way, block | PW_IF_TO_ONESELF);
}

/* Where others are left to the MPI, one pass over the own block may gain; where they are packed, it may lose. Neither
 * is found out in a slot that packs the others, too. A long block that is sent dense is first guessed native. */
static void own_blocks_are_tried_alone(void **state)
{
    const unsigned dense = PW_IF_TO_ONESELF | PW_IF_ONE_WAY | PW_IF_BYTES | PW_IF_SHORT;
    pw_conditions to = {.set = PW_IF_LAYOUT, .kind = PW_CALL_COLLECTIVE, .shape = {1 << 20, 1 << 10, 2}};
    pw_conditions c = {.set = dense, .kind = PW_CALL_COLLECTIVE, .shape = {1 << 20, 1 << 20, 2}, .to = &to};

    (void)state;
    assert_true(is_tried_alone(PW_STRATEGY_JOINED));
    assert_true(is_tried_alone(PW_STRATEGY_PACKED));
    assert_int_equal(pw_way_choose(f, &c, 0, -1), PW_STRATEGY_NATIVE);
}

static void blocks_of_collectives(void **state)
{
    (void)state;
    assert_int_equal(pw_cost_bytes(PW_CALL_COLLECTIVE, 800, 8), 200);
    assert_int_equal(pw_cost_bytes(PW_CALL_NEIGHBOUR, 800, 8), 100);
    assert_int_equal(pw_cost_bytes(PW_CALL_COLLECTIVE, 800, 2), 800);
    assert_int_equal(pw_cost_bytes(PW_CALL_NEIGHBOUR, 3, 8), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ways_in_host_memory),
        cmocka_unit_test(ways_in_gpu_memory),
        cmocka_unit_test(shapes),
        cmocka_unit_test(impossible_ways_cost_nothing),
        cmocka_unit_test(host_memory_is_guessed),
        cmocka_unit_test(short_blocks_are_packed),
        cmocka_unit_test(one_copy_is_cheaper_than_two),
        cmocka_unit_test(one_block_is_not_packed),
        cmocka_unit_test(both_sides_count),
        cmocka_unit_test(far_blocks_take_a_part),
        cmocka_unit_test(kernels_move_granules),
        cmocka_unit_test(odd_pieces_are_staged),
        cmocka_unit_test(other_gpus_read),
        cmocka_unit_test(short_blocks_do_not_cross),
        cmocka_unit_test(defaults_choose),
        cmocka_unit_test(cheapest_way_is_chosen),
        cmocka_unit_test(some_messages_leave_no_choice),
        cmocka_unit_test(rivals_begin_with_native),
        cmocka_unit_test(own_blocks_are_tried_alone),
        cmocka_unit_test(blocks_of_collectives),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
