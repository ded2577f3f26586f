/* What a model says beside its facts: which blocks gain by being read over a network. */
#include "runtime/engine/model/file.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_over_a_network),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
