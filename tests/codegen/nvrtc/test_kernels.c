/* Layouts that each reach one kind of region, or one corner of it, on an emulated grid. */
#include "tests/codegen/nvrtc/emulation.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

enum { MAX_LAYOUTS = 96 };

typedef struct layout {
    pw_type type;
    pw_nest *nest;
    pw_shape *shape;
    char pack[16], unpack[16];
    char *text;
} layout;

/* The layouts of a test, which are compiled together. */
typedef struct suite {
    pw_arena *arena;
    layout list[MAX_LAYOUTS];
    pw_compile_job jobs[MAX_LAYOUTS];
    int n;
} suite;

static void add_text(suite *s, const char *text)
{
    layout *l = &s->list[s->n];
    pw_diag diag = {0};
    assert_true(s->n < MAX_LAYOUTS);
    if (pw_parse(text, s->arena, &l->type, NULL, &diag) != PW_OK) {
        print_error("%s: %s\n", diag.text, text);
        fail();
    }
    l->text = strdup(text);
    l->nest = lower(&l->type, text);
    assert_int_equal(pw_shape_create(l->nest, &l->shape), PW_OK);
    snprintf(l->pack, sizeof l->pack, "pack_%d", s->n);
    snprintf(l->unpack, sizeof l->unpack, "unpack_%d", s->n);
    s->jobs[s->n] = (pw_compile_job){.shape = l->shape, .pack_name = l->pack, .unpack_name = l->unpack};
    if (s->n > 0)
        s->jobs[s->n - 1].next = &s->jobs[s->n];
    s->n++;
}

static void add(suite *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void add(suite *s, const char *fmt, ...)
{
    char text[4096];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    add_text(s, text);
}

/* Runs all layouts by specialised kernels and by tier 0. Every layout must have a region of this kind. */
static void check(suite *s, pw_gpu_kind kind, const int64_t *counts, int ncounts)
{
    pw_target target = {0};
    pw_gpu_tier0 *tier0;
    assert_int_equal(pw_gpu_tier0_create(&tier0, NULL), PW_OK);
    void *tier0_lib = emulate(pw_gpu_tier0_jobs(tier0, &target, PW_EMIT_IR_RAW)), *lib = emulate(s->jobs);
    for (int i = 0; i < s->n; i++) {
        layout *l = &s->list[i];
        pw_gpu_plan *plan;
        bool found = false;
        assert_int_equal(pw_gpu_plan_create(l->shape, &plan, NULL), PW_OK);
        for (int r = 0; r < plan->nregions; r++)
            found |= plan->regions[r].kind == kind;
        if (!found)
            print_error("not of the kind that is tested: %s\n", l->text);
        assert_true(found);
        pw_gpu_plan_destroy(plan);
        for (int k = 0; k < ncounts; k++) {
            subject one = {
                .type = &l->type, .nest = l->nest, .label = l->text, .seed = (uint64_t)(i + k), .count = counts[k]};
            check_kernel(&one, lib, l->shape, l->pack, l->unpack);
            check_tier0(&one, tier0_lib, tier0);
        }
        pw_shape_unref(l->shape);
        pw_nest_destroy(l->nest);
        free(l->text);
    }
    dlclose(lib);
    dlclose(tier0_lib);
    pw_gpu_tier0_destroy(tier0);
    pw_arena_destroy(s->arena);
}

static suite make_suite(void)
{
    return (suite){.arena = pw_arena_create()};
}

/* Matrices by columns, larger than what the tile pass leaves alone; with a loop around; and by count. */
static void tiles(void **state)
{
    static const int64_t counts[] = {1, 2, 5};
    static suite s;
    (void)state;
    s = make_suite();
    for (int word = 1; word <= 16; word *= 2)
        for (int n = 31; n <= 65; n += 17)
            add(&s, "type(lb 0, extent %d) { stream %d stride %d { stream %d stride %d { bytes %d align %d } } }",
                n * 300 * word, n, word, 300 - n, n * word, word, word);
    add(&s, "type(lb 0, extent 800000) { stream 3 stride 200000 { stream 70 stride 8 { stream 300 stride 560 "
            "{ bytes 8 align 8 } } } }");
    check(&s, PW_GPU_TILE, counts, 3);
}

/* A column resized to an element: the objects are one of the two loops of the transpose. */
static void tiles_of_objects(void **state)
{
    static const int64_t counts[] = {1, 33, 70};
    static suite s;
    (void)state;
    s = make_suite();
    add(&s, "type(lb 0, extent 8) { stream 300 stride 800 { bytes 8 align 8 } }");
    add(&s, "type(lb 0, extent 4) { stream 513 stride 404 { bytes 4 align 4 } }");
    check(&s, PW_GPU_TILE, counts, 3);
}

static void words(void **state)
{
    static const int64_t counts[] = {1, 3, 40};
    static suite s;
    (void)state;
    s = make_suite();
    for (int n = 1; n < 24; n += n < 8 ? 1 : 5)
        add(&s, "type(lb 0, extent %d) { stream 21 stride %d { bytes %d align 1 } }", 21 * (n + 3), n + 3, n);
    /* Bytes and shorts that fill words of the packed side, or not. */
    add(&s, "type(lb 0, extent 640) { stream 80 stride 8 { bytes 1 align 4 } }");
    add(&s, "type(lb 0, extent 648) { stream 81 stride 8 { bytes 2 align 4 } }");
    add(&s, "type(lb 0, extent 80000) { stream 10 stride 8000 { stream 1000 stride 8 { bytes 1 align 4 } } }");
    for (int n = 4; n <= 8192; n *= 2)
        add(&s, "type(lb 0, extent %d) { stream 5 stride %d { bytes %d align 4 } }", 6 * n + 64, n + 4, n);
    add(&s, "type(lb 0, extent 8000) { stream 3 stride 800 { stream 10 stride 80 { bytes 80 align 8 } } }");
    add(&s, "type(lb 0, extent 8000) { stream 10 stride 80 { stream 3 stride 800 { bytes 16 align 16 } } }");
    add(&s, "type(lb -800, extent 8) { stream 30 stride -24 { bytes 8 align 8 } }");
    add(&s, "type(lb 0, extent -4000) { stream 30 stride 100 { bytes 12 align 4 } }");
    add(&s, "type(lb 0, extent 24) { seq { @0 bytes 1 align 1 @8 bytes 8 align 8 @16 bytes 4 align 4 } }");
    add(&s, "type(lb 0, extent 40) { seq { @32 bytes 4 align 4 @8 bytes 8 align 8 @0 bytes 4 align 4 } }");
    add(&s, "type(lb 0, extent 8) { index [0, 24, 48, 160, 168, 1000, 1104, 1112, 1144] { bytes 4 align 4 } }");
    /* Bytes and shorts of several pieces, whose places are worked out once; by themselves and beside another region. */
    add(&s,
        "type(lb 0, extent 320) { seq { @0 bytes 3 align 1 @4 bytes 4 align 2 @8 bytes 40 align 8 @64 bytes 9 align 1 "
        "@128 bytes 16 align 8 @312 bytes 5 align 1 } }");
    add(&s, "type(lb 0, extent 64) { seq { @40 bytes 2 align 2 @8 bytes 6 align 2 @0 bytes 4 align 2 @20 bytes 10 "
            "align 2 } }");
    add(&s, "type(lb 0, extent 9000) { stream 50 stride 31 { seq { @0 bytes 3 align 1 @9 bytes 7 align 1 } } }");
    check(&s, PW_GPU_WORDS, counts, 3);
}

/* Long blocks that no word divides, at every distance of the alignments of both sides; longer than a chunk. */
static void pieces(void **state)
{
    static const int64_t counts[] = {1, 3, 9};
    static suite s;
    (void)state;
    s = make_suite();
    for (int n = 25; n < 70; n += n < 40 ? 2 : 6)
        add(&s, "type(lb 0, extent 9001) { stream 17 stride %d { bytes %d align 1 } }", 3 * n, n);
    add(&s, "type(lb 0, extent 90001) { stream 7 stride 12001 { bytes 1001 align 1 } }");
    add(&s, "type(lb 0, extent 90002) { stream 3 stride 20002 { bytes 10002 align 2 } }");
    add(&s, "type(lb 0, extent 90001) { stream 4 stride 9000 { seq { @0 bytes 3 align 1 @100 bytes 5000 align 1 "
            "@7001 bytes 300 align 1 } } }");
    add(&s, "type(lb 0, extent 60001) { stream 300 stride 199 { seq { @0 bytes 61 align 1 @100 bytes 7 align 1 "
            "@120 bytes 45 align 1 } } }");
    check(&s, PW_GPU_PIECES, counts, 3);
}

/* Adds a list of many blocks whose lengths differ, all multiples of `unit`. A `step` below 0 spreads them downwards in
 * memory. */
static void add_list(suite *s, int n, int signed_step, int unit)
{
    int step = abs(signed_step);
    static char text[1 << 18];
    size_t at = (size_t)snprintf(text, sizeof text, "type(lb 0, extent %d) { blocks [", (n * step + 64) * unit);
    for (int i = 0; i < n; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%d:%d", i ? "," : "",
                               ((signed_step < 0 ? n - 1 - i : i) * step + i * i % 7) * unit,
                               (1 + (i * i * 31 + i) % (step - 8)) * unit);
    snprintf(text + at, sizeof text - at, "] }");
    add_text(s, text);
}

static void lists(void **state)
{
    static const int64_t counts[] = {1, 2, 3};
    static suite s;
    (void)state;
    s = make_suite();
    add(&s, "type(lb 0, extent 9000) { blocks [0:8, 72:31, 24:1, 880:600, 2000:64, 2100:63, 2200:65, 2300:128, "
            "2500:129, 3000:256, 3300:257, 4000:2047, 6100:2048, 8200:3, 8300:7, 8400:17, 8500:1, 8510:2, 8520:3] }");
    add_list(&s, 60, 30, 1);
    add_list(&s, 300, 30, 1);
    add_list(&s, 3000, 70, 1);  /* in spans, found by searching */
    add_list(&s, 30, 9000, 1);  /* blocks longer than a span */
    add_list(&s, 4000, 24, 1);  /* more blocks in a span than a window holds */
    add_list(&s, 2000, -70, 1); /* most of them not between the first and the last one */
    for (int unit = 4; unit <= 16; unit *= 2) {
        add_list(&s, 40, 24, unit);
        add_list(&s, 1000, 24, unit);
        add_list(&s, 20, 3000, unit);
    }
    add(&s, "type(lb 0, extent 800000) { stream 2 stride 300000 { blocks [0:70001, 100000:1, 100010:100, 150000:3, "
            "160000:17, 170000:40000, 220000:1, 220004:2, 220010:3, 220020:4, 220030:5, 220040:6, 220050:7, "
            "220060:8, 220070:9, 220080:10, 220100:11, 220120:12] } }");
    check(&s, PW_GPU_LIST, counts, 3);
}

/* Faces of a box as one type: many regions, most of them with the same code. */
static void regions(void **state)
{
    static const int64_t counts[] = {1, 4};
    static suite s;
    (void)state;
    s = make_suite();
    add(&s, "type(lb 0, extent 64000) { seq {"
            "@0 stream 20 stride 3200 { stream 20 stride 160 { bytes 24 align 8 } }"
            "@136 stream 20 stride 3200 { stream 20 stride 160 { bytes 24 align 8 } }"
            "@24 stream 20 stride 3200 { stream 3 stride 160 { bytes 112 align 8 } }"
            "@2744 stream 20 stride 3200 { stream 3 stride 160 { bytes 112 align 8 } }"
            "@504 stream 3 stride 3200 { stream 14 stride 160 { bytes 112 align 8 } }"
            "@54904 stream 3 stride 3200 { stream 14 stride 160 { bytes 112 align 8 } } } }");
    add(&s, "type(lb 0, extent 90000) { seq { @0 bytes 3 align 1 @100 stream 20 stride 50 { bytes 7 align 1 } "
            "@9000 stream 40 stride 104 { bytes 24 align 8 } @70000 bytes 5000 align 1 } }");
    assert_true(s.list[0].nest->nregions > 1);
    check(&s, PW_GPU_WORDS, counts, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tiles), cmocka_unit_test(tiles_of_objects), cmocka_unit_test(words), cmocka_unit_test(pieces),
        cmocka_unit_test(lists), cmocka_unit_test(regions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
