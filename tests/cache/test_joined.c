/* Joined layouts: one for a pair, whatever counts and direction; the tiers; what does not join. */
#include "tests/cache/layout_scene.h"
#include "tests/support/rng.h"

#include <stdlib.h>
#include <string.h>

#define COLUMNS "type(lb 0, extent 1024) { stream 16 stride 8 { stream 8 stride 128 { bytes 8 align 8 } } }"
#define ROWS "type(lb 0, extent 640) { stream 8 stride 80 { bytes 64 align 8 } }"
#define CELL "type(lb 0, extent 24) { bytes 16 align 8 }"

enum { BYTES = 16 * 1024, SPAN = 64 * 1024 };

typedef struct walk {
    const unsigned char *mem;
    unsigned char *packed;
    int64_t at;
} walk;

static bool take(void *arg, int64_t off, int64_t n)
{
    walk *w = arg;

    memcpy(w->packed + w->at, w->mem + off, (size_t)n);
    w->at += n;
    return true;
}

/* The packed form of BYTES bytes, by the walk that defines the IR. */
static void pack(const char *text, const unsigned char *mem, unsigned char *packed)
{
    pw_arena *arena = pw_arena_create();
    walk w = {.mem = mem, .packed = packed};
    pw_diag diag;
    pw_type type;

    assert_int_equal(pw_parse(text, arena, &type, NULL, &diag), PW_OK);
    for (int64_t i = 0; i < BYTES / type.root->size; i++, w.mem += type.extent)
        pw_walk(type.root, 0, take, &w);
    pw_arena_destroy(arena);
}

static void check_copy(pw_layout_engine *engine, const char *from_text, const char *to_text)
{
    pw_layout *from = layout_of(engine, from_text), *to = layout_of(engine, to_text);
    unsigned char *src = malloc(SPAN), *dst = malloc(SPAN), *expected = malloc(BYTES), *got = malloc(BYTES);
    pw_rng rng = {7};
    pw_joined joined;

    pw_rng_fill(&rng, src, SPAN);
    memset(dst, 0, SPAN);
    pack(from_text, src, expected);
    assert_int_equal(pw_layout_join(from, to, &joined, NULL), PW_OK);
    for (int i = 0; i < 3; i++)
        pw_layout_copy(&joined, src, dst, BYTES);
    pack(to_text, dst, got);
    assert_memory_equal(got, expected, BYTES);
    pw_layout_unref(joined.layout);
    pw_layout_unref(from);
    pw_layout_unref(to);
    free(src);
    free(dst);
    free(expected);
    free(got);
}

static void check_pairs(scene *s, pw_jit_mode mode, bool real)
{
    static const char *const types[] = {COLUMNS, ROWS, CELL};
    pw_layout_engine *engine = layout_engine(s, mode, 0, real);

    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++)
            check_copy(engine, types[i], types[k]);
    pw_layout_engine_destroy(engine);
}

static void tier0_copies_the_right_bytes(void **state)
{
    check_pairs(*state, PW_JIT_OFF, false);
}

static void tier1_copies_the_right_bytes(void **state)
{
    pw_diag diag;

    if (!pw_backend_load("llvm", &diag)) {
        assert_false(PW_TEST_NEEDS_LLVM);
        skip();
    }
    check_pairs(*state, PW_JIT_SYNC, true);
}

static void one_for_both_directions(void **state)
{
    pw_layout_engine *engine = layout_engine(*state, PW_JIT_OFF, 0, false);
    pw_layout *a = layout_of(engine, COLUMNS), *b = layout_of(engine, ROWS);
    pw_joined there, back, again;

    assert_int_equal(pw_layout_join(a, b, &there, NULL), PW_OK);
    assert_int_equal(pw_layout_join(b, a, &back, NULL), PW_OK);
    assert_ptr_equal(there.layout, back.layout);
    assert_int_equal(there.backwards, !back.backwards);
    assert_int_equal(there.layout->refs, 2);
    pw_layout_unref(there.layout);
    pw_layout_unref(back.layout);
    /* Without references it is kept for a while, as the layouts of types are. */
    assert_int_equal(pw_layout_join(a, b, &again, NULL), PW_OK);
    assert_ptr_equal(again.layout, there.layout);
    pw_layout_unref(again.layout);
    pw_layout_unref(a);
    pw_layout_unref(b);
    pw_layout_engine_destroy(engine);
}

/* Another process's offer may name any hash. */
static void no_hash_finds_a_joined_one(void **state)
{
    pw_layout_engine *engine = layout_engine(*state, PW_JIT_OFF, 0, false);
    pw_layout *a = layout_of(engine, COLUMNS), *b = layout_of(engine, ROWS);
    pw_joined joined;

    assert_int_equal(pw_layout_join(a, b, &joined, NULL), PW_OK);
    assert_null(pw_layout_known(engine, joined.layout->hash));
    assert_int_equal(joined.layout->refs, 1);
    assert_ptr_equal(pw_layout_known(engine, a->hash), a);
    pw_layout_unref(a);
    pw_layout_unref(joined.layout);
    pw_layout_unref(a);
    pw_layout_unref(b);
    pw_layout_engine_destroy(engine);
}

static void copies_count_at_both_types(void **state)
{
    pw_layout_engine *engine = layout_engine(*state, PW_JIT_OFF, 0, false);
    pw_layout *a = layout_of(engine, COLUMNS), *b = layout_of(engine, ROWS);
    pw_joined joined;
    char *mem = calloc(1, 8192);

    assert_int_equal(pw_layout_join(a, b, &joined, NULL), PW_OK);
    pw_layout_copy(&joined, mem, mem + 4096, 1024);
    assert_int_equal(a->stats.packs, 1);
    assert_int_equal(b->stats.unpacks, 1);
    assert_int_equal(a->stats.bytes, 1024);
    assert_int_equal(b->stats.bytes, 1024);
    assert_int_equal(a->stats.unpacks + b->stats.packs, 0);
    pw_layout_unref(joined.layout);
    free(mem);
    pw_layout_unref(a);
    pw_layout_unref(b);
    pw_layout_engine_destroy(engine);
}

static void what_does_not_join_is_refused(void **state)
{
    pw_layout_engine *engine = layout_engine(*state, PW_JIT_OFF, 0, false);
    /* Sizes without a common divisor of two lists: far too many pieces. */
    pw_layout *a = layout_of(engine, "type(lb 0, extent 99999) { stream 1009 stride 40 { blocks [0:1, 5:7, 20:3] } }");
    pw_layout *b = layout_of(engine, "type(lb 0, extent 99999) { stream 1013 stride 60 { blocks [0:5, 9:2, 30:6] } }");
    pw_layout *nothing = layout_of(engine, "type(lb 0, extent 8) { bytes 0 align 1 }");
    pw_joined joined;

    for (int i = 0; i < 2; i++) {
        assert_int_equal(pw_layout_join(a, b, &joined, NULL), PW_ERR_UNSUPPORTED);
        assert_int_equal(pw_layout_join(a, nothing, &joined, NULL), PW_ERR_UNSUPPORTED);
    }
    pw_layout_unref(a);
    pw_layout_unref(b);
    pw_layout_unref(nothing);
    pw_layout_engine_destroy(engine);
}

static void overlap_is_told(void **state)
{
    pw_layout_engine *engine = layout_engine(*state, PW_JIT_OFF, 0, false);
    pw_layout *a = layout_of(engine, CELL), *b = layout_of(engine, "type(lb 0, extent -16) { bytes 16 align 8 }");
    char *mem = malloc(4096);

    assert_true(pw_layout_are_disjoint(a, mem, a, mem + 40, 32)); /* [0, 40) */
    assert_false(pw_layout_are_disjoint(a, mem, a, mem + 39, 32));
    assert_false(pw_layout_are_disjoint(a, mem + 39, a, mem, 32));
    assert_true(pw_layout_are_disjoint(b, mem + 1000, a, mem + 1016, 32)); /* [984, 1016) */
    assert_false(pw_layout_are_disjoint(b, mem + 1000, a, mem + 1015, 32));
    assert_false(pw_layout_are_disjoint(b, mem + 1000, a, mem + 945, 32));
    assert_true(pw_layout_are_disjoint(b, mem + 1000, a, mem + 944, 32));
    assert_true(pw_layout_are_disjoint(a, mem, a, mem, 0));
    free(mem);
    pw_layout_unref(a);
    pw_layout_unref(b);
    pw_layout_engine_destroy(engine);
}

/* ---- sides that alternate in one array --------------------------------------------------------------------------- */

enum { ARRAY = 8192 };

static bool mark(void *arg, int64_t off, int64_t n)
{
    walk *w = arg;

    memset(w->packed + w->at + off, 1, (size_t)n);
    return true;
}

/* Marks the bytes that `objects` objects at `at` touch. */
static void mark_all(const char *text, int64_t at, int64_t objects, unsigned char *touched)
{
    pw_arena *arena = pw_arena_create();
    walk w = {.packed = touched, .at = at};
    pw_diag diag;
    pw_type type;

    memset(touched, 0, ARRAY);
    assert_int_equal(pw_parse(text, arena, &type, NULL, &diag), PW_OK);
    for (int64_t i = 0; i < objects; i++, w.at += type.extent)
        pw_walk(type.root, 0, mark, &w);
    pw_arena_destroy(arena);
}

/* Returns whether no byte is touched twice. */
static bool are_apart(const char *a, int64_t a_at, const char *b, int64_t b_at, int64_t objects)
{
    static unsigned char x[ARRAY], y[ARRAY];

    mark_all(a, a_at, objects, x);
    mark_all(b, b_at, objects, y);
    for (int i = 0; i < ARRAY; i++)
        if (x[i] && y[i])
            return false;
    return true;
}

static bool are_told_apart(pw_layout_engine *engine, const char *a, int64_t a_at, const char *b, int64_t b_at,
                           int64_t objects)
{
    static char mem[ARRAY];
    pw_layout *x = layout_of(engine, a), *y = layout_of(engine, b);
    bool apart = pw_layout_are_disjoint(x, mem + a_at, y, mem + b_at, objects * x->size);

    pw_layout_unref(x);
    pw_layout_unref(y);
    return apart;
}

/* Two random layouts of two loops of 24 bytes in all, and how many objects of them. */
static void random_sides(pw_rng *rng, char text[2][160], int64_t at[2], int64_t *objects)
{
    static const int strides[] = {8, 24, 96, 100, 192, -96};
    int outer = strides[pw_rng_range(rng, 0, 5)], inner = strides[pw_rng_range(rng, 0, 2)];

    *objects = pw_rng_range(rng, 1, 3);
    for (int i = 0; i < 2; i++) {
        int n = pw_rng_one_in(rng, 2) ? 3 : 2;

        snprintf(text[i], 160,
                 "type(lb 0, extent %d) { stream %d stride %d { stream %d stride %d { bytes 4 align 1 } } }",
                 pw_rng_one_in(rng, 2) ? 800 : 96, n, outer, 6 / n, pw_rng_one_in(rng, 3) ? 8 : inner);
        at[i] = 1024 + 4 * pw_rng_range(rng, 0, 60);
    }
}

static void sides_of_one_array_are_told_apart(void **state)
{
    static const char *const x_face =
        "type(lb 0, extent 8) { stream 6 stride 512 { stream 6 stride 64 { bytes 8 align 8 } } }";
    static const char *const y_face = "type(lb 0, extent 8) { stream 6 stride 512 { bytes 48 align 8 } }";
    pw_layout_engine *engine = layout_engine(*state, PW_JIT_OFF, 0, false);
    pw_rng rng = {11};
    int apart = 0, told = 0;

    assert_true(are_told_apart(engine, x_face, 584, x_face, 632, 1)); /* cells 1 and 7 of rows of 8 */
    assert_false(are_told_apart(engine, x_face, 584, x_face, 584 + 64, 1));
    assert_true(are_told_apart(engine, y_face, 584, y_face, 968, 1)); /* rows 1 and 7 of planes of 8 */
    assert_false(are_told_apart(engine, y_face, 584, y_face, 584 + 40, 1));
    for (int i = 0; i < 20000; i++) {
        char text[2][160];
        int64_t at[2], objects;
        bool is_apart, is_told;

        random_sides(&rng, text, at, &objects);
        is_apart = are_apart(text[0], at[0], text[1], at[1], objects);
        is_told = are_told_apart(engine, text[0], at[0], text[1], at[1], objects);
        assert_true(is_apart || !is_told);
        apart += is_apart;
        told += is_told;
    }
    assert_true(told > apart / 2);
    pw_layout_engine_destroy(engine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(tier0_copies_the_right_bytes, scene_setup, scene_teardown),
        cmocka_unit_test_setup_teardown(tier1_copies_the_right_bytes, scene_setup, scene_teardown),
        cmocka_unit_test_setup_teardown(one_for_both_directions, scene_setup, scene_teardown),
        cmocka_unit_test_setup_teardown(no_hash_finds_a_joined_one, scene_setup, scene_teardown),
        cmocka_unit_test_setup_teardown(copies_count_at_both_types, scene_setup, scene_teardown),
        cmocka_unit_test_setup_teardown(what_does_not_join_is_refused, scene_setup, scene_teardown),
        cmocka_unit_test_setup_teardown(overlap_is_told, scene_setup, scene_teardown),
        cmocka_unit_test_setup_teardown(sides_of_one_array_are_told_apart, scene_setup, scene_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
