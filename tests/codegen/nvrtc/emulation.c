#include "tests/codegen/nvrtc/emulation.h"

#include "tests/support/random_ir.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <setjmp.h>

#include <cmocka.h>

enum { PATTERN = 0xa5, GUARD = 64, PLACES = 4 };

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
             "'%s' -std=c++17 -O1 -w -fPIC -shared -fno-strict-aliasing -fno-tree-vectorize -fsanitize=alignment "
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

/* ---- the right answer ------------------------------------------------------------------------------------------ */

typedef struct answer {
    int64_t total, lo, span; /* packed bytes; touched memory relative to the first object */
    int64_t *where;          /* memory offset of every packed byte */
    unsigned char *memory, *packed;
    int64_t n, origin;
} answer;

static bool note_block(void *arg, int64_t off, int64_t n)
{
    answer *a = arg;
    for (int64_t i = 0; i < n; i++)
        a->where[a->n++] = a->origin + off + i;
    return true;
}

static void *allocate(int64_t bytes)
{
    void *p = malloc(bytes > 0 ? (size_t)bytes : 1);
    assert_non_null(p);
    return p;
}

static answer make_answer(const subject *s)
{
    pw_rng rng = {.state = s->seed};
    answer a = {.total = s->count * s->type->root->size};
    int64_t hi;
    pw_random_bounds(s->type, s->count, &a.lo, &hi);
    a.span = hi - a.lo;
    a.where = allocate(a.total * (int64_t)sizeof *a.where);
    for (int64_t i = 0; i < s->count; i++) {
        a.origin = i * s->type->extent;
        assert_true(pw_walk(s->type->root, 0, note_block, &a));
    }
    assert_int_equal(a.n, a.total);
    a.memory = allocate(a.span);
    pw_rng_fill(&rng, a.memory, (size_t)a.span);
    a.packed = allocate(a.total);
    for (int64_t i = 0; i < a.total; i++)
        a.packed[i] = a.memory[a.where[i] - a.lo];
    return a;
}

static void free_answer(answer *a)
{
    free(a->where);
    free(a->memory);
    free(a->packed);
}

/* ---- buffers ---------------------------------------------------------------------------------------------------- */

/* Data with guard bytes, before a page that cannot be touched. */
typedef struct buffer {
    unsigned char *map, *data;
    size_t room, page;
    int64_t n;
} buffer;

/* Place 0: `origin` relative to the data is aligned; 1 and 2: off by 1 to 15 bytes; 3: the data end at the page. */
static buffer make_buffer(int64_t n, int64_t origin, int place, pw_rng *rng)
{
    static const int64_t off[] = {0, 4, 8, 12};
    buffer b = {.page = (size_t)sysconf(_SC_PAGESIZE), .n = n};
    b.room = ((size_t)n + 2 * GUARD + b.page) / b.page * b.page;
    b.map = mmap(NULL, b.room + b.page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(b.map != MAP_FAILED);
    assert_int_equal(mprotect(b.map + b.room, b.page, PROT_NONE), 0);
    memset(b.map, PATTERN, b.room);
    b.data = b.map + GUARD - ((uint64_t)origin & 15) + (place == 1 ? off[pw_rng_range(rng, 0, 3)] : 0);
    if (place == 2)
        b.data += pw_rng_range(rng, 1, 15);
    if (place == 3)
        b.data = b.map + b.room - n;
    return b;
}

static void drop_buffer(buffer *b)
{
    munmap(b->map, b->room + b->page);
}

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

static int64_t first_difference(const buffer *b, const unsigned char *expected)
{
    for (int64_t i = 0; i < b->n; i++)
        if (b->data[i] != expected[i])
            return i;
    for (unsigned char *p = b->map; p < b->map + b->room; p++)
        if ((p < b->data || p >= b->data + b->n) && *p != PATTERN)
            return p - b->data;
    return INT64_MIN;
}

/* ---- running ---------------------------------------------------------------------------------------------------- */

/* How one set of kernels is run. */
typedef struct runner {
    const subject *s;
    void *lib;
    const pw_gpu_plan *plan;
    const pw_kernel_args *args;
    const char *names[2];
    pw_gpu_tier0 *tier0;
    const pw_compile_job *jobs;
    bool big;
} runner;

static void run_launch(const runner *r, const char *name, const pw_gpu_launch *l, const uint64_t *params)
{
    emulated_kernel *kernel = find(r->lib, name, r->big || l->big);
    for (uint32_t b = 0; b < l->grid; b++)
        kernel(params, b, l->grid);
}

static void run(const runner *r, bool unpack, void *dst, const void *src, const pw_gpu_device *device)
{
    pw_gpu_call call = {.args = r->args, .count = r->s->count, .dst = dst, .src = src};
    int n = r->tier0 ? pw_gpu_tier0_launches(r->s->nest) : 1;
    for (int i = 0; i < n; i++) {
        uint64_t params[4096];
        pw_gpu_launch l;
        int kernel = 0;
        const char *name = r->names[unpack];
        if (r->tier0) {
            assert_int_equal(
                pw_gpu_tier0_launch(r->tier0, r->s->nest, i, r->args->tables, &call, device, params, &kernel, &l),
                PW_OK);
            name = unpack ? r->jobs[kernel].unpack_name : r->jobs[kernel].pack_name;
        } else {
            assert_int_equal(pw_gpu_launch_make(r->plan, &call, device, params, &l), PW_OK);
        }
        assert_true(l.param_bytes <= sizeof params);
        run_launch(r, name, &l, params);
    }
}

/* The address of the first object when the first touched byte is at `data`. */
static void *origin_of(const answer *a, unsigned char *data)
{
    return (void *)((uintptr_t)data - (uintptr_t)a->lo);
}

static void check_pack(const runner *r, const answer *a, int place, pw_rng *rng, const pw_gpu_device *d)
{
    buffer from = make_buffer(a->span, a->lo * -1, place, rng), to = make_buffer(a->total, 0, place, rng);
    memcpy(from.data, a->memory, (size_t)a->span);
    run(r, false, to.data, origin_of(a, from.data), d);
    int64_t at = first_difference(&to, a->packed);
    if (at != INT64_MIN)
        complain(r->s, r->tier0 ? "tier 0 pack" : "pack", at, place, d);
    drop_buffer(&from);
    drop_buffer(&to);
}

static void check_unpack(const runner *r, const answer *a, int place, pw_rng *rng, const pw_gpu_device *d)
{
    buffer from = make_buffer(a->total, 0, place, rng), to = make_buffer(a->span, a->lo * -1, place, rng);
    unsigned char *expected = allocate(a->span);
    memset(expected, PATTERN, (size_t)a->span);
    for (int64_t i = 0; i < a->total; i++)
        expected[a->where[i] - a->lo] = a->packed[i];
    memcpy(from.data, a->packed, (size_t)a->total);
    run(r, true, origin_of(a, to.data), from.data, d);
    int64_t at = first_difference(&to, expected);
    if (at != INT64_MIN)
        complain(r->s, r->tier0 ? "tier 0 unpack" : "unpack", at, place, d);
    free(expected);
    drop_buffer(&from);
    drop_buffer(&to);
}

static void check_all(runner *r)
{
    static const pw_gpu_device devices[PLACES] = {{.multiprocessors = 132},
                                                  {.multiprocessors = 1, .threads = 256},
                                                  {.multiprocessors = 16, .threads = 1024, .max_grid = 3},
                                                  {.multiprocessors = 80, .max_grid = 1}};
    bool overlaps = pw_random_overlaps(r->s->type, r->s->count);
    answer a = make_answer(r->s);
    pw_rng rng = {.state = r->s->seed};
    for (int place = 0; place < PLACES; place++) {
        r->big = (r->s->seed + (uint64_t)place) % 3 == 0;
        check_pack(r, &a, place, &rng, &devices[place]);
        if (!overlaps)
            check_unpack(r, &a, place, &rng, &devices[place]);
    }
    free_answer(&a);
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
