/* Unit tests of runtime/engine/memory/outbound: the bytes are those of pw_layout_pack, however they are written. */
#include "runtime/engine/memory/outbound.h"
#include "runtime/engine/memory/pool.h"
#include "tests/cache/layout_scene.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Objects shorter than a tile, and longer ones, which a kernel cuts. */
static const char *const texts[] = {
    "type(lb 0, extent 24) { stream 2 stride 16 { bytes 8 align 8 } }",
    "type(lb 0, extent 262144) { stream 16384 stride 16 { bytes 3 align 1 } }",
    "type(lb 0, extent 262144) { stream 512 stride 512 { bytes 100 align 4 } }",
};

enum { MESSAGES = 70, SLACK = 100 };

/* Packs as many messages of `least` bytes and more as it takes for some to be timed, to all kinds of addresses. */
static void check(pw_layout *layout, int64_t least)
{
    int64_t count = least / layout->size + 1, bytes = count * layout->size;
    size_t room = (size_t)(count * layout->extent);
    unsigned char *mem = malloc(room), *want = malloc((size_t)bytes), *packed = malloc((size_t)bytes + 2 * SLACK);

    for (size_t i = 0; i < room; i++)
        mem[i] = (unsigned char)(i * 7 + i / 251);
    pw_layout_pack(layout, mem, count, want);
    for (int i = 0; i < MESSAGES; i++) {
        int at = i % SLACK;

        memset(packed, 0x5a, (size_t)bytes + 2 * SLACK);
        pw_outbound_pack(layout, mem, count, bytes, packed + at);
        assert_memory_equal(packed + at, want, (size_t)bytes);
        for (int64_t k = 0; k < at; k++)
            assert_int_equal(packed[k], 0x5a);
        for (int64_t k = at + bytes; k < bytes + 2 * SLACK; k++)
            assert_int_equal(packed[k], 0x5a);
        pw_outbound_learn(i % 2 ? 100 : 1, 1);
    }
    free(mem);
    free(want);
    free(packed);
}

static void bytes_are_the_same_in_both_ways(void **state)
{
    pw_layout_engine *engine = layout_engine(*state, PW_JIT_SYNC, 0, true);

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        pw_layout *layout = layout_of(engine, texts[i]);

        check(layout, 17000); /* two short tiles */
        check(layout, 300000);
        pw_layout_unref(layout);
    }
    pw_layout_engine_destroy(engine);
    pw_pool_trim();
}

static void only_what_is_much_dearer_is_avoided(void **state)
{
    (void)state;
    pw_outbound_learn(0.4, 0.05);
    assert_true(pw_outbound_is_past());
    pw_outbound_learn(0.05, 0.05);
    assert_false(pw_outbound_is_past());
    pw_outbound_learn(0.1, 0.05); /* the reader pays, too */
    assert_false(pw_outbound_is_past());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(bytes_are_the_same_in_both_ways, scene_setup, scene_teardown),
        cmocka_unit_test(only_what_is_much_dearer_is_avoided),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
