/*
 * Pairs of layouts joined and copied by GPU kernels on an emulated grid, both ways, against their typemaps: by
 * specialised kernels, by tier 0 and by the kernel that fuses transfers. Chosen pairs reach each way to share out a
 * region; the others are random. Usage: test_joined_nvrtc [random pairs [first seed]]
 */
#include "codegen/nvrtc/fused.h"
#include "codegen/nvrtc/record.h"
#include "tests/codegen/joined/pairs.h"
#include "tests/codegen/nvrtc/emulation.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <setjmp.h>

#include <cmocka.h>

enum { DEFAULT_PAIRS = 16, BATCH = 80, PARAM_WORDS = 4096 };

typedef struct plan {
    uint64_t seed;
    int64_t pairs;
} plan;

/* One pair of a batch. */
typedef struct item {
    uint64_t seed;
    pair pair;
    pw_nest *nest; /* NULL: the layouts do not join */
    pw_shape *shape;
    pw_gpu_plan *plan; /* NULL: GPU kernels do not serve the pair */
    pw_arena *arena;
    pw_kernel_args args;
    char pack[24], unpack[24];
} item;

/* How one copy is made. */
typedef struct way {
    const item *item;
    void *lib, *general; /* the batch's kernels; tier 0's */
    pw_gpu_tier0 *tier0; /* NULL: by the pair's own kernel */
    const pw_compile_job *jobs;
    bool fused;
    bool big;
    pw_gpu_device device;
} way;

static int kinds[4], joined, own, by_tier0, by_fused;

/* ---- making ------------------------------------------------------------------------------------------------------ */

static void join_item(item *t)
{
    pw_diag diag = {0};

    if (t->pair.bytes == 0 || pw_lower_join(&t->pair.type[0], &t->pair.type[1], &t->nest, NULL, &diag) != PW_OK) {
        t->nest = NULL;
        return;
    }
    joined++;
    assert_int_equal(pw_shape_create(t->nest, &t->shape), PW_OK);
    assert_int_equal(pw_shape_bind(t->shape, t->nest, t->arena, &t->args), PW_OK);
    if (pw_gpu_plan_create(t->shape, &t->plan, &diag) != PW_OK)
        t->plan = NULL;
}

static void make_item(item *t, uint64_t seed)
{
    *t = (item){.seed = seed, .arena = pw_arena_create()};
    pair_init(&t->pair, seed, seed % 20 == 0 ? 60000 : seed % 3 == 0 ? 300 : 3000);
    join_item(t);
}

static void drop_item(item *t)
{
    pw_gpu_plan_destroy(t->plan);
    if (t->nest)
        pw_shape_unref(t->shape);
    pw_nest_destroy(t->nest);
    pw_arena_destroy(t->arena);
    pair_free(&t->pair);
}

static int make_jobs(item *items, int n, pw_compile_job *jobs)
{
    int njobs = 0;

    for (int i = 0; i < n; i++) {
        item *t = &items[i];

        if (!t->plan)
            continue;
        snprintf(t->pack, sizeof t->pack, "pack_%d", i);
        snprintf(t->unpack, sizeof t->unpack, "unpack_%d", i);
        jobs[njobs] = (pw_compile_job){.shape = t->shape, .pack_name = t->pack, .unpack_name = t->unpack};
        if (njobs > 0)
            jobs[njobs - 1].next = &jobs[njobs];
        njobs++;
        own++;
        for (int r = 0; r < t->plan->nregions; r++)
            kinds[t->plan->regions[r].kind]++;
    }
    return njobs;
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

static void run_launch(void *lib, const char *name, const char *suffix, const pw_gpu_launch *l, const uint64_t *params)
{
    char symbol[96];
    emulated_kernel *kernel;

    snprintf(symbol, sizeof symbol, "%s%s", name, l->big ? suffix : "");
    kernel = (emulated_kernel *)dlsym(lib, symbol);
    assert_non_null(kernel);
    for (uint32_t b = 0; b < l->grid; b++)
        kernel(params, b, l->grid);
}

/* Sets the flags by which ends of blocks are read before they are written, although the calls are too small for it. */
static void fill_ends(const item *t, uint64_t *params)
{
    static const uint64_t flags[] = {0, PW_FLAG_FILLED, PW_FLAG_FILLED_WIDE};

    for (int i = 0; i < t->plan->nregions; i++)
        params[PW_GPU_HEAD_WORDS + t->plan->regions[i].record + PW_REC_FLAGS] |= flags[t->seed % 3];
}

static void run_tier0(const way *w, const pw_gpu_call *call, bool back)
{
    const item *t = w->item;

    for (int i = 0; i < pw_gpu_tier0_launches(t->nest); i++) {
        uint64_t params[PARAM_WORDS];
        pw_gpu_launch l;
        int kernel;

        assert_int_equal(
            pw_gpu_tier0_launch(w->tier0, t->nest, i, t->args.tables, call, &w->device, params, &kernel, &l), PW_OK);
        run_launch(w->general, back != l.swapped ? w->jobs[kernel].unpack_name : w->jobs[kernel].pack_name,
                   PW_GPU_BIG_SUFFIX, &l, params);
    }
}

static void run_fused(const way *w, const pw_gpu_call *call, bool back)
{
    static pw_gpu_fused jobs;
    const pw_gpu_flag none = {.where = NULL};
    uint64_t params[PARAM_WORDS];
    pw_gpu_launch l;

    pw_gpu_fused_begin(&jobs);
    assert_int_equal(pw_gpu_fused_add(&jobs, w->item->nest, w->item->args.tables, call), PW_OK);
    pw_gpu_fused_launch(&jobs, &none, &w->device, params, &l);
    run_launch(w->general, back ? "fused_unpack" : "fused_pack", PW_GPU_FUSED_SUFFIX, &l, params);
}

static void run(void *how, bool back, void *dst, const void *src, int64_t objects)
{
    const way *w = how;
    const item *t = w->item;
    const pw_gpu_call call = {.args = &t->args,
                              .count = objects,
                              .dst = dst,
                              .src = src,
                              .big = w->big,
                              .direction = back ? PW_UNPACK : PW_PACK};
    uint64_t params[PARAM_WORDS];
    pw_gpu_launch l;

    if (w->fused) {
        run_fused(w, &call, back);
    } else if (w->tier0) {
        run_tier0(w, &call, back);
    } else {
        assert_int_equal(pw_gpu_launch_make(t->plan, &call, &w->device, params, &l), PW_OK);
        assert_true(l.param_bytes <= sizeof params);
        fill_ends(t, params);
        run_launch(w->lib, back ? t->unpack : t->pack, PW_GPU_BIG_SUFFIX, &l, params);
    }
}

static void check_item(const item *t, way w)
{
    static const pw_gpu_device devices[] = {
        {.multiprocessors = 132}, {.multiprocessors = 1, .threads = 256}, {.multiprocessors = 80, .max_grid = 1}};
    pw_gpu_tier0 *tier0 = w.tier0;

    w.item = t;
    w.device = devices[t->seed % 3];
    w.big = t->seed % 4 == 0;
    w.tier0 = NULL;
    if (t->plan)
        assert_true(pair_check(&t->pair, t->nest, t->seed, run, &w));
    w.tier0 = tier0;
    if (pw_gpu_tier0_launches(t->nest) >= 0) {
        assert_true(pair_check(&t->pair, t->nest, t->seed, run, &w));
        by_tier0++;
    }
    w.fused = true;
    if (pw_gpu_fused_most(t->nest) > 0) {
        assert_true(pair_check(&t->pair, t->nest, t->seed, run, &w));
        by_fused++;
    }
}

static void check_items(item *items, int n, way w)
{
    static pw_compile_job jobs[BATCH];

    w.lib = make_jobs(items, n, jobs) > 0 ? emulate(jobs) : NULL;
    for (int i = 0; i < n; i++) {
        if (items[i].nest)
            check_item(&items[i], w);
        drop_item(&items[i]);
    }
    if (w.lib)
        dlclose(w.lib);
}

/* ---- chosen pairs ------------------------------------------------------------------------------------------------ */

static const pw_node *rows(pw_builder *b, int64_t n, int64_t stride, int64_t bytes)
{
    return pw_build_stream(b, n, stride, pw_build_bytes(b, bytes, 1));
}

static const pw_node *columns(pw_builder *b, int64_t n, int64_t m, int64_t row, int64_t bytes)
{
    return pw_build_stream(b, n, bytes, rows(b, m, row, bytes));
}

/* n blocks of `bytes` bytes in no order. */
static const pw_node *scattered(pw_builder *b, int64_t n, int64_t bytes, int64_t step)
{
    int64_t offs[64];

    for (int64_t i = 0; i < n; i++)
        offs[i] = 48 + i * step % n * (bytes + 16 * step);
    return pw_build_index(b, n, offs, pw_build_bytes(b, bytes, 1));
}

/* `bytes` bytes in blocks of 1 to `most` units, with gaps. */
static const pw_node *list(pw_builder *b, int64_t bytes, int64_t unit, int64_t most, uint64_t seed)
{
    int64_t offs[2048], lens[2048], n = 0, at = 0;
    pw_rng rng = {seed};

    while (bytes > 0) {
        int64_t len = unit * pw_rng_range(&rng, 1, most);

        lens[n] = len < bytes ? len : bytes;
        offs[n] = at;
        at += lens[n] + unit * pw_rng_range(&rng, 1, 9);
        bytes -= lens[n++];
    }
    return pw_build_blocks(b, n, offs, lens);
}

/* Members of three forms. */
static const pw_node *parts(pw_builder *b, int64_t gap)
{
    const int64_t offs[] = {0, 10000 + gap, 30000 + 2 * gap};
    const pw_node *members[] = {rows(b, 30, 48 + gap, 32), rows(b, 40, 24 + gap, 8), rows(b, 25, 160 + gap, 128)};

    return pw_build_seq(b, 3, offs, members);
}

enum { CHOSEN = 12 };

/* Side `side` of chosen pair `number`, and the kind of region that their join must have. */
static const pw_node *choose(pw_builder *b, int number, int side, int *kind)
{
    *kind = number < 3 ? PW_GPU_TILE : number < 7 ? PW_GPU_WORDS : number < 9 ? PW_GPU_PIECES : PW_GPU_LIST;
    switch (number) {
    case 0: return side ? rows(b, 96, 648, 640) : columns(b, 96, 80, 1000, 8);
    case 1: return side ? rows(b, 150, 284, 280) : columns(b, 150, 70, 620, 4);
    case 2: return side ? rows(b, 40, 16 * 50 + 16, 16 * 50) : columns(b, 40, 50, 1600, 16);
    case 3: return scattered(b, 40, 64, side ? 7 : 11);
    case 4: return side ? scattered(b, 40, 48, 3) : rows(b, 240, 40, 8);
    case 5: return rows(b, 700, side ? 10 : 6, 2);
    case 6: return parts(b, side ? 16 : 0);
    case 7: return rows(b, 200, side ? 41 : 50, 37);
    case 8: return side ? scattered(b, 60, 45, 7) : rows(b, 60, 64, 45);
    case 9: return list(b, 24000, 8, 40, (uint64_t)side + 1);
    case 10: return list(b, 9000, 1, 60, (uint64_t)side + 1);
    default: return list(b, 1600, 4, 30, (uint64_t)side + 1);
    }
}

static void make_chosen(item *t, int number, int *kind)
{
    pw_builder b;

    *t = (item){.seed = (uint64_t)number, .arena = pw_arena_create(), .pair = {.arena = pw_arena_create()}};
    b = (pw_builder){.arena = t->pair.arena};
    for (int side = 0; side < 2; side++) {
        const pw_node *node = choose(&b, number, side, kind);
        const pw_type raw = {.root = node, .extent = node ? node->hi + 16 : 0};
        pw_diag diag = {0};

        assert_int_equal(b.status, PW_OK);
        assert_int_equal(pw_canonicalise(&raw, t->pair.arena, &t->pair.type[side], NULL, &diag), PW_OK);
        t->pair.count[side] = 1 + number % 2;
    }
    t->pair.bytes = t->pair.count[0] * t->pair.type[0].root->size;
    assert_int_equal(t->pair.type[1].root->size * t->pair.count[1], t->pair.bytes);
    join_item(t);
}

static bool has_kind(const item *t, int kind)
{
    for (int r = 0; t->plan && r < t->plan->nregions; r++)
        if ((int)t->plan->regions[r].kind == kind)
            return true;
    return false;
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

static void check_chosen(way w)
{
    static item items[CHOSEN];

    for (int i = 0; i < CHOSEN; i++) {
        int kind;

        make_chosen(&items[i], i, &kind);
        if (!has_kind(&items[i], kind))
            print_error("chosen pair %d has no region of kind %d\n", i, kind);
        assert_true(has_kind(&items[i], kind));
    }
    check_items(items, CHOSEN, w);
}

static void check_random(uint64_t seed, int n, way w)
{
    static item items[BATCH];

    for (int i = 0; i < n; i++)
        make_item(&items[i], seed + (uint64_t)i);
    check_items(items, n, w);
}

static void copies_as_typemaps_say(void **state)
{
    const plan *todo = *state;
    pw_target target = {0};
    pw_shape *fused = pw_gpu_fused_shape();
    way w = {.lib = NULL};

    assert_int_equal(pw_gpu_tier0_create(&w.tier0, NULL), PW_OK);
    w.jobs = pw_gpu_tier0_jobs(w.tier0, &target, PW_EMIT_IR_RAW);
    const pw_compile_job general = {
        .shape = fused, .pack_name = "fused_pack", .unpack_name = "fused_unpack", .next = (pw_compile_job *)w.jobs};
    w.general = emulate(&general);
    check_chosen(w);
    for (int64_t i = 0; i < todo->pairs; i += BATCH)
        check_random(todo->seed + (uint64_t)i, todo->pairs - i < BATCH ? (int)(todo->pairs - i) : BATCH, w);
    print_message("%d of %d chosen and %" PRId64
                  " random pairs join; %d have kernels (regions: %d by words, %d by tiles, %d by pieces, %d "
                  "lists), %d are served by tier 0, %d by the fused kernel\n",
                  joined, CHOSEN, todo->pairs, own, kinds[PW_GPU_WORDS], kinds[PW_GPU_TILE], kinds[PW_GPU_PIECES],
                  kinds[PW_GPU_LIST], by_tier0, by_fused);
    dlclose(w.general);
    pw_gpu_tier0_destroy(w.tier0);
    pw_shape_unref(fused);
}

int main(int argc, char **argv)
{
    plan p = {.pairs = argc > 1 ? strtoll(argv[1], NULL, 10) : DEFAULT_PAIRS,
              .seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1};
    const struct CMUnitTest tests[] = {cmocka_unit_test_prestate(copies_as_typemaps_say, &p)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
