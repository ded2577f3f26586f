/*
 * Random pairs of layouts joined and copied by compiled kernels, both ways, against their typemaps, for this CPU and
 * for the lower levels that it can run. Usage: test_joined_llvm [pairs [first seed]]
 */
#include "tests/codegen/joined/pairs.h"
#include "tests/codegen/llvm/kernels.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <setjmp.h>

#include <cmocka.h>

enum { DEFAULT_PAIRS = 1500 };

typedef struct plan {
    uint64_t seed;
    int64_t pairs;
} plan;

typedef struct bound {
    const kernel *kernel;
    pw_kernel_args args;
} bound;

static void run(void *how, bool back, void *dst, const void *src, int64_t objects)
{
    const bound *b = how;

    (back ? b->kernel->unpack : b->kernel->pack)(dst, src, objects, &b->args);
}

static pw_target pick_target(uint64_t i)
{
    pw_target t;

    if (i % 2 == 0 || !pw_target_compatible((int)(i / 2 % 4) + 1, &t))
        t = *pw_target_host();
    return t;
}

static void check(kernels *k, const pair *p, uint64_t seed)
{
    pw_nest *nest;
    pw_shape *shape;
    pw_arena *arena = pw_arena_create();
    pw_target target = pick_target(seed);
    pw_diag diag = {0};
    char label[32];
    bound how;

    if (p->bytes > 0 && pw_lower_join(&p->type[0], &p->type[1], &nest, NULL, &diag) == PW_OK) {
        snprintf(label, sizeof label, "seed %" PRIu64, seed);
        assert_int_equal(pw_shape_create(nest, &shape), PW_OK);
        assert_int_equal(pw_shape_bind(shape, nest, arena, &how.args), PW_OK);
        how.kernel = kernels_get(k, shape, &target, label);
        assert_true(pair_check(p, nest, seed, run, &how));
        pw_shape_unref(shape);
        pw_nest_destroy(nest);
    }
    pw_arena_destroy(arena);
}

static void copies_as_typemaps_say(void **state)
{
    const plan *todo = *state;
    kernels k;

    kernels_init(&k);
    for (uint64_t seed = todo->seed; seed < todo->seed + (uint64_t)todo->pairs; seed++) {
        pair p;

        pair_init(&p, seed, seed % 20 == 0 ? 20000 : seed % 3 == 0 ? 300 : 3000);
        check(&k, &p, seed);
        pair_free(&p);
    }
    print_message("%" PRId64 " pairs, %d kernels compiled\n", todo->pairs, k.compiled);
    kernels_free(&k);
}

/* Rows of so many bytes that their kernels prefetch, with ends that are no whole group. */
static void long_rows_are_copied_whole(void **state)
{
    static const char *const rows[][2] = {
        {"type(lb 0, extent 600000) { stream 4099 stride 128 { bytes 64 align 8 } }",
         "type(lb 0, extent 600000) { stream 4099 stride 144 { bytes 64 align 8 } }"},
        {"type(lb 0, extent 3000000) { stream 1031 stride 2048 { bytes 256 align 8 } }",
         "type(lb 0, extent 300000) { bytes 263936 align 8 }"},
        {"type(lb 0, extent 900000) { stream 71 stride 12000 { stream 67 stride 160 { bytes 80 align 8 } } }",
         "type(lb 0, extent 900000) { stream 71 stride 8000 { stream 67 stride 96 { bytes 80 align 8 } } }"}};
    kernels k;

    (void)state;
    kernels_init(&k);
    for (uint64_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (uint64_t target = 0; target < 8; target++) {
            pair p;

            pair_parse(&p, rows[i][0], rows[i][1]);
            check(&k, &p, target);
            pair_free(&p);
        }
    assert_true(k.compiled >= 3);
    kernels_free(&k);
}

int main(int argc, char **argv)
{
    plan p = {.pairs = argc > 1 ? strtoll(argv[1], NULL, 10) : DEFAULT_PAIRS,
              .seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1};
    const struct CMUnitTest tests[] = {cmocka_unit_test_prestate(copies_as_typemaps_say, &p),
                                       cmocka_unit_test(long_rows_are_copied_whole)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
