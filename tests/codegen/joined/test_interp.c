/*
 * Random pairs of layouts joined and copied by the interpreter and block by block, both ways, against their typemaps;
 * and trees raised from nests against those that the nests were lowered from. Usage: test_joined_interp [pairs [first
 * seed]]
 */
#include "codegen/interp/interp.h"
#include "ir/join.h"
#include "passes/passes.h"
#include "tests/codegen/joined/pairs.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

enum { DEFAULT_PAIRS = 30000 };

typedef struct plan {
    uint64_t seed;
    int64_t pairs;
} plan;

static void interpret(void *how, bool back, void *dst, const void *src, int64_t objects)
{
    if (back)
        pw_interp_unpack(how, dst, objects, src);
    else
        pw_interp_pack(how, src, objects, dst);
}

static int64_t size_of(uint64_t i)
{
    return i % 50 == 0 ? 20000 : i % 3 == 0 ? 300 : 3000;
}

static void copy_pairs(const plan *todo, int64_t pairs, pair_copy *copy)
{
    pw_pass_options options = {.verify = true};
    int64_t joined = 0, refused = 0;

    for (uint64_t seed = todo->seed; seed < todo->seed + (uint64_t)pairs; seed++) {
        pw_nest *nest;
        pw_diag diag = {0};
        pw_status status;
        pair p;

        pair_init(&p, seed, size_of(seed));
        status = p.bytes ? pw_lower_join(&p.type[0], &p.type[1], &nest, &options, &diag) : PW_ERR_UNSUPPORTED;
        if (status == PW_OK) {
            joined++;
            assert_true(pair_check(&p, nest, seed, copy, nest));
            pw_nest_destroy(nest);
        } else {
            refused += p.bytes > 0;
            if (status != PW_ERR_UNSUPPORTED)
                fail_msg("seed %" PRIu64 ": %s", seed, diag.text);
        }
        pair_free(&p);
    }
    print_message("%" PRId64 " pairs joined, %" PRId64 " refused\n", joined, refused);
    assert_true(refused * 50 <= joined);
}

static void copies_as_typemaps_say(void **state)
{
    const plan *todo = *state;

    copy_pairs(todo, todo->pairs, interpret);
}

typedef struct blockwise {
    bool back;
    char *dst;
    const char *src;
    int64_t n;
} blockwise;

static bool copy_block(void *arg, int64_t mem, int64_t packed, int64_t bytes)
{
    blockwise *b = arg;

    b->n++;
    memcpy(b->dst + (b->back ? mem : packed), b->src + (b->back ? packed : mem), (size_t)bytes);
    return true;
}

static void copy_blocks(void *how, bool back, void *dst, const void *src, int64_t objects)
{
    const pw_nest *nest = how;
    blockwise b = {.back = back, .dst = dst, .src = src};

    assert_true(pw_nest_walk_joined(nest, objects, copy_block, &b));
    assert_int_equal(b.n, pw_nest_blocks(nest) * objects);
}

/* With so many pairs at most, unless more are asked for. */
static void blocks_are_where_typemaps_say(void **state)
{
    enum { SOME = 5000 };
    const plan *todo = *state;

    copy_pairs(todo, todo->pairs == DEFAULT_PAIRS ? SOME : todo->pairs, copy_blocks);
}

typedef struct blocks {
    int64_t n, cap, *offs;
} blocks;

static bool note(void *arg, int64_t off, int64_t n)
{
    blocks *b = arg;

    for (int64_t i = 0; i < n; i++) {
        if (b->n == b->cap)
            return false;
        b->offs[b->n++] = off + i;
    }
    return true;
}

static void raised_trees_walk_alike(void **state)
{
    const plan *todo = *state;
    int64_t pairs = todo->pairs < DEFAULT_PAIRS ? todo->pairs : DEFAULT_PAIRS;

    for (uint64_t seed = todo->seed; seed < todo->seed + (uint64_t)pairs; seed++) {
        pair p;

        pair_init(&p, seed, size_of(seed));
        for (int s = 0; s < 2; s++) {
            pw_nest *nest;
            pw_builder b = {.arena = p.arena};
            pw_diag diag = {0};
            const pw_node *raised;
            size_t size = (size_t)p.type[s].root->size;
            blocks was = {.cap = (int64_t)size, .offs = calloc(size + 1, 8)}, is = was;

            assert_int_equal(pw_lower(&p.type[s], &nest, NULL, &diag), PW_OK);
            raised = pw_nest_raise(&b, nest);
            if (!raised)
                fail_msg("seed %" PRIu64 ": a nest of side %d cannot be raised", seed, s);
            is.offs = calloc(size + 1, 8);
            pw_walk(p.type[s].root, 0, note, &was);
            assert_true(pw_walk(raised, 0, note, &is));
            assert_int_equal(is.n, was.n);
            assert_memory_equal(is.offs, was.offs, size * 8);
            free(was.offs);
            free(is.offs);
            pw_nest_destroy(nest);
        }
        pair_free(&p);
    }
}

int main(int argc, char **argv)
{
    plan p = {.pairs = argc > 1 ? strtoll(argv[1], NULL, 10) : DEFAULT_PAIRS,
              .seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1};
    const struct CMUnitTest tests[] = {cmocka_unit_test_prestate(copies_as_typemaps_say, &p),
                                       cmocka_unit_test_prestate(blocks_are_where_typemaps_say, &p),
                                       cmocka_unit_test_prestate(raised_trees_walk_alike, &p)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
