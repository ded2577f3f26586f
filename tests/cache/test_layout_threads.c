/* Types made, used and freed by several threads at once, while kernels arrive; small enough for TSan. */
#include "tests/cache/layout_scene.h"

#include <pthread.h>
#include <string.h>

enum { THREADS = 4, STEPS = 400, TYPES = 12 };

typedef struct client {
    pw_layout_engine *engine;
    unsigned seed;
} client;

/* Returns one of several layouts with different extents, and so different shapes. */
static pw_layout *any_layout(pw_layout_engine *engine, unsigned i)
{
    char text[128];

    snprintf(text, sizeof text, "type(lb 0, extent %u) { stream 16 stride 32 { bytes 8 align 1 } }", 512 + 8 * i);
    return layout_of(engine, text);
}

static void *be_client(void *arg)
{
    client *c = arg;
    unsigned char memory[1024], packed[256];

    memset(memory, 1, sizeof memory);
    for (int step = 0; step < STEPS; step++) {
        pw_layout *layout, *again;

        c->seed = c->seed * 1103515245u + 12345u;
        layout = any_layout(c->engine, (c->seed >> 16) % TYPES);
        again = pw_layout_ref(layout);
        pw_layout_pack(layout, memory, 1, packed);
        pw_layout_unref(layout);
        pw_layout_unpack_part(again, memory, 0, 100, packed);
        pw_layout_unref(again);
    }
    return NULL;
}

static void run(scene *s, pw_jit_mode mode)
{
    pw_layout_engine *engine = layout_engine(s, mode, 2000, false);
    pthread_t threads[THREADS];
    client clients[THREADS];
    int64_t calls = 0;

    for (unsigned i = 0; i < THREADS; i++) {
        clients[i] = (client){engine, i};
        assert_int_equal(pthread_create(&threads[i], NULL, be_client, &clients[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (unsigned i = 0; i < TYPES; i++) {
        pw_layout *layout = any_layout(engine, i);

        assert_int_equal(layout->refs, 1);
        calls += layout->stats.packs + layout->stats.unpacks;
        pw_layout_unref(layout);
    }
    assert_int_equal(calls, 2 * THREADS * STEPS);
    pw_layout_engine_destroy(engine);
}

static void asynchronous(void **state)
{
    run(*state, PW_JIT_ASYNC);
}

static void synchronous(void **state)
{
    run(*state, PW_JIT_SYNC);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, scene_setup, scene_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(asynchronous), TEST(synchronous)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
