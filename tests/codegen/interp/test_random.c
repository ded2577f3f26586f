/* Usage: test_interp_random [types [first seed]] */
#include "tests/codegen/interp/check.h"
#include "tests/support/random_ir.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <setjmp.h>

#include <cmocka.h>

enum { DEFAULT_TYPES = 4000, RANGES = 4 };

typedef struct plan {
    uint64_t seed;
    int64_t types;
} plan;

static void random_types(void **state)
{
    const plan *p = *state;

    for (int64_t i = 0; i < p->types; i++) {
        uint64_t seed = p->seed + (uint64_t)i;
        pw_builder b = {.arena = pw_arena_create()};
        pw_random_options options = {.max_size = i % 50 == 0 ? 40000 : i % 3 == 0 ? 300 : 2000};
        pw_type type;
        char label[64];

        assert_non_null(b.arena);
        type = pw_random_type(&b, seed, &options);
        assert_int_equal(b.status, PW_OK);
        snprintf(label, sizeof label, "seed %" PRIu64 " (type %" PRId64 ")", seed, i);
        check_type(&type, (int64_t)(seed % 6), RANGES, seed, label);
        pw_arena_destroy(b.arena);
    }
}

int main(int argc, char **argv)
{
    plan p = {.types = argc > 1 ? strtoll(argv[1], NULL, 10) : DEFAULT_TYPES,
              .seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1};
    const struct CMUnitTest tests[] = {cmocka_unit_test_prestate(random_types, &p)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
