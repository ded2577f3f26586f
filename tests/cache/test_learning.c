/* What learning a type may cost: memory that stays, and stack. */
#include "runtime/engine/layout/layout.h"

#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

static int setup(void **state)
{
    pw_layout_config config = {.mode = PW_JIT_ASYNC, .hot_bytes = INT64_MAX};

    config.cache.backend = "llvm";
    config.cache.target = pw_target_host();
    return pw_layout_engine_create(&config, (pw_layout_engine **)state) ? -1 : 0;
}

static int teardown(void **state)
{
    pw_layout_engine_destroy(*state);
    return 0;
}

static int64_t heap_bytes(void)
{
    struct mallinfo2 m = mallinfo2();

    return (int64_t)(m.uordblks + m.hblkhd);
}

/* Builds the tree of a layout, in an arena of its own. */
typedef const pw_node *build_fn(pw_builder *b, int64_t i);

static pw_layout *learn(pw_layout_engine *engine, build_fn *build, int64_t i)
{
    pw_builder b = {.arena = pw_arena_create()};
    pw_type type = {.root = build(&b, i), .extent = 1 << 20};
    pw_layout *layout = NULL;

    assert_int_equal(b.status, PW_OK);
    assert_int_equal(pw_layout_get(engine, &type, &layout, NULL), PW_OK);
    pw_arena_destroy(b.arena);
    return layout;
}

static const pw_node *rows(pw_builder *b, int64_t i)
{
    return pw_build_stream(b, 100 + i, 1000 + 8 * i, pw_build_stream(b, 3, 8, pw_build_bytes(b, 8, 1)));
}

static void strided_layouts_are_small(void **state)
{
    enum { TYPES = 1000, MOST = 1024 };
    static pw_layout *layouts[TYPES];
    int64_t before = heap_bytes(), bytes;

    if (SANITIZED)
        skip();
    for (int64_t i = 0; i < TYPES; i++)
        layouts[i] = learn(*state, rows, i);
    bytes = heap_bytes() - before;
    if (bytes > (int64_t)TYPES * MOST)
        fail_msg("%d layouts take %lld bytes", TYPES, (long long)bytes);
    for (int i = 0; i < TYPES; i++)
        pw_layout_unref(layouts[i]);
}

/* A list of blocks of 4 to 32 bytes at irregular distances. */
static const pw_node *list(pw_builder *b, int64_t n)
{
    int64_t *offs = pw_arena_array(b->arena, (size_t)n, sizeof *offs);
    int64_t *lens = pw_arena_array(b->arena, (size_t)n, sizeof *lens), at = 0;
    uint32_t random = 1;

    for (int64_t i = 0; i < n; i++) {
        random = random * 1664525 + 1013904223;
        lens[i] = 4 * (1 + (random >> 24) % 8);
        offs[i] = at += 36 + 4 * (random >> 16 & 15);
    }
    return pw_adopt_blocks(b, n, offs, lens);
}

/* A program gives MPI two ints for each block; a layout may not take more. */
static void lists_are_narrow(void **state)
{
    enum { N = 1000000, MOST = 2 * N * 8 };
    int64_t before = heap_bytes(), bytes;
    pw_layout *layout;

    if (SANITIZED)
        skip();
    layout = learn(*state, list, N);
    bytes = heap_bytes() - before;
    if (bytes > MOST)
        fail_msg("a list of %d blocks takes %lld bytes", N, (long long)bytes);
    pw_layout_unref(layout);
}

/* Structs in structs, with a member beside each, so that none of them is left out. */
static const pw_node *nested(pw_builder *b, int64_t depth)
{
    const pw_node *node = pw_build_bytes(b, 8, 1);

    for (int64_t i = 1; i < depth; i++) {
        const int64_t offs[] = {0, 16 * i};
        const pw_node *members[] = {node, pw_build_bytes(b, 8, 1)};

        node = pw_build_seq(b, 2, offs, members);
    }
    return node;
}

static void *use_nested(void *engine)
{
    enum { DEEP = 100, BYTES = 8 * DEEP };
    static char memory[16 * DEEP], packed[BYTES];
    pw_builder b = {.arena = pw_arena_create()};
    pw_type type = {.root = nested(&b, DEEP), .extent = sizeof memory};
    char *text = pw_print(&type, 0);
    pw_layout *layout = NULL;
    void *done = NULL;

    for (int i = 0; i < DEEP; i++)
        memset(memory + 16 * i, i, 8);
    if (text && pw_layout_get(engine, &type, &layout, NULL) == PW_OK) {
        pw_layout_pack(layout, memory, 1, packed);
        done = packed[8 * (DEEP - 1)] == DEEP - 1 ? engine : NULL;
    }
    pw_layout_unref(layout);
    pw_arena_destroy(b.arena);
    free(text);
    return done;
}

static void deep_types_need_no_deep_stack(void **state)
{
    enum { STACK = 64 << 10 };
    pthread_attr_t attr;
    pthread_t thread;
    void *result = NULL;

    if (SANITIZED)
        skip();
    assert_int_equal(pthread_attr_init(&attr), 0);
    assert_int_equal(pthread_attr_setstacksize(&attr, STACK), 0);
    assert_int_equal(pthread_create(&thread, &attr, use_nested, *state), 0);
    assert_int_equal(pthread_join(thread, &result), 0);
    pthread_attr_destroy(&attr);
    assert_ptr_equal(result, *state);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(strided_layouts_are_small),
        TEST(lists_are_narrow),
        TEST(deep_types_need_no_deep_stack),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
