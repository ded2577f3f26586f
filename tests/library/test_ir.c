/*
 * Random trees of every kind of node, given to the library as text, against the walk that defines the IR
 * (tests/support/judge.h): pack, unpack and ranges between pages that cannot be touched, and lists of blocks.
 *
 * usage: test_library_ir [first seed [seeds]]
 */
#include "tests/support/judge.h"
#include "tests/support/random_ir.h"

#include <packwright/packwright.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static uint64_t first_seed = 1;
static int seeds = 500;

static void run(void *how, const pw_judge_call *call)
{
    const packwright_type *type = how;
    bool whole = call->first == 0 && call->last == call->count * packwright_size(type);
    packwright_status status;

    if (call->unpack)
        status = whole ? packwright_unpack(type, call->dst, call->count, call->src)
                       : packwright_unpack_range(type, call->dst, call->count, call->first, call->last, call->src);
    else
        status = whole ? packwright_pack(type, call->src, call->count, call->dst)
                       : packwright_pack_range(type, call->src, call->count, call->first, call->last, call->dst);
    assert_int_equal(status, PACKWRIGHT_OK);
}

/* Both buffers at either end of their room, where one byte too many is a fault. */
static void check_range(pw_judge *j, packwright_type *type, int64_t first, int64_t last)
{
    static const pw_judge_place places[] = {{0, PW_AT_END}, {PW_AT_END, 0}};

    for (int i = 0; i < 2; i++) {
        assert_int_equal(pw_judge_pack(j, places[i], first, last, run, type), PW_JUDGED_RIGHT);
        if (!j->overlaps)
            assert_int_equal(pw_judge_unpack(j, places[i], first, last, run, type), PW_JUDGED_RIGHT);
    }
}

/* Every window of three blocks, from every block on. */
static void check_blocks(const pw_judge *j, const packwright_type *type)
{
    packwright_iov iov[3];
    int64_t at = 0, n, before;

    for (int64_t block = 0; block < 200; block++) {
        assert_int_equal(packwright_iovs(type, NULL, j->count, block, 3, iov, &n), PACKWRIGHT_OK);
        before = at;
        for (int64_t i = 0; i < n; i++) {
            for (size_t k = 0; k < iov[i].length; k++)
                assert_int_equal((int64_t)(uintptr_t)iov[i].base + (int64_t)k, j->where[at + (int64_t)k]);
            at += (int64_t)iov[i].length;
        }
        if (n == 0)
            break;
        at = before + (int64_t)iov[0].length;
    }
}

static void check_type(const pw_type *type, uint64_t seed, int64_t count)
{
    packwright_type *t = NULL;
    char *text = pw_print(type, 0);
    pw_rng rng = {seed};
    pw_judge j;

    assert_int_equal(packwright_from_ir(text, &t), PACKWRIGHT_OK);
    pw_judge_init(&j, type, count, seed);
    check_range(&j, t, 0, j.total);
    for (int i = 0; i < 5; i++) {
        int64_t first = pw_rng_range(&rng, 0, j.total);

        check_range(&j, t, first, pw_rng_range(&rng, first, j.total));
    }
    check_blocks(&j, t);
    pw_judge_free(&j);
    packwright_type_free(t);
    free(text);
}

static void random_trees(void **state)
{
    (void)state;
    for (int i = 0; i < seeds; i++) {
        uint64_t seed = first_seed + (uint64_t)i;
        pw_builder b = {.arena = pw_arena_create()};
        pw_type type = pw_random_type(&b, seed, NULL);

        assert_int_equal(b.status, PW_OK);
        fprintf(stderr, "\rseed %llu", (unsigned long long)seed);
        check_type(&type, seed, (int64_t)(seed % 4));
        pw_arena_destroy(b.arena);
    }
    fprintf(stderr, "\n");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_trees)};

    if (argc > 1)
        first_seed = strtoull(argv[1], NULL, 10);
    if (argc > 2)
        seeds = atoi(argv[2]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
