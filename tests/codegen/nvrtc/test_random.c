/*
 * Random types against pw_walk, by GPU kernels on an emulated grid: specialised ones and tier 0. Kernels are compiled
 * many at a time. Usage: test_nvrtc_random [types [first seed]]
 */
#include "tests/codegen/nvrtc/emulation.h"
#include "tests/support/random_ir.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <setjmp.h>

#include <cmocka.h>

enum { DEFAULT_TYPES = 240, BATCH = 80 };

typedef struct plan {
    uint64_t seed;
    int64_t types;
} plan;

/* One type of a batch. */
typedef struct item {
    uint64_t seed;
    pw_arena *arena;
    pw_type type;
    pw_nest *nest;
    pw_shape *shape;
    pw_gpu_plan *plan; /* NULL: GPU kernels do not serve the type */
    int kernel;        /* number of the job that compiles its shape */
    char pack[24], unpack[24];
} item;

static void make_item(item *t, uint64_t seed)
{
    char label[48];
    pw_random_options options = {.style = PW_RANDOM_MIXED};
    pw_builder b = {.arena = pw_arena_create()};
    if (seed % 8 == 0) /* some types are large enough for chunks of lists and pieces */
        options.max_size = 100000;
    snprintf(label, sizeof label, "seed %" PRIu64, seed);
    t->seed = seed;
    t->arena = b.arena;
    t->type = pw_random_type(&b, seed, &options);
    assert_int_equal(b.status, PW_OK);
    t->nest = lower(&t->type, label);
    assert_int_equal(pw_shape_create(t->nest, &t->shape), PW_OK);
    if (pw_gpu_plan_create(t->shape, &t->plan, NULL) != PW_OK)
        t->plan = NULL;
}

static void drop_item(item *t)
{
    pw_gpu_plan_destroy(t->plan);
    pw_shape_unref(t->shape);
    pw_nest_destroy(t->nest);
    pw_arena_destroy(t->arena);
}

/* Makes a job for each shape that is new in the batch. */
static int make_jobs(item *items, int n, pw_compile_job *jobs)
{
    int njobs = 0;
    for (int i = 0; i < n; i++) {
        item *t = &items[i];
        int same = 0;
        if (!t->plan)
            continue;
        while (same < njobs && !pw_hash_equal(jobs[same].shape->hash, t->shape->hash))
            same++;
        t->kernel = same;
        snprintf(t->pack, sizeof t->pack, "pack_%d", same);
        snprintf(t->unpack, sizeof t->unpack, "unpack_%d", same);
        if (same == njobs) {
            jobs[njobs] = (pw_compile_job){.shape = t->shape, .pack_name = t->pack, .unpack_name = t->unpack};
            if (njobs > 0)
                jobs[njobs - 1].next = &jobs[njobs];
            njobs++;
        }
    }
    return njobs;
}

/* Counts for the last line, which shows if tests no longer reach some kind of region. */
static int kinds[4], skipped, tier0_types;

static void check_item(const item *t, void *lib, pw_gpu_tier0 *tier0, void *tier0_lib)
{
    static const int64_t counts[] = {1, 2, 7, 0, 33};
    char label[48];
    snprintf(label, sizeof label, "seed %" PRIu64, t->seed);
    subject s = {.type = &t->type, .nest = t->nest, .label = label, .seed = t->seed};
    for (int k = 0; k < 2; k++) {
        s.count = counts[(t->seed + (uint64_t)k) % 5];
        if (t->plan)
            check_kernel(&s, lib, t->shape, t->pack, t->unpack);
        tier0_types += check_tier0(&s, tier0_lib, tier0) && k == 0;
    }
    skipped += !t->plan;
    for (int r = 0; t->plan && r < t->plan->nregions; r++)
        kinds[t->plan->regions[r].kind]++;
}

static void check_batch(uint64_t seed, int n, pw_gpu_tier0 *tier0, void *tier0_lib)
{
    static item items[BATCH];
    static pw_compile_job jobs[BATCH];
    void *lib = NULL;
    for (int i = 0; i < n; i++)
        make_item(&items[i], seed + (uint64_t)i);
    if (make_jobs(items, n, jobs) > 0)
        lib = emulate(jobs);
    for (int i = 0; i < n; i++) {
        check_item(&items[i], lib, tier0, tier0_lib);
        drop_item(&items[i]);
    }
    if (lib)
        dlclose(lib);
}

static void random_types(void **state)
{
    const plan *p = *state;
    pw_target target = {0};
    pw_gpu_tier0 *tier0;
    assert_int_equal(pw_gpu_tier0_create(&tier0, NULL), PW_OK);
    void *lib = emulate(pw_gpu_tier0_jobs(tier0, &target, PW_EMIT_IR_RAW));
    for (int64_t i = 0; i < p->types; i += BATCH)
        check_batch(p->seed + (uint64_t)i, p->types - i < BATCH ? (int)(p->types - i) : BATCH, tier0, lib);
    print_message("regions: %d by words, %d by tiles, %d by pieces, %d lists; %d types by tier 0; %d not compiled\n",
                  kinds[PW_GPU_WORDS], kinds[PW_GPU_TILE], kinds[PW_GPU_PIECES], kinds[PW_GPU_LIST], tier0_types,
                  skipped);
    dlclose(lib);
    pw_gpu_tier0_destroy(tier0);
}

int main(int argc, char **argv)
{
    plan p = {.seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1,
              .types = argc > 1 ? strtoll(argv[1], NULL, 10) : DEFAULT_TYPES};
    const struct CMUnitTest tests[] = {cmocka_unit_test_prestate(random_types, &p)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
