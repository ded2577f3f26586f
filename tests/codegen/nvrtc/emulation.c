#include "tests/codegen/nvrtc/emulation.h"

#include "codegen/nvrtc/record.h"
#include "tests/support/judge.h"
#include "tests/support/rng.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <setjmp.h>

#include <cmocka.h>

enum { PLACES = 4 };

pw_nest *lower(const pw_type *type, const char *label)
{
    pw_arena *arena = pw_arena_create();
    pw_nest *nest = NULL;
    pw_type canonical;
    pw_diag diag = {0};
    pw_status status = pw_canonicalise(type, arena, &canonical, NULL, &diag);
    if (status == PW_OK)
        status = pw_lower(&canonical, &nest, NULL, &diag);
    if (status != PW_OK) {
        print_error("%s: %s\n", label, diag.text);
        fail();
    }
    pw_arena_destroy(arena);
    return nest;
}

/* ---- compiling ------------------------------------------------------------------------------------------------ */

static void write_source(const pw_compile_job *jobs, const char *path)
{
    pw_blob text;
    pw_diag diag = {0};
    FILE *f = fopen(path, "w");
    if (pw_gpu_source(jobs, &text, &diag) != PW_OK) {
        print_error("%s\n", diag.text);
        fail();
    }
    assert_non_null(f);
    fprintf(f, "#include \"%s/tests/codegen/nvrtc/emulate.h\"\n%s", PW_TEST_SOURCE_DIR, (char *)text.data);
    assert_int_equal(fclose(f), 0);
    pw_blob_free(&text);
}

void *emulate(const pw_compile_job *jobs)
{
    char dir[] = "/tmp/packwright-emulate-XXXXXX", source[64], library[64], command[640];
    assert_non_null(mkdtemp(dir));
    snprintf(source, sizeof source, "%s/kernels.cc", dir);
    snprintf(library, sizeof library, "%s/kernels.so", dir);
    write_source(jobs, source);
    snprintf(command, sizeof command,
             "'%s' -std=c++17 -Og -w -fPIC -shared -fno-strict-aliasing -fno-tree-vectorize -fsanitize=alignment "
             "-fno-sanitize-recover=all -o %s %s",
             PW_TEST_CXX, library, source);
    if (system(command) != 0) {
        print_error("failed: %s\n", command);
        fail();
    }
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        print_error("%s\n", dlerror());
    assert_non_null(handle);
    unlink(source);
    unlink(library);
    rmdir(dir);
    return handle;
}

static emulated_kernel *find(void *lib, const char *name, bool big)
{
    char symbol[96];
    snprintf(symbol, sizeof symbol, "%s%s", name, big ? PW_GPU_BIG_SUFFIX : "");
    emulated_kernel *kernel = (emulated_kernel *)dlsym(lib, symbol);
    assert_non_null(kernel);
    return kernel;
}

/* ---- running ---------------------------------------------------------------------------------------------------- */

static void complain(const subject *s, const char *what, int64_t at, int place, const pw_gpu_device *d)
{
    char *type = pw_print(s->type, 64), *nest = pw_nest_print(s->nest, 16);
    print_error("%s: %s is wrong at byte %" PRId64 " (count %" PRId64
                ", place %d, %d multiprocessors, grid %u)\n%s\n%s\n",
                s->label, what, at, s->count, place, d->multiprocessors, d->max_grid, type, nest);
    free(type);
    free(nest);
    fail();
}

/* How one set of kernels is run. */
typedef struct runner {
    const subject *s;
    void *lib;
    const pw_gpu_plan *plan;
    const pw_kernel_args *args;
    const char *names[2];
    pw_gpu_tier0 *tier0;
    const pw_compile_job *jobs;
    const pw_gpu_device *device;
    bool big;
} runner;

/* The flag must be written by the last block, and the counter be left as it was found. */
static void run_launch(const runner *r, const char *name, const pw_gpu_launch *l, const uint64_t *params,
                       const pw_gpu_flag *flag)
{
    emulated_kernel *kernel = find(r->lib, name, l->big);
    uint64_t next = flag->where ? flag->ends->count + 1 : 0;
    for (uint32_t b = 0; b < l->grid; b++) {
        assert_true(!flag->where || *flag->where != next);
        kernel(params, b, l->grid);
    }
    if (flag->where && l->grid > 0) {
        assert_int_equal(*flag->where, next);
        assert_int_equal(flag->ends->count, next);
        assert_int_equal(flag->ends->arrivals, 0);
    }
}

/* Sets the flag by which unpacking reads ends of blocks first, although the calls are too small for it to pay. */
static void fill_ends(const runner *r, uint64_t *params)
{
    static const uint64_t flags[] = {0, PW_FLAG_FILLED, PW_FLAG_FILLED_WIDE};
    for (int i = 0; i < r->plan->nregions; i++)
        params[PW_GPU_HEAD_WORDS + r->plan->regions[i].record + PW_REC_FLAGS] |= flags[r->s->seed % 3];
}

static void run(void *how, const pw_judge_call *c)
{
    const runner *r = how;
    uint64_t done = 0;
    pw_gpu_ends ends = {.count = r->s->seed};
    pw_gpu_call call = {.args = r->args, .count = c->count, .dst = c->dst, .src = c->src};
    call.big = r->big;
    call.direction = c->unpack && r->s->seed % 4 > 0; /* grids for the other direction do, too */
    if (!r->big)
        call.flag = (pw_gpu_flag){.where = &done, .ends = &ends};
    int n = r->tier0 ? pw_gpu_tier0_launches(r->s->nest) : 1;
    for (int i = 0; i < n; i++) {
        uint64_t params[4096];
        pw_gpu_launch l;
        int kernel = 0;
        const char *name = r->names[c->unpack];
        if (r->tier0) {
            assert_int_equal(
                pw_gpu_tier0_launch(r->tier0, r->s->nest, i, r->args->tables, &call, r->device, params, &kernel, &l),
                PW_OK);
            name = c->unpack ? r->jobs[kernel].unpack_name : r->jobs[kernel].pack_name;
        } else {
            assert_int_equal(pw_gpu_launch_make(r->plan, &call, r->device, params, &l), PW_OK);
            if (c->unpack)
                fill_ends(r, params);
        }
        assert_true(l.param_bytes <= sizeof params);
        run_launch(r, name, &l, params, &call.flag);
    }
}

/* Returns where data begin. Place 0: the byte `origin` is aligned; 1 and 2: it is off by words, and by 1 to 15 bytes;
 * 3: the data end at the page. */
static int64_t lead(int64_t origin, int place, pw_rng *rng)
{
    static const int64_t off[] = {0, 4, 8, 12};
    int64_t aligned = PW_GUARDED_LEAD / 2 - (int64_t)((uint64_t)origin & 15);
    if (place == 3)
        return PW_AT_END;
    return aligned + (place == 1 ? off[pw_rng_range(rng, 0, 3)] : place == 2 ? pw_rng_range(rng, 1, 15) : 0);
}

static void check(runner *r, pw_judge *j, bool unpack, int place, pw_rng *rng)
{
    static const char *const what[2][2] = {{"pack", "unpack"}, {"tier 0 pack", "tier 0 unpack"}};
    pw_judge_place at = {.memory = lead(-j->lo, place, rng), .packed = lead(0, place, rng)};
    int64_t wrong = (unpack ? pw_judge_unpack : pw_judge_pack)(j, at, 0, j->total, run, r);
    if (wrong != PW_JUDGED_RIGHT)
        complain(r->s, what[r->tier0 != NULL][unpack], wrong, place, r->device);
}

static void check_all(runner *r)
{
    static const pw_gpu_device devices[PLACES] = {{.multiprocessors = 132},
                                                  {.multiprocessors = 1, .threads = 256},
                                                  {.multiprocessors = 16, .threads = 1024, .max_grid = 3},
                                                  {.multiprocessors = 80, .max_grid = 1}};
    pw_rng rng = {.state = r->s->seed};
    pw_judge j;
    pw_judge_init(&j, r->s->type, r->s->count, r->s->seed);
    for (int place = 0; place < PLACES; place++) {
        r->big = (r->s->seed + (uint64_t)place) % 3 == 0;
        r->device = &devices[place];
        check(r, &j, false, place, &rng);
        if (!j.overlaps)
            check(r, &j, true, place, &rng);
    }
    pw_judge_free(&j);
}

void check_kernel(const subject *s, void *lib, const pw_shape *shape, const char *pack, const char *unpack)
{
    pw_arena *arena = pw_arena_create();
    pw_gpu_plan *plan;
    pw_kernel_args args;
    assert_int_equal(pw_shape_bind(shape, s->nest, arena, &args), PW_OK);
    assert_int_equal(pw_gpu_plan_create(shape, &plan, NULL), PW_OK);
    runner r = {.s = s, .lib = lib, .plan = plan, .args = &args, .names = {pack, unpack}};
    check_all(&r);
    pw_gpu_plan_destroy(plan);
    pw_arena_destroy(arena);
}

bool check_tier0(const subject *s, void *lib, pw_gpu_tier0 *tier0)
{
    pw_arena *arena = pw_arena_create();
    pw_target target = {0};
    pw_shape *shape;
    pw_kernel_args args;
    bool ours = pw_gpu_tier0_launches(s->nest) >= 0;
    assert_int_equal(pw_shape_create(s->nest, &shape), PW_OK);
    assert_int_equal(pw_shape_bind(shape, s->nest, arena, &args), PW_OK);
    runner r = {.s = s, .lib = lib, .args = &args, .tier0 = tier0};
    r.jobs = pw_gpu_tier0_jobs(tier0, &target, PW_EMIT_IR_RAW);
    if (ours)
        check_all(&r);
    pw_shape_unref(shape);
    pw_arena_destroy(arena);
    return ours;
}
