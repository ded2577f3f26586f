/*
 * Fused moves on an emulated grid: random types and chosen ones, several in a launch, byte for byte, each between
 * pages that cannot be touched. Usage: test_nvrtc_fused [types [first seed]]
 */
#include "codegen/nvrtc/fused.h"
#include "codegen/nvrtc/nvrtc.h"
#include "tests/codegen/nvrtc/emulation.h"
#include "tests/support/judge.h"
#include "tests/support/random_ir.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

enum { DEFAULT_TYPES = 1500, MOST = 30, KINDS = PW_JOB_LIST + 1 };

/* One move of a launch. */
typedef struct item {
    pw_arena *arena;
    pw_type type;
    pw_nest *nest;
    bool dense; /* moved as bytes, without the nest */
    pw_kernel_args args;
    pw_shape *shape;
    pw_judge judge;
    char label[200];
} item;

typedef struct batch {
    item items[MOST];
    int n, next;       /* next: the item that is being run */
    bool unpack, both; /* both: every second item goes in the other direction */
    uint64_t seed;
    pw_rng rng;
    const pw_gpu_device *device;
    pw_gpu_fused fused;
    void *lib;
} batch;

/* Counts that the last line prints. */
static int kinds[KINDS], tabled, launches, large_ones, moves, exchanged, left_out;

/* ---- the kernels ------------------------------------------------------------------------------------------------- */

static void *emulate_fused(void)
{
    pw_shape *shape = pw_gpu_fused_shape();
    pw_compile_job job = {.shape = shape, .pack_name = "pack", .unpack_name = "unpack"};
    void *lib = emulate(&job);

    pw_shape_unref(shape);
    return lib;
}

static void launch(batch *b)
{
    uint64_t params[512], done = 0;
    pw_gpu_ends ends = {.count = b->seed};
    pw_gpu_flag flag = {.where = &done, .ends = &ends};
    pw_gpu_launch l;
    char name[32];
    emulated_kernel *kernel;

    if (b->fused.jobs == 0)
        return;
    pw_gpu_fused_launch(&b->fused, &flag, b->device, params, &l);
    assert_true(l.param_bytes <= sizeof params);
    snprintf(name, sizeof name, "%s%s", b->fused.direction == PW_UNPACK ? "unpack" : "pack",
             l.big ? PW_GPU_FUSED_SUFFIX : "");
    kernel = (emulated_kernel *)dlsym(b->lib, name);
    assert_non_null(kernel);
    for (uint32_t i = 0; i < l.grid; i++)
        kernel(params, i, l.grid);
    assert_int_equal(done, b->seed + 1);
    assert_int_equal(ends.count, done);
    assert_int_equal(ends.arrivals, 0);
    for (int i = 0; i < b->fused.jobs; i++) {
        uint64_t shape = b->fused.records[b->fused.at[i] + PW_JOB_SHAPE];

        kinds[shape & 255]++;
        tabled += (shape >> 16 & PW_JOB_TABLE) != 0;
    }
    launches++;
    large_ones += l.big;
    pw_gpu_fused_begin(&b->fused);
}

/* ---- a launch of several ----------------------------------------------------------------------------------------- */

static void check_next(batch *b);

/* When the buffers of one item are in place, adds its move and then those of the others; the last item launches. */
static void run(void *how, const pw_judge_call *c)
{
    batch *b = how;
    const item *t = &b->items[b->next++];
    const pw_gpu_call call = {
        .count = t->dense ? t->judge.total : c->count, .dst = c->dst, .src = c->src, .direction = c->unpack};
    const pw_nest *nest = t->dense ? NULL : t->nest;
    pw_status status = pw_gpu_fused_add(&b->fused, nest, t->args.tables, &call);

    if (status == PW_ERR_OVERFLOW) {
        launch(b);
        status = pw_gpu_fused_add(&b->fused, nest, t->args.tables, &call);
    }
    assert_int_equal(status, PW_OK);
    moves++;
    exchanged += b->fused.jobs > 0 && b->fused.direction != call.direction;
    check_next(b);
}

static int64_t lead(int64_t origin, pw_rng *rng)
{
    int64_t aligned = PW_GUARDED_LEAD / 2 - (int64_t)((uint64_t)origin & 15);
    int how = (int)pw_rng_range(rng, 0, 5);

    return how == 0 ? PW_AT_END : aligned + (how == 1 ? pw_rng_range(rng, 1, 15) : how == 2 ? 4 : how == 3 ? 8 : 0);
}

static void check_next(batch *b)
{
    item *t = &b->items[b->next];
    bool unpack = b->unpack != (b->both && b->next % 2);
    pw_judge_place at;
    int64_t wrong;

    if (b->next == b->n) {
        launch(b);
        return;
    }
    if (unpack && t->judge.overlaps) {
        b->next++;
        check_next(b);
        return;
    }
    at = (pw_judge_place){.memory = lead(-t->judge.lo, &b->rng), .packed = lead(0, &b->rng)};
    wrong = (unpack ? pw_judge_unpack : pw_judge_pack)(&t->judge, at, 0, t->judge.total, run, b);
    if (wrong != PW_JUDGED_RIGHT) {
        char *type = pw_print(&t->type, 64), *nest = pw_nest_print(t->nest, 16);

        print_error("%s, one of %d: %s is wrong at byte %" PRId64 " (count %" PRId64 ", %d multiprocessors)\n%s\n%s\n",
                    t->label, b->n, unpack ? "unpack" : "pack", wrong, t->judge.count, b->device->multiprocessors, type,
                    nest);
        free(type);
        free(nest);
        fail();
    }
}

static const pw_gpu_device devices[] = {
    {.multiprocessors = 132}, {.multiprocessors = 1}, {.multiprocessors = 16, .max_grid = 3}};

static void check_batch(batch *b)
{
    for (int way = 0; way < 4; way++) {
        b->unpack = way % 2;
        b->both = way / 2;
        b->next = 0;
        b->device = &devices[(b->seed + (uint64_t)way) % 3];
        b->rng = (pw_rng){.state = b->seed};
        check_next(b);
    }
    for (int i = 0; i < b->n; i++) {
        item *t = &b->items[i];

        pw_judge_free(&t->judge);
        pw_shape_unref(t->shape);
        pw_nest_destroy(t->nest);
        pw_arena_destroy(t->arena);
    }
    b->n = 0;
}

/* Adds an item; the type is in the item's arena. Returns false, and frees the item, if these kernels do not serve it.
 */
static bool add_item(batch *b, item *t, int64_t count, uint64_t seed)
{
    t->nest = lower(&t->type, t->label);
    if (pw_gpu_fused_most(t->nest) == 0) {
        left_out++;
        pw_nest_destroy(t->nest);
        pw_arena_destroy(t->arena);
        return false;
    }
    assert_int_equal(pw_shape_create(t->nest, &t->shape), PW_OK);
    assert_int_equal(pw_shape_bind(t->shape, t->nest, t->arena, &t->args), PW_OK);
    pw_judge_init(&t->judge, &t->type, count, seed);
    b->n++;
    return true;
}

/* ---- random types ------------------------------------------------------------------------------------------------ */

typedef struct plan {
    uint64_t seed;
    int64_t types;
} plan;

static void add_random(batch *b, uint64_t seed)
{
    static const int64_t counts[] = {1, 2, 7, 0, 33};
    item *t = &b->items[b->n];
    pw_builder builder = {.arena = pw_arena_create()};
    pw_random_options options = {.max_size = seed % 16 == 0 ? 60000 : 4096};

    *t = (item){.arena = builder.arena};
    snprintf(t->label, sizeof t->label, "seed %" PRIu64, seed);
    t->type = pw_random_type(&builder, seed, &options);
    assert_int_equal(builder.status, PW_OK);
    add_item(b, t, counts[seed % 5], seed);
}

static void random_types(void **state)
{
    static batch b;
    const plan *p = *state;

    b = (batch){.lib = emulate_fused()};
    for (int64_t i = 0; i < p->types; i++) {
        b.seed = p->seed + (uint64_t)i;
        add_random(&b, b.seed);
        /* Launches of one to MOST moves. */
        if (b.n > 0 && (i + 1 == p->types || b.n >= 1 + (int)(b.seed / MOST % MOST)))
            check_batch(&b);
    }
    print_message(
        "%d moves in %d launches, %d of them large; jobs in words of 1 to 16 bytes: %d %d %d %d %d, in parts: "
        "%d, lists: %d; %d with a table; %d moves with sides exchanged; %d types left out\n",
        moves, launches, large_ones, kinds[0], kinds[1], kinds[2], kinds[3], kinds[4], kinds[PW_JOB_PARTS],
        kinds[PW_JOB_LIST], tabled, exchanged, left_out);
    assert_true(exchanged > 0);
    for (int k = 0; k < KINDS && p->types >= DEFAULT_TYPES; k++)
        assert_true(kinds[k] > 0);
    dlclose(b.lib);
}

/* ---- chosen ones ------------------------------------------------------------------------------------------------- */

static void add_text(batch *b, int64_t count, bool dense, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
static void add_text(batch *b, int64_t count, bool dense, const char *fmt, ...)
{
    item *t = &b->items[b->n];
    char text[4096];
    pw_diag diag = {0};
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    *t = (item){.arena = pw_arena_create(), .dense = dense};
    snprintf(t->label, sizeof t->label, "%.190s", text);
    if (pw_parse(text, t->arena, &t->type, NULL, &diag) != PW_OK) {
        print_error("%s: %s\n", diag.text, text);
        fail();
    }
    if (!add_item(b, t, count, (uint64_t)b->n)) {
        print_error("not for these kernels: %s\n", t->label);
        fail();
    }
}

/* The 26 regions of a halo, of lengths and alignments that need every kind of word. */
static void halo(void **state)
{
    static batch b;
    static const int elements[] = {1, 2, 3, 4, 8, 12, 16, 27};
    const int n = 20;

    (void)state;
    b = (batch){.lib = emulate_fused()};
    for (int e = 0; e < 8; e++) {
        int bytes = elements[e], row = n * bytes, plane = n * row;

        for (int i = 0; i < 27; i++) {
            int width[] = {i % 3 == 1 ? n - 4 : 2, i / 3 % 3 == 1 ? n - 4 : 2, i / 9 == 1 ? n - 4 : 2};
            int at = (i % 3 == 2 ? n - 2 : 2) * bytes + (i / 3 % 3 == 2 ? n - 2 : 2) * row +
                     (i / 9 == 2 ? n - 2 : 2) * plane;

            if (i != 13)
                add_text(
                    &b, 1, false,
                    "type(lb 0, extent %d) { seq { @%d stream %d stride %d { stream %d stride %d { bytes %d align 1 "
                    "} } } }",
                    n * plane, at, width[2], plane, width[1], row, width[0] * bytes);
        }
        b.seed = (uint64_t)e;
        check_batch(&b);
    }
    dlclose(b.lib);
}

/* A type whose offsets only a table can hold. */
static const char *scattered(int unit)
{
    static char text[1024];
    size_t at = 0;

    for (int i = 0; i < 60; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%d", i ? ", " : "", (i * 17 + i * i % 13) * unit);
    return text;
}

/* Corner cases: bytes without a layout, negative strides, one unit, no bytes. */
static void corners(void **state)
{
    static batch b;

    (void)state;
    b = (batch){.lib = emulate_fused()};
    for (int seed = 0; seed < 12; seed++) {
        for (int n = 1; n < 5000; n = n * 3 + seed)
            add_text(&b, 1, true, "type(lb 0, extent %d) { bytes %d align 1 }", n, n);
        add_text(&b, 0, false, "type(lb 0, extent 8) { bytes 8 align 8 }");
        add_text(&b, 5, false, "type(lb -800, extent 8) { stream 30 stride -24 { bytes 8 align 8 } }");
        add_text(&b, 3, false, "type(lb 0, extent -4000) { stream 30 stride 100 { bytes 27 align 1 } }");
        add_text(&b, 3, false, "type(lb 0, extent 8) { index [0, 24, 48, 160, 168, 1000, 1104] { bytes 4 align 4 } }");
        add_text(&b, 2, false, "type(lb 0, extent 8) { index [%s] { bytes 4 align 4 } }", scattered(4));
        add_text(&b, 2, false, "type(lb 0, extent 99999) { index [%s] { bytes 31 align 1 } }", scattered(33));
        add_text(&b, 2, false,
                 "type(lb 0, extent 9000) { blocks [0:8, 72:31, 24:1, 880:600, 2000:64, 2100:63, 2200:65, "
                 "2300:128, 2500:129, 3000:256, 3300:257, 4000:2047, 6100:2048, 8200:3, 8300:7, 8400:17, "
                 "8500:1, 8510:2, 8520:3] }");
        b.seed = (uint64_t)seed;
        check_batch(&b);
    }
    dlclose(b.lib);
}

/* Moves that these kernels do not serve, and moves for which there is no room. */
static void limits(void **state)
{
    static batch b;
    static pw_gpu_fused f;
    const pw_gpu_call call = {.count = 1, .dst = (void *)4096, .src = (const void *)8192};
    int added = 0, words;
    item *t;

    (void)state;
    add_text(&b, 1, false,
             "type(lb 0, extent 64000) { stream 20 stride 3200 { stream 20 stride 160 { bytes 24 align 8 } } }");
    t = &b.items[0];
    assert_true(pw_gpu_fused_most(t->nest) > 0);
    while (pw_gpu_fused_add(&f, t->nest, NULL, &call) == PW_OK)
        added++;
    assert_in_range(added, 26, PW_GPU_FUSED_JOBS);
    words = f.words;
    assert_int_equal(pw_gpu_fused_add(&f, t->nest, NULL, &call), PW_ERR_OVERFLOW);
    assert_int_equal(f.jobs, added);
    assert_int_equal(f.words, words);
    /* A billion objects are no short move. */
    pw_gpu_fused_begin(&f);
    assert_int_equal(
        pw_gpu_fused_add(&f, t->nest, NULL, &(pw_gpu_call){.count = 1 << 30, .dst = call.dst, .src = call.src}),
        PW_ERR_UNSUPPORTED);
    assert_int_equal(f.jobs, 0);
    pw_judge_free(&t->judge);
    pw_shape_unref(t->shape);
    pw_nest_destroy(t->nest);
    pw_arena_destroy(t->arena);
}

static void is_same_job(const pw_gpu_fused *a, const pw_gpu_fused *b, int i)
{
    const uint64_t *record = a->records + a->at[i];
    uint64_t shape = record[PW_JOB_SHAPE];
    size_t words = (size_t)(shape >> 24 & 255) + PW_JOB_LOOP_WORDS * (size_t)(shape >> 8 & 255);

    assert_memory_equal(record, b->records + b->at[i], words * sizeof *record);
    assert_memory_equal(a->addresses[i], b->addresses[i], sizeof a->addresses[i]);
}

/* The last move at other addresses gets the jobs that it would get alone, and shares their records, unless these
 * addresses are aligned otherwise. */
static void repetitions(void **state)
{
    static const char *const texts[] = {
        "type(lb 0, extent 64000) { stream 20 stride 3200 { stream 20 stride 160 { bytes 24 align 8 } } }",
        "type(lb 0, extent 1000) { blocks [0:8, 72:31, 24:1, 880:60] }",
        "type(lb 0, extent 9000) { stream 30 stride 300 { bytes 29 align 1 } }"};
    static const uint64_t dst[] = {4096, 8192, 8196, 12304, 1 << 20}, src[] = {1 << 16, 1 << 17, 4100, 8208, 64};

    (void)state;
    for (int i = 0; i < 3; i++) {
        static batch b;
        static pw_gpu_fused again, anew;
        item *t = &b.items[0];

        b.n = 0;
        add_text(&b, 1, false, "%s", texts[i]);
        pw_gpu_fused_begin(&again);
        pw_gpu_fused_begin(&anew);
        for (int k = 0; k < 10; k++) {
            const pw_gpu_call call = {.count = 1,
                                      .dst = (void *)(uintptr_t)dst[k / 2],
                                      .src = (void *)(uintptr_t)src[k / 2],
                                      .direction = k / 2 % 2 && i != 1 ? PW_PACK : PW_UNPACK};
            pw_status status = k > 0 && call.direction == again.last.call.direction
                                   ? pw_gpu_fused_again(&again, call.dst, call.src)
                                   : PW_ERR_UNSUPPORTED;

            if (status == PW_ERR_UNSUPPORTED)
                status = pw_gpu_fused_add(&again, t->nest, t->args.tables, &call);
            assert_int_equal(status, pw_gpu_fused_add(&anew, t->nest, t->args.tables, &call));
            assert_int_equal(again.jobs, anew.jobs);
            for (int j = 0; j < anew.jobs; j++)
                is_same_job(&again, &anew, j);
        }
        assert_true(again.words < anew.words);
        pw_judge_free(&t->judge);
        pw_shape_unref(t->shape);
        pw_nest_destroy(t->nest);
        pw_arena_destroy(t->arena);
    }
}

/* NVRTC takes the text for the oldest, the newest, and what Hopper is. */
static void architectures(void **state)
{
    int archs[128], n = pw_nvrtc_architectures(archs, 128);
    pw_shape *shape = pw_gpu_fused_shape();
    pw_compile_job job = {.shape = shape, .pack_name = "my_pack", .unpack_name = "my_unpack"};
    pw_blob text, ptx;

    (void)state;
    assert_int_equal(pw_gpu_source(&job, &text, NULL), PW_OK);
    pw_shape_unref(shape);
    if (n == 0)
        print_message("SKIPPED: nothing is compiled here\n");
    for (int i = 0; i < n && i < 128; i++) {
        pw_diag diag = {0};

        if (i > 0 && i < n - 1 && archs[i] != 90)
            continue;
        if (pw_nvrtc_compile(text.data, archs[i], PW_EMIT_ASM, &ptx, &diag) != PW_OK) {
            print_error("sm_%d: %s\n", archs[i], diag.text);
            fail();
        }
        assert_non_null(strstr(ptx.data, "my_unpack" PW_GPU_FUSED_SUFFIX));
        assert_null(strstr(ptx.data, ".local"));
        assert_null(strstr(ptx.data, "div."));
        assert_null(strstr(ptx.data, "rem."));
        pw_blob_free(&ptx);
    }
    pw_blob_free(&text);
}

int main(int argc, char **argv)
{
    plan p = {.seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1,
              .types = argc > 1 ? strtoll(argv[1], NULL, 10) : DEFAULT_TYPES};
    const struct CMUnitTest tests[] = {cmocka_unit_test(architectures), cmocka_unit_test(limits),
                                       cmocka_unit_test(repetitions),   cmocka_unit_test(corners),
                                       cmocka_unit_test(halo),          cmocka_unit_test_prestate(random_types, &p)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
