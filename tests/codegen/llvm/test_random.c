/*
 * Random types against pw_walk, for this CPU and for every lower level it can run, so that the code for machines
 * without masked moves is tested too. Usage: test_llvm_random [types [first seed]]
 */
#include "tests/codegen/llvm/kernels.h"
#include "tests/support/random_ir.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <setjmp.h>

#include <cmocka.h>

enum { DEFAULT_TYPES = 1500 };

typedef struct plan {
    uint64_t seed;
    int64_t types;
} plan;

/* The i-th target in turn; the host comes up most. */
static pw_target pick_target(int64_t i)
{
    pw_target t;
    if (i % 2 == 0 || !pw_target_compatible((int)(i / 2 % 4) + 1, &t))
        t = *pw_target_host();
    return t;
}

static void random_types(void **state)
{
    const plan *p = *state;
    kernels k;
    kernels_init(&k);
    for (int64_t i = 0; i < p->types; i++) {
        uint64_t seed = p->seed + (uint64_t)i;
        pw_builder b = {.arena = pw_arena_create()};
        pw_random_options options = {.max_size = i % 20 == 0 ? 40000 : i % 3 == 0 ? 300 : 2000};
        pw_target target = pick_target(i);
        char label[64];
        pw_type type = pw_random_type(&b, seed, &options);
        assert_int_equal(b.status, PW_OK);
        snprintf(label, sizeof label, "seed %" PRIu64, seed);
        if (i % 16 == 5)
            check_embedded(&k, &type, (int64_t)(seed % 5), &target, seed, label);
        else
            check_kernel(&k, &type, (int64_t)(seed % 5), &target, seed, label);
        pw_arena_destroy(b.arena);
    }
    print_message("%" PRId64 " types, %d kernels compiled\n", p->types, k.compiled);
    kernels_free(&k);
}

int main(int argc, char **argv)
{
    plan p = {.types = argc > 1 ? strtoll(argv[1], NULL, 10) : DEFAULT_TYPES,
              .seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1};
    const struct CMUnitTest tests[] = {cmocka_unit_test_prestate(random_types, &p)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
