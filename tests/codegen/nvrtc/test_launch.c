/* The decisions of plans and launches, frozen as a table; and the arithmetic that launches prepare for kernels. */
#include "codegen/nvrtc/record.h"
#include "tests/codegen/nvrtc/emulation.h"
#include "tests/support/rng.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

static const pw_gpu_device h100 = {.multiprocessors = 132};

/* A type with everything that a launch needs. */
typedef struct bound {
    pw_arena *arena;
    pw_nest *nest;
    pw_shape *shape;
    pw_gpu_plan *plan;
    pw_kernel_args args;
} bound;

static bound bind(const char *text)
{
    bound b = {.arena = pw_arena_create()};
    pw_type type;
    pw_diag diag = {0};
    if (pw_parse(text, b.arena, &type, NULL, &diag) != PW_OK)
        print_error("%s: %s\n", diag.text, text);
    b.nest = lower(&type, text);
    assert_int_equal(pw_shape_create(b.nest, &b.shape), PW_OK);
    assert_int_equal(pw_shape_bind(b.shape, b.nest, b.arena, &b.args), PW_OK);
    assert_int_equal(pw_gpu_plan_create(b.shape, &b.plan, NULL), PW_OK);
    return b;
}

static void release(bound *b)
{
    pw_gpu_plan_destroy(b->plan);
    pw_shape_unref(b->shape);
    pw_nest_destroy(b->nest);
    pw_arena_destroy(b->arena);
}

static pw_gpu_launch launch(const bound *b, int64_t count, uintptr_t src, const pw_gpu_device *device, uint64_t *params)
{
    pw_gpu_call call = {.args = &b->args, .count = count, .dst = (void *)(uintptr_t)4096, .src = (const void *)src};
    pw_gpu_launch l;
    assert_true(pw_gpu_plan_param_bytes(b->plan) <= 4096 * sizeof *params);
    assert_int_equal(pw_gpu_launch_make(b->plan, &call, device, params, &l), PW_OK);
    assert_int_equal(l.block, PW_GPU_THREADS);
    return l;
}

/* Describes a launch: "words of 8: 25000000 units in 24415 blocks, aligned dense; grid 24415", and so on for each
 * region. */
static void describe(const bound *b, const pw_gpu_launch *l, const uint64_t *params, char *out, size_t size)
{
    static const char *const kinds[] = {"words", "tiles", "pieces", "list"};
    size_t at = 0;
    for (int i = 0; i < b->plan->nregions; i++) {
        const pw_gpu_region *g = &b->plan->regions[i];
        const uint64_t *rec = params + PW_GPU_HEAD_WORDS + g->record;
        at += (size_t)snprintf(out + at, size - at, "%s %d: %" PRIu64 " in %" PRIu64, kinds[g->kind], g->word,
                               rec[PW_REC_UNITS], rec[PW_REC_BLOCKS]);
        at += (size_t)snprintf(out + at, size - at, "%s%s%s", rec[PW_REC_FLAGS] & PW_FLAG_ALIGNED ? "" : " unaligned",
                               rec[PW_REC_FLAGS] & PW_FLAG_DENSE ? " dense" : "",
                               rec[PW_REC_FLAGS] & PW_FLAG_CHUNKED  ? " chunked"
                               : rec[PW_REC_FLAGS] & PW_FLAG_NARROW ? " narrow"
                                                                    : "");
        at += (size_t)snprintf(out + at, size - at, "%s",
                               rec[PW_REC_FLAGS] & PW_FLAG_SHORT    ? " short"
                               : rec[PW_REC_FLAGS] & PW_FLAG_SPARSE ? " sparse"
                                                                    : "");
        if (g->kind == PW_GPU_LIST && !(rec[PW_REC_FLAGS] & PW_FLAG_CHUNKED))
            at += (size_t)snprintf(out + at, size - at, " lanes %d", 1 << rec[PW_REC_LANES]);
        at += (size_t)snprintf(out + at, size - at, "; ");
    }
    snprintf(out + at, size - at, "grid %u%s", l->grid, l->big ? " big" : "");
}

typedef struct row {
    const char *type;
    int64_t count;
    uintptr_t src;
    const char *expected;
} row;

#define VECTOR8 "type(lb 0, extent 1600000) { stream 100000 stride 16 { bytes 8 align 8 } }"
#define SPARSE8 "type(lb 0, extent 12800000) { stream 100000 stride 128 { bytes 8 align 8 } }"
#define BLOCKS64 "type(lb 0, extent 1600000) { stream 10000 stride 160 { bytes 64 align 16 } }"
#define COLUMNS "type(lb 0, extent 16000000) { stream 1000 stride 8 { stream 2000 stride 8000 { bytes 8 align 8 } } }"
#define ODD "type(lb 0, extent 90001) { stream 7 stride 12001 { bytes 1001 align 1 } }"
#define LIST \
    "type(lb 0, extent 9000) { blocks [0:8, 72:31, 24:1, 880:600, 2000:64, 2100:63, 2200:65, 2300:128, \
2500:129, 3000:256, 3300:257, 4000:2047, 6100:2048, 8200:3, 8300:7, 8400:17, 8500:1, 8510:2, 8520:3] }"
#define SHORT_LIST \
    "type(lb 0, extent 9000) { blocks [0:8, 72:31, 24:1, 880:60, 2000:64, 2100:63, 2200:65, 2300:128, \
2500:129, 3000:256, 3300:257, 4000:247, 6100:248, 8200:3, 8300:7, 8400:17, 8500:1, 8510:2, 8520:3] }"
#define LONG_LIST \
    "type(lb 0, extent 900000) { blocks [0:70001, 100000:1, 100010:100, 150000:3, 160000:17, \
170000:40000, 220000:1, 220004:2, 220010:3, 220020:4, 220030:5, 220040:6, 220050:7, 220060:8, 220070:9, 220080:10, \
220100:11, 220120:12] }"
#define STRUCT "type(lb 0, extent 24) { seq { @0 bytes 1 align 1 @8 bytes 8 align 8 @16 bytes 4 align 4 } }"

static const row rows[] = {
    {VECTOR8, 0, 4096, "words 8: 0 in 0 dense; grid 0"},
    {VECTOR8, 1, 4096, "words 8: 100000 in 391 dense; grid 391"},
    {VECTOR8, 10, 4096, "words 8: 1000000 in 1954 dense; grid 1954"},
    {VECTOR8, 1000, 4096, "words 8: 100000000 in 195313 dense; grid 195313"},
    {VECTOR8, 20000, 4096, "words 8: 2000000000 in 1048576 dense; grid 1048576"},
    {VECTOR8, 30000, 4096, "words 8: 3000000000 in 1048576 dense; grid 1048576 big"},
    {SPARSE8, 1000, 4096, "words 8: 100000000 in 390625 dense sparse; grid 390625"},
    {VECTOR8, 1, 4100, "words 8: 100000 in 391 unaligned dense; grid 391"},
    {BLOCKS64, 1, 4096, "words 16: 40000 in 157 dense; grid 157"},
    {BLOCKS64, 1, 4104, "words 16: 40000 in 157 unaligned dense; grid 157"},
    {COLUMNS, 1, 4096, "tiles 8: 2016 in 2016; grid 2016"},
    {COLUMNS, 3, 4097, "tiles 8: 6048 in 6048 unaligned; grid 6048"},
    {ODD, 1, 4097, "pieces 1: 448 in 2; grid 2"},
    {ODD, 100, 4097, "pieces 1: 44800 in 175; grid 175"},
    {SHORT_LIST, 100, 4096, "list 1: 1900 in 60 lanes 8; grid 60"},
    {LIST, 1, 4096, "list 1: 3 in 3 chunked; grid 3"},
    {LIST, 100, 4096, "list 1: 300 in 300 chunked; grid 300"},
    {LONG_LIST, 2, 4096, "list 1: 108 in 108 chunked; grid 108"},
    {STRUCT, 1000, 4096, "words 1: 13000 in 13 dense narrow; grid 13"},
};

static void decisions(void **state)
{
    static uint64_t params[4096];
    int wrong = 0;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[512];
        bound b = bind(rows[i].type);
        pw_gpu_launch l = launch(&b, rows[i].count, rows[i].src, &h100, params);
        describe(&b, &l, params, text, sizeof text);
        if (strcmp(text, rows[i].expected) != 0) {
            print_error("row %zu, %.60s x %" PRId64 ":\n  got      %s\n  expected %s\n", i, rows[i].type, rows[i].count,
                        text, rows[i].expected);
            wrong++;
        }
        release(&b);
    }
    assert_int_equal(wrong, 0);
}

/* For some unpacks, ends of blocks are read before they are written. */
static void filled(void **state)
{
    static const struct {
        const char *type;
        int64_t count;
        uint64_t expected;
    } cases[] = {
        {VECTOR8, 1, 0}, /* all of it stays in the cache */
        {VECTOR8, 100, PW_FLAG_FILLED_WIDE},
        {SPARSE8, 100, 0},
        {BLOCKS64, 100, PW_FLAG_FILLED},
        {COLUMNS, 1, 0},
        {ODD, 10000, PW_FLAG_FILLED},
        {SHORT_LIST, 100000, 0}, /* a list by lanes */
        {LIST, 10000, PW_FLAG_FILLED},
        {LONG_LIST, 1000, 0}, /* the ends matter little */
        {STRUCT, 4000000, 0},
    };
    static uint64_t params[4096];
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int unpack = 0; unpack < 2; unpack++) {
            bound b = bind(cases[i].type);
            pw_gpu_call call = {.args = &b.args, .count = cases[i].count, .dst = params, .src = params};
            pw_gpu_launch l;
            call.direction = unpack;
            assert_int_equal(pw_gpu_launch_make(b.plan, &call, &h100, params, &l), PW_OK);
            uint64_t flags = params[PW_GPU_HEAD_WORDS + b.plan->regions[0].record + PW_REC_FLAGS];
            if ((flags & (PW_FLAG_FILLED | PW_FLAG_FILLED_WIDE)) != (unpack ? cases[i].expected : 0))
                fail_msg("%.60s x %" PRId64 ", unpack %d: flags %" PRIx64, cases[i].type, cases[i].count, unpack,
                         flags);
            release(&b);
        }
}

static void grid_limit(void **state)
{
    static uint64_t params[4096];
    const pw_gpu_device small = {.multiprocessors = 4, .threads = 1024, .max_grid = 7};
    bound b = bind(VECTOR8);
    (void)state;
    pw_gpu_launch l = launch(&b, 100, 4096, &small, params);
    assert_int_equal(l.grid, 7);
    release(&b);
}

/* Blocks that wait for their writes, so that a flag can be written, are few and large. */
static void flag_limit(void **state)
{
    static uint64_t params[4096], where;
    static pw_gpu_ends ends;
    bound b = bind(BLOCKS64);
    pw_gpu_call call = {.args = &b.args, .count = 10, .dst = params, .src = params};
    pw_gpu_launch l;
    (void)state;
    call.flag = (pw_gpu_flag){.where = &where, .ends = &ends};
    assert_int_equal(pw_gpu_launch_make(b.plan, &call, &h100, params, &l), PW_OK);
    assert_int_equal(l.grid, 1563);
    call.count = 1000;
    assert_int_equal(pw_gpu_launch_make(b.plan, &call, &h100, params, &l), PW_OK);
    assert_int_equal(l.grid, 4 * 8 * 132);
    release(&b);
}

/* Sizes that no GPU has must fail, not wrap. */
static void overflow(void **state)
{
    static uint64_t params[4096];
    bound b = bind("type(lb 0, extent 8) { stream 4611686018427387904 stride 0 { bytes 1 align 1 } }");
    pw_gpu_call call = {.args = &b.args, .count = 1 << 20, .dst = params, .src = params};
    pw_gpu_launch l;
    (void)state;
    assert_int_equal(pw_gpu_launch_make(b.plan, &call, &h100, params, &l), PW_ERR_OVERFLOW);
    release(&b);
}

/* The code of a region is written once for all that differ in what the record has. */
static void shared_code(void **state)
{
    bound b = bind("type(lb 0, extent 640000) { seq { @0 stream 20 stride 136 { bytes 24 align 8 } "
                   "@8000 stream 30 stride 1000 { bytes 24 align 8 } @80000 stream 40 stride 200 { bytes 24 align 8 } "
                   "@120000 stream 40 stride 200 { bytes 20 align 4 } } }");
    int codes = 0;
    (void)state;
    assert_int_equal(b.plan->nregions, 4);
    for (int i = 0; i < b.plan->nregions; i++)
        codes = b.plan->regions[i].code >= codes ? b.plan->regions[i].code + 1 : codes;
    assert_int_equal(codes, 2);
    release(&b);
}

/* More records than a launch takes by value. */
static void too_many_regions(void **state)
{
    static char text[16384];
    size_t at = (size_t)snprintf(text, sizeof text, "type(lb 0, extent 640000) { seq {");
    pw_arena *arena = pw_arena_create();
    pw_type type;
    pw_shape *shape;
    pw_gpu_plan *plan = NULL;
    pw_diag diag = {0};
    (void)state;
    for (int i = 0; i < 125; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, " @%d stream %d stride %d { bytes 24 align 8 }", i * 5000,
                               20 + i, 136 + 8 * i);
    snprintf(text + at, sizeof text - at, " } }");
    assert_int_equal(pw_parse(text, arena, &type, NULL, &diag), PW_OK);
    pw_nest *nest = lower(&type, "125 streams");
    assert_int_equal(pw_shape_create(nest, &shape), PW_OK);
    assert_int_equal(pw_gpu_plan_create(shape, &plan, &diag), PW_ERR_UNSUPPORTED);
    assert_non_null(strstr(diag.text, "125 regions"));
    pw_shape_unref(shape);
    pw_nest_destroy(nest);
    pw_arena_destroy(arena);
}

/* ---- division by multiplication ---------------------------------------------------------------------------------- */

static void check_quotients(uint64_t d, const uint64_t *dim, pw_rng *rng)
{
    for (int k = 0; k < 200; k++) {
        uint64_t n = pw_rng_next(rng) >> (1 + k % 60), near = n / d * d;
        uint64_t tries[] = {n, near, near > 0 ? near - 1 : 0};
        for (int i = 0; i < 3; i++) {
            uint64_t wide = tries[i], narrow = wide & INT32_MAX;
            uint64_t q =
                d == 1 ? wide : (uint64_t)((unsigned __int128)wide * dim[PW_DIM_MAGIC64] >> 64) >> dim[PW_DIM_SHIFT64];
            assert_int_equal(q, wide / d);
            if (d <= INT32_MAX)
                assert_int_equal(narrow * (uint32_t)dim[PW_DIM_MAGIC32] >> (dim[PW_DIM_MAGIC32] >> 32), narrow / d);
        }
    }
}

/* Checks quotients for counts of a loop that are small, odd, next to powers of two, and huge. */
static void quotients(void **state)
{
    static uint64_t params[4096];
    pw_rng rng = {.state = 5};
    (void)state;
    for (int k = 0; k < 400; k++) {
        uint64_t d = k < 100 ? (uint64_t)k + 17 : (UINT64_C(1) << (k % 36 + 4)) + (uint64_t)(k % 3) - 1;
        char text[128];
        if (d < 17) /* small counts are baked */
            continue;
        snprintf(text, sizeof text, "type(lb 0, extent 8) { stream %" PRIu64 " stride 16 { bytes 8 align 8 } }", d);
        bound b = bind(text);
        pw_gpu_call call = {.args = &b.args, .count = 1, .dst = params, .src = params, .big = true};
        pw_gpu_launch l;
        assert_int_equal(pw_gpu_launch_make(b.plan, &call, &h100, params, &l), PW_OK);
        assert_true(l.big);
        const pw_gpu_region *g = &b.plan->regions[0];
        for (int i = 0; i < g->ndims; i++) {
            const uint64_t *dim = params + PW_GPU_HEAD_WORDS + g->record + PW_REC_DIMS + i * PW_DIM_WORDS;
            check_quotients(dim[PW_DIM_COUNT], dim, &rng);
        }
        release(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decisions),  cmocka_unit_test(filled),           cmocka_unit_test(grid_limit),
        cmocka_unit_test(flag_limit), cmocka_unit_test(overflow),         cmocka_unit_test(shared_code),
        cmocka_unit_test(quotients),  cmocka_unit_test(too_many_regions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
