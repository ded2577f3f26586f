#include "tests/codegen/llvm/kernels.h"

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

enum { PATTERN = 0xa5 };

/* ---- kernels ------------------------------------------------------------------------------------- */

void kernels_init(kernels *k)
{
    pw_diag diag = {0};
    *k = (kernels){.backend = pw_backend_load("llvm", &diag)};
    if (!k->backend) {
        print_error("%s\n", diag.text);
        fail();
    }
}

void kernels_free(kernels *k)
{
    for (int i = 0; i < k->n; i++)
        dlclose(k->list[i].handle);
    free(k->list);
    *k = (kernels){0};
}

void *load_blob(const pw_blob *blob)
{
    /* A name of its own for each: dlopen takes an equal name for the same library. */
    char path[] = "/tmp/packwright-test-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, blob->data, blob->size), blob->size);
    close(fd);
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    unlink(path);
    if (!handle) {
        print_error("%s\n", dlerror());
        fail();
    }
    return handle;
}

/* ---- one type, one count --------------------------------------------------------------------------- */

typedef struct subject {
    const pw_type *type;
    const pw_shape *shape;
    const pw_target *target;
    int64_t count, total;  /* packed bytes */
    int64_t lo, span;      /* touched memory, relative to the first object */
    int64_t *where;        /* memory offset of every packed byte */
    unsigned char *memory; /* its contents */
    unsigned char *packed; /* the right answer */
    const char *label;
} subject;

static void complain(const subject *s, const char *what, int64_t at)
{
    char *type = pw_print(s->type, 64);
    print_error("%s: %s is wrong at byte %" PRId64 " (count %" PRId64 ", for %s)\n%s\n%s\n", s->label, what, at,
                s->count, s->target->cpu, type, s->shape->text);
    free(type);
    fail();
}

typedef struct where_arg {
    int64_t *out;
    int64_t n, origin;
} where_arg;

static bool note_block(void *arg, int64_t off, int64_t n)
{
    where_arg *w = arg;
    for (int64_t i = 0; i < n; i++)
        w->out[w->n++] = w->origin + off + i;
    return true;
}

static void *allocate(int64_t bytes)
{
    void *p = malloc(bytes > 0 ? (size_t)bytes : 1);
    assert_non_null(p);
    return p;
}

static void prepare(subject *s, uint64_t seed)
{
    pw_rng rng = {.state = seed};
    where_arg w = {0};
    int64_t hi;
    s->total = s->count * s->type->root->size;
    pw_random_bounds(s->type, s->count, &s->lo, &hi);
    s->span = hi - s->lo;
    w.out = s->where = allocate(s->total * (int64_t)sizeof *w.out);
    for (int64_t i = 0; i < s->count; i++) {
        w.origin = i * s->type->extent;
        assert_true(pw_walk(s->type->root, 0, note_block, &w));
    }
    assert_int_equal(w.n, s->total);
    s->memory = allocate(s->span);
    pw_rng_fill(&rng, s->memory, (size_t)s->span);
    s->packed = allocate(s->total);
    for (int64_t i = 0; i < s->total; i++)
        s->packed[i] = s->memory[s->where[i] - s->lo];
}

static void release(subject *s)
{
    free(s->where);
    free(s->memory);
    free(s->packed);
}

/* ---- buffers between pages that cannot be touched ------------------------------------------------- */

typedef struct buffer {
    unsigned char *map, *data;
    size_t map_size, page;
    int64_t n;
} buffer;

static buffer make_buffer(int64_t n, bool at_end)
{
    buffer b = {.page = (size_t)sysconf(_SC_PAGESIZE), .n = n};
    size_t room = ((size_t)n + b.page) / b.page * b.page;
    b.map_size = room + 2 * b.page;
    b.map = mmap(NULL, b.map_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(b.map != MAP_FAILED);
    assert_int_equal(mprotect(b.map, b.page, PROT_NONE), 0);
    assert_int_equal(mprotect(b.map + b.page + room, b.page, PROT_NONE), 0);
    memset(b.map + b.page, PATTERN, room);
    b.data = b.map + b.page + (at_end ? room - (size_t)n : 0);
    return b;
}

static void drop_buffer(buffer *b)
{
    munmap(b->map, b->map_size);
}

/* Compares the data, and that the rest of the buffer is as it was. */
static void compare(const subject *s, const char *what, const buffer *b, const unsigned char *expected)
{
    unsigned char *first = b->map + b->page, *end = b->map + b->map_size - b->page;
    for (int64_t i = 0; i < b->n; i++)
        if (b->data[i] != expected[i])
            complain(s, what, i);
    for (unsigned char *p = first; p < end; p++)
        if ((p < b->data || p >= b->data + b->n) && *p != PATTERN)
            complain(s, what, p - b->data);
}

typedef void run_fn(const void *how, bool unpack, void *dst, const void *src, int64_t count);

/* The address of the first object when the first touched byte is at `data`. */
static void *origin(const subject *s, unsigned char *data)
{
    return (void *)((uintptr_t)data - (uintptr_t)s->lo);
}

static void check_pack(const subject *s, run_fn *run, const void *how, bool at_end)
{
    buffer from = make_buffer(s->span, at_end), to = make_buffer(s->total, at_end);
    memcpy(from.data, s->memory, (size_t)s->span);
    run(how, false, to.data, origin(s, from.data), s->count);
    compare(s, "pack", &to, s->packed);
    drop_buffer(&from);
    drop_buffer(&to);
}

static void check_unpack(const subject *s, run_fn *run, const void *how, bool at_end)
{
    buffer from = make_buffer(s->total, at_end), to = make_buffer(s->span, at_end);
    unsigned char *expected = allocate(s->span);
    memset(expected, PATTERN, (size_t)s->span);
    for (int64_t i = 0; i < s->total; i++)
        expected[s->where[i] - s->lo] = s->packed[i];
    memcpy(from.data, s->packed, (size_t)s->total);
    run(how, true, origin(s, to.data), from.data, s->count);
    compare(s, "unpack", &to, expected);
    free(expected);
    drop_buffer(&from);
    drop_buffer(&to);
}

static void check_both(subject *s, run_fn *run, const void *how, uint64_t seed)
{
    prepare(s, seed);
    for (int at_end = 0; at_end < 2; at_end++) {
        check_pack(s, run, how, at_end);
        if (!pw_random_overlaps(s->type, s->count))
            check_unpack(s, run, how, at_end);
    }
    release(s);
}

/* ---- the two forms of kernels ----------------------------------------------------------------------- */

static pw_nest *lower(const pw_type *type, const char *label)
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

static void compile(kernels *k, const pw_compile_job *job, const char *label, pw_blob *out)
{
    pw_diag diag = {0};
    if (k->backend->compile(job, out, &diag) != PW_OK) {
        print_error("%s: %s\n%s\n", label, diag.text, job->shape->text);
        fail();
    }
    k->compiled++;
}

static const kernel *get_kernel(kernels *k, const pw_shape *shape, const pw_target *target, const char *label)
{
    pw_hash target_hash = pw_hash_bytes(target->cpu, strlen(target->cpu));
    char pack[PW_SYMBOL_TEXT], unpack[PW_SYMBOL_TEXT];
    pw_blob blob;
    for (int i = 0; i < k->n; i++)
        if (pw_hash_equal(k->list[i].shape, shape->hash) && pw_hash_equal(k->list[i].target, target_hash))
            return &k->list[i];
    if (k->n == k->cap) {
        k->cap = k->cap ? 2 * k->cap : 64;
        k->list = realloc(k->list, (size_t)k->cap * sizeof *k->list);
        assert_non_null(k->list);
    }
    pw_kernel_symbols(shape->hash, pack, unpack);
    pw_compile_job job = {
        .shape = shape, .target = target, .emit = PW_EMIT_SHARED, .pack_name = pack, .unpack_name = unpack};
    compile(k, &job, label, &blob);
    kernel *added = &k->list[k->n++];
    added->shape = shape->hash;
    added->target = target_hash;
    added->handle = load_blob(&blob);
    added->pack = (pw_kernel_fn *)dlsym(added->handle, pack);
    added->unpack = (pw_kernel_fn *)dlsym(added->handle, unpack);
    assert_non_null(added->pack);
    assert_non_null(added->unpack);
    pw_blob_free(&blob);
    return added;
}

typedef struct bound {
    const kernel *kernel;
    pw_kernel_args args;
} bound;

static void run_bound(const void *how, bool unpack, void *dst, const void *src, int64_t count)
{
    const bound *b = how;
    (unpack ? b->kernel->unpack : b->kernel->pack)(dst, src, count, &b->args);
}

/* The same arguments, but for any number of bytes being enough to bypass the caches. */
static pw_kernel_args streaming(const pw_shape *shape, const pw_kernel_args *args, pw_arena *arena)
{
    pw_kernel_args out = *args;
    int64_t *params = pw_arena_copy(arena, args->params, (size_t)shape->nparams * sizeof *params);
    assert_non_null(params);
    params[shape->stream_bytes.slot] = 0;
    out.params = params;
    return out;
}

void check_kernel(kernels *k, const pw_type *type, int64_t count, const pw_target *target, uint64_t seed,
                  const char *label)
{
    pw_nest *nest = lower(type, label);
    pw_shape *shape;
    pw_arena *arena = pw_arena_create();
    bound how;
    assert_int_equal(pw_shape_create(nest, &shape), PW_OK);
    assert_int_equal(pw_shape_bind(shape, nest, arena, &how.args), PW_OK);
    how.kernel = get_kernel(k, shape, target, label);
    subject s = {.type = type, .shape = shape, .target = target, .count = count, .label = label};
    check_both(&s, run_bound, &how, seed);
    how.args = streaming(shape, &how.args, arena);
    check_both(&s, run_bound, &how, seed);
    pw_arena_destroy(arena);
    pw_shape_unref(shape);
    pw_nest_destroy(nest);
}

typedef void embedded_fn(void *dst, const void *src, int64_t count);

static void run_embedded(const void *how, bool unpack, void *dst, const void *src, int64_t count)
{
    embedded_fn *fn = (embedded_fn *)dlsym(*(void *const *)how, unpack ? "my_unpack" : "my_pack");
    assert_non_null(fn);
    fn(dst, src, count);
}

void check_embedded(kernels *k, const pw_type *type, int64_t count, const pw_target *target, uint64_t seed,
                    const char *label)
{
    pw_nest *nest = lower(type, label);
    pw_shape *shape;
    pw_arena *arena = pw_arena_create();
    pw_kernel_args args;
    pw_blob blob;
    assert_int_equal((seed & 1 ? pw_shape_create_baked : pw_shape_create)(nest, &shape), PW_OK);
    assert_int_equal(pw_shape_bind(shape, nest, arena, &args), PW_OK);
    pw_compile_job job = {.shape = shape,
                          .target = target,
                          .emit = PW_EMIT_SHARED,
                          .pack_name = "my_pack",
                          .unpack_name = "my_unpack",
                          .embed = &args,
                          .nest = nest};
    compile(k, &job, label, &blob);
    void *handle = load_blob(&blob);
    subject s = {.type = type, .shape = shape, .target = target, .count = count, .label = label};
    check_both(&s, run_embedded, &handle, seed);
    dlclose(handle);
    pw_blob_free(&blob);
    pw_arena_destroy(arena);
    pw_shape_unref(shape);
    pw_nest_destroy(nest);
}
