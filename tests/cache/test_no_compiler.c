/* With LLVM: the first process compiles, the second finds everything on disk and never maps libLLVM. */
#include "runtime/engine/layout/internal.h"
#include "tests/cache/layout_scene.h"
#include "tests/support/random_ir.h"

#include <stdlib.h>
#include <string.h>

enum { TYPES = 25 };

static bool is_mapped(const char *part)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[4096];
    bool found = false;

    while (maps && fgets(line, sizeof line, maps))
        found |= strstr(line, part) != NULL;
    if (maps)
        fclose(maps);
    return found;
}

typedef struct run {
    scene *s;
    pw_kernel_origin origin;
    bool compiler;    /* whether the compiler is expected in the process */
    pw_jit_mode mode; /* in async mode the test drains the queue before it looks */
} run;

static bool check_type(run *r, pw_layout_engine *engine, int seed)
{
    pw_arena *arena = pw_arena_create();
    pw_builder b = {.arena = arena};
    pw_type type =
        pw_random_type(&b, (uint64_t)seed, &(pw_random_options){.max_size = 400, .style = PW_RANDOM_STRUCTURED});
    pw_layout *layout = layout_of_type(engine, &type);

    if (layout->kernel && r->mode == PW_JIT_ASYNC) {
        pw_cache_request(engine->cache, layout->kernel, PW_WANT_COMPILE);
        pw_cache_drain(engine->cache);
    }
    /* A shape that was used before still has the origin that it got then. */
    CHILD_CHECK(!layout->kernel || layout->kernel->state == PW_KERNEL_READY);
    CHILD_CHECK(!layout->kernel || layout->kernel->origin == r->origin);
    CHILD_CHECK(layout_moves(layout, &type, 2, layout->size / 2));
    pw_layout_unref(layout);
    pw_arena_destroy(arena);
    return true;
}

static bool run_process(void *arg)
{
    run *r = arg;
    pw_layout_engine *engine = layout_engine(r->s, r->mode, 0, true);

    for (int seed = 1; seed <= TYPES; seed++)
        if (!check_type(r, engine, seed))
            return fprintf(stderr, "seed %d\n", seed), false;
    CHILD_CHECK(is_mapped("libLLVM") == r->compiler);
    CHILD_CHECK(is_mapped("libpackwright-llvm") == r->compiler);
    pw_layout_engine_destroy(engine);
    return true;
}

static void second_process(void **state)
{
    run r = {*state, PW_ORIGIN_COMPILED, true, PW_JIT_SYNC};

    assert_true(scene_child(run_process, &r));
    assert_true(scene_count(r.s, ".so") > 5);
    r.origin = PW_ORIGIN_DISK;
    r.compiler = false;
    assert_true(scene_child(run_process, &r));
    r.mode = PW_JIT_ASYNC;
    assert_true(scene_child(run_process, &r));
}

/* Entries are objects that the usual tools read, footer or not. */
static bool count_and_check(void *arg, const pw_cache_entry *entry)
{
    char command[8192];

    snprintf(command, sizeof command, "readelf --wide --dyn-syms '%s' | grep -q 'FUNC.*pw_unpack_'", entry->path);
    if (system(command))
        return *(int *)arg = -1000, false;
    ++*(int *)arg;
    return true;
}

static void tools_read_entries(void **state)
{
    run r = {*state, PW_ORIGIN_COMPILED, true, PW_JIT_SYNC};
    int n = 0;

    if (system("readelf --version >/dev/null 2>&1"))
        skip();
    assert_true(scene_child(run_process, &r));
    assert_int_equal(pw_cache_list(r.s->dir, count_and_check, &n, NULL), PW_OK);
    assert_true(n > 5);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, scene_setup, scene_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(second_process), TEST(tools_read_entries)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
