#include "typemap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

int fixture_setup(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    f->arena = pw_arena_create();
    f->b.arena = f->arena;
    *state = f;
    return 0;
}

int fixture_teardown(void **state)
{
    fixture *f = *state;
    pw_arena_destroy(f->arena);
    free(f);
    return 0;
}

enum { MAX_BYTES = 4096 };

typedef struct bytes {
    int64_t off[MAX_BYTES];
    size_t n;
} bytes;

static bool add_run(void *arg, int64_t off, int64_t n)
{
    bytes *b = arg;
    for (int64_t i = 0; i < n && b->n < MAX_BYTES; i++)
        b->off[b->n++] = off + i;
    return b->n < MAX_BYTES;
}

void check_typemap(const pw_dt *t, const run *runs, size_t n, const char *file, int line)
{
    static bytes want, got;
    want.n = got.n = 0;
    for (size_t i = 0; i < n; i++)
        add_run(&want, runs[i].off, runs[i].n);
    _assert_true(t->node != NULL, "the type was built", file, line);
    pw_walk(t->node, 0, add_run, &got);
    _assert_int_equal(got.n, want.n, file, line);
    for (size_t i = 0; i < want.n; i++)
        if (got.off[i] != want.off[i]) {
            print_error("packed byte %zu comes from %lld, not from %lld\n", i, (long long)got.off[i],
                        (long long)want.off[i]);
            _fail(file, line);
        }
    _assert_int_equal((uint64_t)t->node->size, want.n, file, line);
}

void check_bounds(const pw_dt *t, int64_t lb, int64_t extent, const char *file, int line)
{
    _assert_true(t->node != NULL, "the type was built", file, line);
    if (t->lb != lb || pw_dt_extent(t) != extent) {
        print_error("lb %lld extent %lld, not lb %lld extent %lld\n", (long long)t->lb, (long long)pw_dt_extent(t),
                    (long long)lb, (long long)extent);
        _fail(file, line);
    }
}
