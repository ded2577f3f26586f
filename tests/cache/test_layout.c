/* The layout engine: equal types share a layout; tiers; short and empty types. */
#include "runtime/engine/layout/internal.h"
#include "tests/cache/layout_scene.h"
#include "tests/support/random_ir.h"

#include <stdlib.h>

#define VECTOR "type(lb 0, extent 4096) { stream 64 stride 64 { bytes 8 align 8 } }"

static int64_t layouts_known(pw_layout_engine *engine);

static void check_random(scene *s, pw_jit_mode mode, bool real, int n)
{
    pw_layout_engine *engine = layout_engine(s, mode, 0, real);

    for (int seed = 1; seed <= n; seed++) {
        pw_arena *arena = pw_arena_create();
        pw_builder b = {.arena = arena};
        pw_type type = pw_random_type(&b, (uint64_t)seed, &(pw_random_options){.max_size = 600});
        pw_layout *layout;
        char *text = pw_print(&type, 0);

        assert_int_equal(b.status, PW_OK);
        layout = layout_of_type(engine, &type);
        assert_int_equal(layout->size, type.root->size);
        for (int64_t count = 0; count < 4; count++) {
            int64_t bytes = count * layout->size;

            if (!layout_moves(layout, &type, count, bytes ? seed * 7919 % bytes : 0))
                fail_msg("seed %d, count %lld: %s", seed, (long long)count, text);
        }
        pw_layout_unref(layout);
        free(text);
        pw_arena_destroy(arena);
    }
    pw_layout_engine_destroy(engine);
}

static void tier0_moves_the_right_bytes(void **state)
{
    check_random(*state, PW_JIT_OFF, false, 400);
}

static void tier1_moves_the_right_bytes(void **state)
{
    pw_diag diag;

    if (!pw_backend_load("llvm", &diag)) {
        assert_false(PW_TEST_NEEDS_LLVM);
        skip();
    }
    check_random(*state, PW_JIT_SYNC, true, 60);
}

static void equal_types_share(void **state)
{
    pw_layout_engine *engine = layout_engine(*state, PW_JIT_OFF, 0, false);
    pw_layout *a = layout_of(engine, VECTOR), *b = layout_of(engine, VECTOR);
    /* The same bytes in the same order, from other constructors. */
    pw_layout *c = layout_of(engine, "type(lb 0, extent 4096) { stream 8 stride 512 { stream 8 stride 64 "
                                     "{ stream 2 stride 4 { bytes 4 align 1 } } } }");
    pw_layout *d = layout_of(engine, "type(lb 0, extent 4097) { stream 64 stride 64 { bytes 8 align 1 } }");

    assert_ptr_equal(a, b);
    assert_ptr_equal(a, c);
    assert_ptr_not_equal(a, d);
    assert_int_equal(a->refs, 3);
    assert_ptr_equal(pw_layout_ref(a), a);
    assert_int_equal(a->refs, 4);
    assert_int_equal(layouts_known(engine), 2);
    for (int i = 0; i < 4; i++)
        pw_layout_unref(a);
    pw_layout_unref(d);
    pw_layout_unref(NULL);
    pw_layout_engine_destroy(engine);
}

/* A type that is freed and made again finds its layout. */
static void freed_types_come_back(void **state)
{
    pw_layout_engine *engine = layout_engine(*state, PW_JIT_OFF, 0, false);
    pw_layout *first = layout_of(engine, VECTOR);
    char before[64], after[64];

    first->stats.packs = 17;
    pw_layout_unref(first);
    assert_int_equal(layouts_known(engine), 1);
    first = layout_of(engine, VECTOR);
    assert_int_equal(first->stats.packs, 17);
    assert_int_equal(first->refs, 1);
    snprintf(before, sizeof before, "%p", (void *)first);
    pw_layout_unref(first);
    first = layout_of(engine, VECTOR);
    snprintf(after, sizeof after, "%p", (void *)first);
    assert_string_equal(before, after);
    pw_layout_unref(first);
    pw_layout_engine_destroy(engine);
}

static int64_t layouts_known(pw_layout_engine *engine)
{
    int64_t n = 0;

    for (size_t i = 0; i < engine->known.capacity; i++) {
        const pw_layout_entry *e = engine->known.cells[i].value;

        n += e && pw_hash_equal(engine->known.cells[i].key, e->layout.hash);
    }
    return n;
}

static void unreferenced_ones_are_bounded(void **state)
{
    pw_layout_engine *engine = layout_engine(*state, PW_JIT_OFF, 0, false);
    pw_layout *kept = layout_of(engine, VECTOR);
    char text[128];

    for (int i = 0; i < 2000; i++) {
        snprintf(text, sizeof text, "type(lb 0, extent %d) { stream 3 stride 16 { bytes 8 align 1 } }", 100 + i);
        pw_layout_unref(layout_of(engine, text));
        assert_true(layouts_known(engine) <= 513);
    }
    assert_int_equal(layouts_known(engine), 513);
    assert_ptr_equal(layout_of(engine, VECTOR), kept);
    pw_layout_unref(kept);
    pw_layout_unref(kept);
    pw_layout_engine_destroy(engine);
}

/* A layout that is spelt in more ways than are remembered is still one layout. */
static void many_spellings(void **state)
{
    pw_layout_engine *engine = layout_engine(*state, PW_JIT_OFF, 0, false);
    pw_layout *first = layout_of(engine, VECTOR);
    char text[128];

    for (int round = 0; round < 2; round++)
        for (int n = 1; n <= 64; n *= 2) {
            snprintf(text, sizeof text,
                     "type(lb 0, extent 4096) { stream %d stride %d { stream %d stride 64 { bytes 8 align %d } } }", n,
                     4096 / n, 64 / n, round ? 8 : 1);
            assert_ptr_equal(layout_of(engine, text), first);
            pw_layout_unref(first);
        }
    pw_layout_unref(first);
    assert_int_equal(layouts_known(engine), 1);
    pw_layout_engine_destroy(engine);
}

static void contiguous_needs_no_kernel(void **state)
{
    pw_layout_engine *engine = layout_engine(*state, PW_JIT_SYNC, 0, false);
    pw_layout *dense = layout_of(engine, "type(lb 0, extent 24) { stream 3 stride 8 { bytes 8 align 1 } }");
    pw_layout *empty = layout_of(engine, "type(lb 0, extent 8) { bytes 0 align 1 }");
    unsigned char in[48], out[48] = {0};

    for (int i = 0; i < 48; i++)
        in[i] = (unsigned char)i;
    assert_true(dense->contiguous);
    assert_null(dense->kernel);
    pw_layout_pack(dense, in, 2, out);
    assert_memory_equal(in, out, 48);
    assert_null(empty->kernel);
    pw_layout_pack(empty, NULL, 5, NULL);
    pw_layout_unpack(empty, NULL, 5, NULL);
    pw_layout_unpack_part(empty, NULL, 0, 0, NULL);
    pw_layout_pack(dense, NULL, 0, NULL);
    assert_int_equal(fake()->compiles, 0);
    assert_int_equal(dense->stats.packs, 1);
    assert_int_equal(dense->stats.bytes, 48);
    pw_layout_unref(dense);
    pw_layout_unref(empty);
    pw_layout_engine_destroy(engine);
}

static unsigned char memory[1 << 16], packed[1 << 16];

static void parts_count_as_one_call(void **state)
{
    pw_layout_engine *engine = layout_engine(*state, PW_JIT_SYNC, 0, false);
    pw_layout *layout = layout_of(engine, VECTOR);

    for (int64_t at = 0; at < 512; at += 64) {
        pw_layout_pack_part(layout, memory, at, at + 64, packed + at);
        pw_layout_unpack_part(layout, memory, at, at + 64, packed + at);
    }
    assert_int_equal(layout->stats.packs, 1);
    assert_int_equal(layout->stats.unpacks, 1);
    assert_in_range(layout->stats.tier1_calls, 0, 2);
    assert_int_equal(layout->stats.bytes, 512 + 512);
    pw_layout_unref(layout);
    pw_layout_engine_destroy(engine);
}

static void sync_is_ready_at_once(void **state)
{
    pw_layout_engine *engine = layout_engine(*state, PW_JIT_SYNC, 0, false);
    pw_layout *layout = layout_of(engine, VECTOR);

    assert_int_equal(layout->kernel->state, PW_KERNEL_READY);
    pw_layout_pack(layout, memory, 1, packed);
    pw_layout_unpack(layout, memory, 1, packed);
    pw_layout_unpack_part(layout, memory, 0, 520, packed);
    assert_int_equal(layout->stats.tier1_calls, 3);
    pw_layout_unpack_part(layout, memory, 0, 500, packed); /* of one object, whose kernel moves what it has whole */
    assert_int_equal(layout->stats.tier1_calls, 4);
    assert_int_equal(layout->stats.packs, 1);
    assert_int_equal(layout->stats.unpacks, 3);
    assert_int_equal(layout->stats.bytes, 512 + 512 + 520 + 500);
    assert_int_equal(layout->stats.nanoseconds, 0);
    pw_layout_unref(layout);
    pw_layout_engine_destroy(engine);
}

static void off_never_compiles(void **state)
{
    pw_layout_engine *engine = layout_engine(*state, PW_JIT_OFF, 1, false);
    pw_layout *layout = layout_of(engine, VECTOR);

    for (int i = 0; i < 100; i++)
        pw_layout_pack(layout, memory, 4, packed);
    pw_cache_drain(engine->cache);
    assert_null(layout->kernel);
    assert_int_equal(fake()->compiles, 0);
    assert_int_equal(layout->stats.tier1_calls, 0);
    pw_layout_unref(layout);
    pw_layout_engine_destroy(engine);
}

/* A layout is cold, then looked for on disk, then hot, by the bytes moved in both directions. */
static void async_warms_up(void **state)
{
    pw_layout_engine *engine = layout_engine(*state, PW_JIT_ASYNC, 100 * 512, false);
    pw_cache *cache = engine->cache;
    pw_layout *layout = layout_of(engine, VECTOR);
    int calls = 0;

    for (; calls < 20; calls++)
        pw_layout_pack(layout, memory, 1, packed);
    pw_cache_drain(cache);
    assert_int_equal(layout->kernel->state, PW_KERNEL_NEW);
    for (; calls < 60; calls++)
        pw_layout_unpack(layout, memory, 1, packed);
    pw_cache_drain(cache);
    assert_int_equal(layout->kernel->state, PW_KERNEL_ABSENT);
    for (; calls < 99; calls++)
        pw_layout_pack(layout, memory, 1, packed);
    pw_cache_drain(cache);
    assert_int_equal(layout->kernel->state, PW_KERNEL_ABSENT);
    pw_layout_pack(layout, memory, 1, packed);
    pw_cache_drain(cache);
    assert_int_equal(layout->kernel->state, PW_KERNEL_READY);
    assert_int_equal(layout->stats.tier1_calls, 0);
    pw_layout_pack(layout, memory, 1, packed);
    assert_int_equal(layout->stats.tier1_calls, 1);
    pw_layout_unref(layout);
    pw_layout_engine_destroy(engine);
}

/* Layouts that share a kernel warm it together: none of them would be hot alone. */
static void async_counts_at_the_kernel(void **state)
{
    enum { FACES = 26, CALLS = 100, EACH = 64 * 8 };
    pw_layout_engine *engine = layout_engine(*state, PW_JIT_ASYNC, (int64_t)CALLS * EACH, false);
    pw_cache *cache = engine->cache;
    pw_layout *face[FACES];
    pw_kernel *kernel;
    char text[128];

    for (int i = 0; i < FACES; i++) {
        snprintf(text, sizeof text, "type(lb 0, extent 65536) { stream 64 stride %d { bytes 8 align 8 } }",
                 200 + 16 * i);
        face[i] = layout_of(engine, text);
        assert_ptr_equal(face[i]->kernel, face[0]->kernel);
    }
    kernel = face[0]->kernel;
    for (int i = 0; i < CALLS - 1; i++)
        pw_layout_pack(face[i % FACES], memory, 1, packed);
    pw_cache_drain(cache);
    assert_int_equal(kernel->state, PW_KERNEL_ABSENT);
    pw_layout_unpack(face[FACES - 1], memory, 1, packed);
    pw_cache_drain(cache);
    assert_int_equal(kernel->state, PW_KERNEL_READY);
    assert_int_equal(fake()->compiles, 1);
    for (int i = 0; i < FACES; i++) {
        pw_layout_pack(face[i], memory, 1, packed);
        assert_int_equal(face[i]->stats.tier1_calls, 1);
        pw_layout_unref(face[i]);
    }
    pw_layout_engine_destroy(engine);
}

/* A kernel that an earlier run compiled is loaded long before compiling would pay, and not by a few short messages. */
static void async_loads_early(void **state)
{
    pw_layout_engine *engine = layout_engine(*state, PW_JIT_SYNC, 0, false);
    pw_layout *layout;

    pw_layout_unref(layout_of(engine, VECTOR));
    pw_layout_engine_destroy(engine);
    assert_int_equal(fake()->compiles, 1);
    engine = layout_engine(*state, PW_JIT_ASYNC, 400 * 512, false);
    layout = layout_of(engine, VECTOR);
    for (int i = 0; i < 100; i++) {
        pw_cache_drain(engine->cache);
        assert_int_equal(layout->kernel->state, PW_KERNEL_NEW);
        pw_layout_pack(layout, memory, 1, packed);
    }
    pw_cache_drain(engine->cache);
    assert_int_equal(layout->kernel->state, PW_KERNEL_READY);
    assert_int_equal(layout->kernel->origin, PW_ORIGIN_DISK);
    pw_layout_unref(layout);
    pw_layout_engine_destroy(engine);
    assert_int_equal(fake()->compiles, 1);
}

/* Without a setting a kernel is compiled after 4 MiB. */
static void four_mib_are_hot(void **state)
{
    pw_layout_engine *engine = layout_engine(*state, PW_JIT_ASYNC, 0, false);
    pw_layout *layout = layout_of(engine, VECTOR);
    int64_t moved = 0;

    while (layout->kernel->state != PW_KERNEL_READY) {
        pw_layout_pack(layout, memory, 8, packed);
        moved += 8 * 512;
        if (moved % (256 << 10) == 0)
            pw_cache_drain(engine->cache);
        assert_true(moved <= 4 << 20);
    }
    assert_int_equal(moved, 4 << 20);
    pw_layout_unref(layout);
    pw_layout_engine_destroy(engine);
}

static void times_when_asked(void **state)
{
    scene *s = *state;
    pw_layout_config config = {

        .mode = PW_JIT_OFF,
        .counted = true,
        .timed = true,
        .cache = {.dir = s->dir, .backend = "fake", .target = pw_target_host()}};
    pw_layout_engine *engine;
    pw_layout *layout;

    assert_int_equal(pw_layout_engine_create(&config, &engine), PW_OK);
    layout = layout_of(engine, VECTOR);
    for (int i = 0; i < 1000; i++)
        pw_layout_pack(layout, memory, 8, packed);
    assert_true(layout->stats.nanoseconds > 0);
    pw_layout_unref(layout);
    pw_layout_engine_destroy(engine);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, scene_setup, scene_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(tier0_moves_the_right_bytes),
        TEST(tier1_moves_the_right_bytes),
        TEST(equal_types_share),
        TEST(freed_types_come_back),
        TEST(unreferenced_ones_are_bounded),
        TEST(many_spellings),
        TEST(contiguous_needs_no_kernel),
        TEST(parts_count_as_one_call),
        TEST(sync_is_ready_at_once),
        TEST(off_never_compiles),
        TEST(async_warms_up),
        TEST(async_counts_at_the_kernel),
        TEST(async_loads_early),
        TEST(four_mib_are_hot),
        TEST(times_when_asked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
