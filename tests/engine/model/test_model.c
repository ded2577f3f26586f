/* Costs of strategies: sums of facts, by default and as measured. */
#include "runtime/choice/guess.h"
#include "runtime/engine/model/file.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const pw_model defaults = {.facts = PW_FACTS_DEFAULT};

static void near(double got, double expected)
{
    if (fabs(got - expected) > 1e-6 * expected)
        fail_msg("%g in place of %g", got, expected);
}

static void shapes(void **state)
{
    pw_model_shape s = pw_model_shape_of(1000, 10, -16000);

    (void)state;
    assert_int_equal(s.block, 100);
    near(s.spread, 16);
    near(pw_model_shape_of(1000, 10, 1000).spread, 2);
    assert_int_equal(pw_model_shape_of(3, 10, 10).block, 1);
}

/* In host memory costs are the guesses of runtime/choice, by the facts of the model. */
static void host_memory_is_guessed(void **state)
{
    const pw_facts *f = &pw_facts_default;
    pw_model_query q = {.kind = PW_CALL_NONBLOCKING, .shape = {1 << 20, 64, 2}};
    const int64_t blocks = (1 << 20) / 64;
    pw_model slow = defaults;

    (void)state;
    near(pw_model_cost_native(&defaults, &q), pw_guess_native(f, 1 << 20, blocks));
    near(pw_model_cost(&defaults, PW_MODEL_HOST, &q), pw_guess_packed(f, 1 << 20, blocks, false));
    near(pw_model_cost_direct(&defaults, &q), pw_guess_direct(f, 1 << 20, blocks));
    near(pw_model_own(&defaults, PW_MODEL_HOST, &q, PW_UNPACK), pw_guess_move(f, 1 << 20, blocks));
    q.kind = PW_CALL_IO;
    near(pw_model_cost_native(&defaults, &q), pw_guess_passed(f, 1 << 20, blocks));
    near(pw_model_cost(&defaults, PW_MODEL_HOST, &q), pw_guess_passed_packed(f, 1 << 20, blocks));
    assert_int_equal(pw_model_set(&slow, PW_FACT_passed, 400, NULL), PW_OK);
    near(pw_model_cost_native(&slow, &q), pw_guess_passed(&slow.facts, 1 << 20, blocks));
    q.contiguous = true;
    near(pw_model_cost_native(&defaults, &q), pw_guess_contiguous(f, 1 << 20));
}

static pw_model_query on_device(int64_t bytes, int64_t block, double spread)
{
    return (pw_model_query){
        .memory = PW_MODEL_DEVICE, .shape = {bytes, block, spread}, .chunk = 1 << 20, .kind = PW_CALL_BLOCKING};
}

/* A kernel moves whole granules of its own memory, and the message's bytes to where they are packed. */
static void kernels_move_granules(void **state)
{
    const pw_facts *f = &pw_facts_default;
    pw_model_query whole = on_device(1 << 20, 64, 2), part = on_device(1 << 20, 32, 4);
    double bytes = 1 << 20;

    (void)state;
    near(pw_model_own(&defaults, PW_MODEL_DEVICE, &whole, PW_PACK), f->launch + 2 * bytes / f->gpu_memory);
    near(pw_model_own(&defaults, PW_MODEL_DEVICE, &whole, PW_UNPACK), f->launch + 2 * bytes / f->gpu_memory);
    near(pw_model_own(&defaults, PW_MODEL_DEVICE, &part, PW_PACK), f->launch + 3 * bytes / f->gpu_memory);
    near(pw_model_own(&defaults, PW_MODEL_DEVICE, &part, PW_UNPACK), f->launch + 5 * bytes / f->gpu_memory);
    near(pw_model_own(&defaults, PW_MODEL_MAPPED, &whole, PW_PACK), f->launch + bytes / f->mapped);
    near(pw_model_own(&defaults, PW_MODEL_MAPPED, &whole, PW_UNPACK), f->launch + f->mapped_read + bytes / f->mapped);
}

/* One chunk takes as long as staged; of many, copies and kernels overlap. */
static void chunks_overlap(void **state)
{
    pw_model_query q = on_device(1 << 20, 8, 16);
    double one, many;

    (void)state;
    q.chunk = q.shape.bytes = 4 << 20;
    one = pw_model_own(&defaults, PW_MODEL_STAGED, &q, PW_PACK);
    near(pw_model_own(&defaults, PW_MODEL_PIPELINED, &q, PW_PACK), one);
    q.shape.bytes = 64 << 20;
    many = pw_model_own(&defaults, PW_MODEL_PIPELINED, &q, PW_PACK);
    assert_true(many < pw_model_own(&defaults, PW_MODEL_STAGED, &q, PW_PACK));
    near(many, one + 15 * ((4 << 20) / pw_facts_default.host_link + pw_facts_default.launch / 4));
}

/* What another GPU opens needs no copy to the host; whole granules cross the link. */
static void other_gpus_read(void **state)
{
    const pw_facts *f = &pw_facts_default;
    pw_model_query q = on_device(1 << 20, 8, 8), opened = q;
    double bytes = 1 << 20;

    (void)state;
    opened.opened = true;
    near(pw_model_own(&defaults, PW_MODEL_STAGED, &opened, PW_PACK),
         pw_model_own(&defaults, PW_MODEL_DEVICE, &q, PW_PACK));
    assert_true(pw_model_cost(&defaults, PW_MODEL_STAGED, &opened) < pw_model_cost(&defaults, PW_MODEL_STAGED, &q));
    near(pw_model_cost_direct(&defaults, &q),
         pw_guess_contiguous(f, 1 << 20) + f->peer_launch + 8 * bytes / f->peer_granules);
    q.contiguous = true;
    near(pw_model_cost_direct(&defaults, &q), pw_guess_contiguous(f, 1 << 20) + f->peer_launch + bytes / f->peer_bytes);
}

/* Long enough messages are staged by chunks, short ones go by mapped memory: on the default GPU, as on an H100. */
static void defaults_choose(void **state)
{
    pw_model_query small = on_device(4096, 64, 2), large = on_device(64 << 20, 8, 16);

    (void)state;
    assert_true(pw_model_cost(&defaults, PW_MODEL_MAPPED, &small) < pw_model_cost(&defaults, PW_MODEL_STAGED, &small));
    assert_true(pw_model_cost(&defaults, PW_MODEL_PIPELINED, &large) <
                pw_model_cost(&defaults, PW_MODEL_STAGED, &large));
    assert_true(pw_model_cost_native(&defaults, &large) > 100 * pw_model_cost(&defaults, PW_MODEL_STAGED, &large));
}

/* Over a network, what was measured over its transports counts, and else defaults of what is known to gain. */
static void reads_over_a_network(void **state)
{
    pw_model m = {.facts = PW_FACTS_DEFAULT, .origin = {.network = "tcp"}};

    (void)state;
    assert_true(isinf(pw_model_remote_part(&m, "tcp", 1 << 20, 1 << 20)));
    assert_true(pw_model_remote_least(&m, "tcp") == INT64_MAX);
    assert_int_equal(pw_model_remote_least(&m, "cma,posix"), 262144);
    assert_true(pw_model_remote_part(&m, "rc_mlx5", 262144, 16384) < 1);
    assert_true(isinf(pw_model_remote_part(&m, "rc_mlx5", 262143, 16384)));
    assert_true(isinf(pw_model_remote_part(&m, "rc_mlx5", 262144, 16383)));
    assert_true(pw_model_remote_least(&m, "") == INT64_MAX && pw_model_remote_least(&m, "posix,tcp") == INT64_MAX);
    assert_int_equal(pw_model_set(&m, PW_FACT_remote_least, 65536, NULL), PW_OK);
    assert_int_equal(pw_model_set(&m, PW_FACT_remote_block, 2048, NULL), PW_OK);
    assert_int_equal(pw_model_remote_least(&m, "tcp"), 65536);
    assert_true(pw_model_remote_part(&m, "tcp", 65536, 2048) < 1);
    assert_true(isinf(pw_model_remote_part(&m, "tcp", 65536, 2047)));
    assert_int_equal(pw_model_remote_least(&m, "posix"), 262144);
    assert_int_equal(pw_model_set(&m, PW_FACT_remote_least, INFINITY, NULL), PW_OK);
    assert_true(pw_model_remote_least(&m, "tcp") == INT64_MAX);
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
        cmocka_unit_test(shapes),
        cmocka_unit_test(host_memory_is_guessed),
        cmocka_unit_test(kernels_move_granules),
        cmocka_unit_test(chunks_overlap),
        cmocka_unit_test(other_gpus_read),
        cmocka_unit_test(defaults_choose),
        cmocka_unit_test(reads_over_a_network),
        cmocka_unit_test(blocks_of_collectives),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
