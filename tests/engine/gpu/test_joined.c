/*
 * Copies from layout to layout in GPU memory, random pairs against their typemaps, on a GPU or by the stand-in for the
 * driver; there FAKE_NVRTC says which kernels there are.
 *
 * usage: test_runtime_gpu_joined <driver, or -> [pairs [first-seed]]. Exits 77, for "skipped", without a GPU.
 */
#include "runtime/engine/gpu/place.h"
#include "runtime/engine/gpu/transfer.h"
#include "runtime/engine/move/move.h"
#include "tests/codegen/joined/pairs.h"
#include "tests/mpi/gpu/fake.h"
#include "tests/mpi/gpu/memory.h"
#include "tests/support/random_ir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SKIPPED = 77, ROOM = 1 << 20 };

static int pairs = 150;
static uint64_t first_seed = 1;
static gpu_memory memory[2];
static pw_gpu *gpu;
static pw_layout_engine *engine;
static void (*make_fail)(const char *, int, int);
static long (*launches)(const char *);

static int start(void **state)
{
    pw_layout_config config;

    (void)state;
    if (gpu_is_fake()) {
        make_fail = (void (*)(const char *, int, int))gpu_symbol("fake_fail");
        launches = (long (*)(const char *))gpu_symbol("fake_launches");
    }
    for (int i = 0; i < 2; i++)
        memory[i] = gpu_memory_make(GPU_DEVICE, ROOM);
    gpu = pw_gpu_place_of(memory[0].at).gpu;
    pw_layout_config_from_env(&config);
    return !gpu || pw_layout_engine_create(&config, &engine) != PW_OK;
}

static int stop(void **state)
{
    (void)state;
    pw_layout_engine_destroy(engine);
    pw_gpu_close();
    return 0;
}

static bool kernels_are(const char *mode)
{
    const char *set = getenv("FAKE_NVRTC");

    return strcmp(set ? set : "", mode) == 0;
}

static long all_launches(void)
{
    return gpu_is_fake() ? launches("pw_t0_") + launches("pw_fused_") + launches("") : 0;
}

/* ---- one copy ---------------------------------------------------------------------------------------------------- */

/* Two layouts joined both ways, and what the last copy took. */
typedef struct subject {
    const pair *pair;
    pw_layout *layout[2];
    pw_joined joined[2];
    bool ready, fits;
    long launched;
} subject;

/* Copies what one side touches to the GPU, and returns the address from which displacements count there. */
static unsigned char *bring(const subject *s, int side, const gpu_memory *m, const void *origin, int64_t *lo,
                            int64_t *span)
{
    int64_t hi;

    pw_random_bounds(&s->pair->type[side], s->pair->count[side], lo, &hi);
    *span = hi - *lo;
    if (*span > ROOM)
        return NULL;
    gpu_write(m, 0, (const char *)origin + *lo, (size_t)*span);
    return m->at - *lo;
}

static pw_buffer view_of(const subject *s, int side, const void *base)
{
    pw_layout *layout = s->layout[side];

    return (pw_buffer){.layout = layout,
                       .place = {.kind = PW_PLACE_DEVICE, .device = gpu->ordinal, .gpu = gpu},
                       .base = (void *)base,
                       .count = s->pair->bytes / layout->size,
                       .bytes = s->pair->bytes};
}

static pw_move move_of(const subject *s, bool back, const void *from, const void *to)
{
    return (pw_move){.joined = s->joined[back], .from = view_of(s, back, from), .to = view_of(s, !back, to)};
}

static void copy(void *how, bool back, void *dst, const void *src, int64_t objects)
{
    subject *s = how;
    int64_t lo, span, source_span;
    const void *from, *to;
    pw_gpu_order one;
    pw_move move;
    long before;

    (void)objects;
    from = bring(s, back, &memory[0], src, &lo, &source_span);
    to = bring(s, !back, &memory[1], dst, &lo, &span);
    s->fits = from && to;
    if (!s->fits)
        return;
    move = move_of(s, back, from, to);
    s->ready = pw_move_as_one(&move, &one);
    before = all_launches();
    if (s->pair->bytes % 3 == 0)
        pw_move_begin(&move);
    assert_int_equal(pw_move_finish(&move), PW_OK);
    s->launched = all_launches() - before;
    gpu_read(&memory[1], 0, (char *)dst + lo, (size_t)span);
}

/* Makes the layouts and joins them. False: they do not join, or a side touches too much memory. */
static bool begin(subject *s, const pair *p)
{
    pw_diag diag;
    bool joins = true;

    *s = (subject){.pair = p};
    for (int i = 0; i < 2; i++) {
        int64_t lo, hi;

        assert_int_equal(pw_layout_get(engine, &p->type[i], &s->layout[i], &diag), PW_OK);
        pw_random_bounds(&p->type[i], p->count[i], &lo, &hi);
        joins = joins && hi - lo <= ROOM;
    }
    for (int i = 0; i < 2 && joins; i++)
        joins = pw_layout_join(s->layout[i], s->layout[!i], &s->joined[i], &diag) == PW_OK;
    return joins;
}

static void end(subject *s)
{
    for (int i = 0; i < 2; i++) {
        if (s->joined[i].layout)
            pw_layout_unref(s->joined[i].layout);
        pw_layout_unref(s->layout[i]);
    }
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

static void copies_as_typemaps_say(void **state)
{
    int ready = 0, all = 0;

    (void)state;
    for (uint64_t seed = first_seed; seed < first_seed + (uint64_t)pairs; seed++) {
        subject s;
        pair p;

        pair_init(&p, seed, 3000);
        if (p.bytes > 0 && begin(&s, &p)) {
            assert_true(pair_check(&p, s.joined[0].layout->nest, seed, copy, &s));
            all++;
            ready += s.ready;
            if (s.ready && kernels_are(""))
                assert_true(s.launched <= 1);
        }
        if (p.bytes > 0)
            end(&s);
        pair_free(&p);
    }
    print_message("%d pairs, %d by one transfer\n", all, ready);
    if (gpu_is_fake() && (kernels_are("") || kernels_are("own")))
        assert_int_equal(ready, all);
    if (kernels_are("tier0"))
        assert_in_range(ready, all / 3, all - 1);
}

/* Every other of 512 doubles to rows of three of six. */
static pw_type make_type(pw_builder *b, bool rows)
{
    const pw_node *root = rows ? pw_build_stream(b, 128, 48, pw_build_bytes(b, 24, 8))
                               : pw_build_stream(b, 384, 16, pw_build_bytes(b, 8, 8));

    return (pw_type){.root = root, .extent = 8192};
}

/* What a kernel that fails has not copied is copied by the driver, in one pass as well. */
static void a_failed_launch_is_made_good(void **state)
{
    static unsigned char from[8192], to[8192], expected[8192];
    pw_arena *arena = pw_arena_create();
    pw_builder b = {.arena = arena};
    pair p = {.arena = arena, .type = {make_type(&b, false), make_type(&b, true)}, .count = {1, 1}, .bytes = 3072};
    subject s;
    pw_move move;

    (void)state;
    if (!gpu_is_fake())
        skip();
    assert_true(begin(&s, &p));
    for (int i = 0; i < 8192; i++)
        from[i] = (unsigned char)(i * 7);
    for (int i = 0; i < 384; i++)
        memcpy(expected + i / 3 * 48 + i % 3 * 8, from + i * 16, 8);
    gpu_write(&memory[0], 0, from, sizeof from);
    gpu_write(&memory[1], 0, to, sizeof to);
    move = move_of(&s, false, memory[0].at, memory[1].at);
    make_fail("cuLaunchKernel", 0, FAKE_INVALID);
    make_fail("cuGraphLaunch", 0, FAKE_INVALID);
    assert_int_equal(pw_move_finish(&move), PW_OK);
    make_fail("cuLaunchKernel", 0, FAKE_OK);
    make_fail("cuGraphLaunch", 0, FAKE_OK);
    gpu_read(&memory[1], 0, to, sizeof to);
    assert_memory_equal(to, expected, sizeof to);
    end(&s);
    pw_arena_destroy(arena);
}

static void launch_to_the_end(pw_gpu_lane *lane)
{
    assert_true(pw_gpu_launch_bytes(lane, pw_cu_address(memory[1].at), pw_cu_address(memory[0].at), 64));
    assert_int_equal(pw_cu.stream_wait(lane->stream), PW_CU_OK);
    assert_int_equal(*lane->flag, lane->value);
}

/* Kernels count a lane's flag on from what it was set to in place of a launch. */
static void a_flag_goes_on(void **state)
{
    PW_GPU_SCOPE(scope);
    pw_gpu_lane *lane;

    (void)state;
    assert_int_equal(pw_gpu_enter(gpu, &scope), PW_OK);
    assert_int_equal(pw_gpu_lane_take(gpu, &lane), PW_OK);
    if (pw_gpu_fused_functions(gpu)) {
        launch_to_the_end(lane);
        pw_gpu_lane_reach(lane, lane->value + 3);
        launch_to_the_end(lane);
    }
    pw_gpu_lane_give(lane);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_as_typemaps_say),
        cmocka_unit_test(a_failed_launch_is_made_good),
        cmocka_unit_test(a_flag_goes_on),
    };

    const char *driver = argc > 1 && strcmp(argv[1], "-") != 0 ? argv[1] : NULL;
    if (argc > 2)
        pairs = atoi(argv[2]);
    if (argc > 3)
        first_seed = strtoull(argv[3], NULL, 10);
    if (!gpu_start(driver))
        return SKIPPED;
    return cmocka_run_group_tests(tests, start, stop);
}
