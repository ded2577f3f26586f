/* Parts of packed objects by compiled kernels: every kind of loop that can be cut, in pieces of any size and order. */
#include "tests/cache/layout_scene.h"
#include "tests/support/judge.h"
#include "tests/support/random_ir.h"

#include <stdlib.h>
#include <string.h>

enum { RANGES = 120, TYPES = 40, SHUFFLED = 64 };

static void run(void *how, const pw_judge_call *c)
{
    if (c->unpack)
        pw_layout_unpack_part(how, c->dst, c->first, c->last, c->src);
    else
        pw_layout_pack_part(how, c->src, c->first, c->last, c->dst);
}

static bool check_range(pw_judge *j, pw_layout *layout, pw_rng *rng, int64_t first, int64_t last)
{
    pw_judge_place place = {.memory = pw_rng_one_in(rng, 2) ? PW_AT_END : pw_rng_range(rng, 0, 15),
                            .packed = pw_rng_one_in(rng, 2) ? PW_AT_END : pw_rng_range(rng, 0, 15)};

    return pw_judge_pack(j, place, first, last, run, layout) == PW_JUDGED_RIGHT &&
           (j->overlaps || pw_judge_unpack(j, place, first, last, run, layout) == PW_JUDGED_RIGHT);
}

static bool check_type(pw_layout *layout, const pw_type *type, int64_t count, pw_rng *rng)
{
    pw_judge j;
    bool ok = true;

    pw_judge_init(&j, type, count, 1);
    for (int i = 0; ok && i < RANGES; i++) {
        int64_t first = pw_rng_range(rng, 0, j.total), last = pw_rng_range(rng, first, j.total);

        if (pw_rng_one_in(rng, 2)) /* a short one */
            last = first + (last - first) % 100;
        ok = check_range(&j, layout, rng, first, last);
        if (!ok)
            fprintf(stderr, "bytes [%lld, %lld) of %lld objects are wrong\n", (long long)first, (long long)last,
                    (long long)count);
    }
    pw_judge_free(&j);
    return ok;
}

static const char *const types[] = {
    "type(lb 0, extent 51200) { stream 200 stride 256 { bytes 64 align 1 } }",
    "type(lb 0, extent 999) { stream 37 stride 27 { bytes 13 align 1 } }",
    "type(lb -8000, extent 8) { stream 300 stride -24 { bytes 8 align 1 } }",
    "type(lb 0, extent 160000) { stream 20 stride 8000 { stream 25 stride 80 { bytes 24 align 1 } } }",
    "type(lb 0, extent 960000) { stream 18 stride 50000 { stream 19 stride 2064 { stream 17 stride 24 { bytes 8 align "
    "8 "
    "} } } }",
    /* loops inside whose counts the code contains */
    "type(lb 0, extent 80000) { stream 50 stride 1600 { stream 5 stride 200 { stream 3 stride 40 { bytes 8 align 1 } } "
    "} "
    "}",
    /* a struct in a loop */
    "type(lb 0, extent 9000) { stream 100 stride 90 { seq { @0 bytes 1 align 1 @8 bytes 8 align 1 @40 bytes 12 align 1 "
    "} "
    "} }",
    "type(lb 0, extent 24) { seq { @0 bytes 1 align 1 @8 bytes 8 align 1 @16 bytes 4 align 1 } }",
    /* several regions */
    "type(lb 0, extent 90000) { seq { @0 bytes 3 align 1 @100 stream 20 stride 50 { bytes 7 align 1 } @70000 bytes "
    "5000 "
    "align 1 } }",
    /* transposes */
    "type(lb 0, extent 13068) { stream 33 stride 12 { stream 33 stride 396 { bytes 12 align 1 } } }",
    "type(lb 0, extent 33800) { stream 65 stride 8 { stream 65 stride 520 { bytes 8 align 1 } } }",
    /* lists */
    "type(lb 0, extent 9000) { blocks [0:8, 72:31, 24:1, 880:600, 2000:64, 2100:63, 2200:65, 2300:128, 2500:129, "
    "3000:256, 3300:257, 4000:2047, 6100:2048, 8200:3, 8300:7, 8400:17] }",
    "type(lb 0, extent 30000) { stream 30 stride 1000 { blocks [0:3, 10:1, 20:2, 100:300, 500:17] } }",
    "type(lb 0, extent 4000) { index [0, 100, 140, 300, 411, 520, 777, 900, 1111, 1300, 1700, 1717, 1900, 2100, 2222, "
    "2500, 2600, 2777, 3000, 3333, 3500] { bytes 12 align 1 } }",
    "type(lb 0, extent 90000) { stream 20 stride 4400 { index [0, 100, 140, 300, 411, 520, 777, 900, 1111, 1300, 1700, "
    "1717, 1900, 2100, 2222, 2500, 2600, 2777, 3000, 3333, 3500] { stream 3 stride 9 { bytes 5 align 1 } } } }",
};

static void every_kind(void **state)
{
    pw_layout_engine *engine = layout_engine(*state, PW_JIT_SYNC, 0, true);
    pw_rng rng = {.state = 5};

    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        pw_arena *arena = pw_arena_create();
        pw_type type;
        pw_diag diag = {0};
        pw_layout *layout;

        if (pw_parse(types[i], arena, &type, NULL, &diag))
            fail_msg("%s: %s", types[i], diag.text);
        layout = layout_of_type(engine, &type);
        for (int64_t count = 1; count <= 3; count += 2)
            if (!check_type(layout, &type, count, &rng))
                fail_msg("%s", types[i]);
        pw_layout_unref(layout);
        pw_arena_destroy(arena);
    }
    pw_layout_engine_destroy(engine);
}

static void random_types(void **state)
{
    pw_layout_engine *engine = layout_engine(*state, PW_JIT_SYNC, 0, true);

    for (uint64_t seed = 1; seed <= TYPES; seed++) {
        pw_arena *arena = pw_arena_create();
        pw_builder b = {.arena = arena};
        pw_rng rng = {.state = seed};
        pw_type type = pw_random_type(&b, seed, &(pw_random_options){.max_size = 3000, .style = PW_RANDOM_STRUCTURED});
        pw_layout *layout = layout_of_type(engine, &type);

        if (!check_type(layout, &type, 2, &rng))
            fail_msg("seed %llu", (unsigned long long)seed);
        pw_layout_unref(layout);
        pw_arena_destroy(arena);
    }
    pw_layout_engine_destroy(engine);
}

/* Pieces in random order make the whole. */
static void any_order(void **state)
{
    enum { BYTES = 200 * 64, PIECE = BYTES / SHUFFLED };
    pw_layout_engine *engine = layout_engine(*state, PW_JIT_SYNC, 0, true);
    pw_layout *layout = layout_of(engine, types[0]);
    static unsigned char memory[51200], whole[BYTES], pieces[BYTES];
    int order[SHUFFLED];
    pw_rng rng = {.state = 9};

    pw_rng_fill(&rng, memory, sizeof memory);
    pw_layout_pack(layout, memory, 1, whole);
    for (int i = 0; i < SHUFFLED; i++) {
        int at = (int)pw_rng_range(&rng, 0, i);

        order[i] = order[at];
        order[at] = i;
    }
    for (int i = 0; i < SHUFFLED; i++)
        pw_layout_pack_part(layout, memory, (int64_t)order[i] * PIECE, (int64_t)(order[i] + 1) * PIECE,
                            pieces + (ptrdiff_t)order[i] * PIECE);
    assert_memory_equal(whole, pieces, BYTES);
    pw_layout_unref(layout);
    pw_layout_engine_destroy(engine);
}

/* One object is cut, and its kernel moves the rest. */
static void kernels_move_parts(void **state)
{
    pw_layout_engine *engine = layout_engine(*state, PW_JIT_SYNC, 0, true);
    pw_layout *layout = layout_of(engine, types[4]);
    static unsigned char memory[960000], packed[20000];

    assert_true(layout->parts);
    pw_layout_pack_part(layout, memory, 0, 19001, packed);
    pw_layout_unpack_part(layout, memory, 0, 19001, packed);
    assert_int_equal(layout->stats.tier1_calls, 2);
    pw_layout_unref(layout);
    pw_layout_engine_destroy(engine);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, scene_setup, scene_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(every_kind), TEST(random_types), TEST(any_order), TEST(kernels_move_parts)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
