/* Many processes and one directory that is empty at first. */
#include "tests/cache/scene.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum { PROCESSES = 32, KERNELS = 4 };

typedef struct race {
    scene *s;
    bool async;
    _Atomic int arrived;
} race;

static race *new_race(scene *s)
{
    race *r = mmap(NULL, sizeof *r, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    assert_ptr_not_equal(r, MAP_FAILED);
    r->s = s;
    return r;
}

static void get_all(race *r, pw_cache *cache, pw_kernel *kernels[KERNELS])
{
    for (int i = 0; i < KERNELS; i++) {
        kernels[i] = scene_kernel(r->s, cache, i);
        if (r->async)
            pw_cache_request(cache, kernels[i], PW_WANT_COMPILE);
        else
            pw_cache_get(cache, kernels[i], PW_WANT_COMPILE);
    }
    if (r->async)
        pw_cache_drain(cache);
}

static bool run_rank(race *r)
{
    pw_cache *cache = scene_cache(r->s, 0);
    pw_kernel *kernels[KERNELS];

    atomic_fetch_add(&r->arrived, 1);
    while (atomic_load(&r->arrived) < PROCESSES)
        usleep(200);
    get_all(r, cache, kernels);
    for (int i = 0; i < KERNELS; i++)
        CHILD_CHECK(scene_works(kernels[i]));
    pw_cache_destroy(cache);
    return true;
}

static int run_race(race *r)
{
    pid_t pids[PROCESSES];
    int failures = 0;

    fflush(NULL);
    for (int i = 0; i < PROCESSES; i++) {
        pids[i] = fork();
        if (pids[i] == 0)
            _exit(run_rank(r) ? 0 : 1);
        assert_true(pids[i] > 0);
    }
    for (int i = 0; i < PROCESSES; i++) {
        int status = -1;

        waitpid(pids[i], &status, 0);
        failures += !(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    return failures;
}

static void expect_few_compiles(scene *s, bool async)
{
    race *r = new_race(s);

    r->async = async;
    atomic_store(&fake()->delay_us, 20000);
    assert_int_equal(run_race(r), 0);
    if (fake()->compiles > 2 * KERNELS)
        fail_msg("%d compiles of %d kernels by %d processes", fake()->compiles, KERNELS, PROCESSES);
    assert_int_equal(fake()->loads, fake()->compiles); /* a process that does not compile needs no compiler */
    assert_int_equal(scene_count(s, ".so"), KERNELS);
    assert_int_equal(scene_count(s, ".tmp") + scene_count(s, ".lock"), 0);
    munmap(r, sizeof *r);
}

static void synchronous(void **state)
{
    expect_few_compiles(*state, false);
}

static void asynchronous(void **state)
{
    expect_few_compiles(*state, true);
}

/* All entries exist, and all are damaged: every process refuses them, kernels work, and good entries are left. */
static bool count_bad(void *arg, const pw_cache_entry *entry)
{
    *(int *)arg += entry->status != PW_OK;
    return true;
}

static void all_damaged(void **state)
{
    scene *s = *state;
    race *r = new_race(s);
    int bad = 0;

    for (int i = 0; i < KERNELS; i++) {
        char path[256];
        size_t size;
        char *data;

        scene_store(s, i, true);
        scene_path(s, i, ".so", path);
        data = scene_read(path, &size);
        data[size / 2] ^= 1;
        scene_write(path, data, size);
        free(data);
    }
    scene_listen();
    assert_int_equal(run_race(r), 0);
    scene_heard();
    assert_int_equal(pw_cache_list(s->dir, count_bad, &bad, NULL), PW_OK);
    assert_int_equal(bad, 0);
    munmap(r, sizeof *r);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, scene_setup, scene_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(synchronous), TEST(asynchronous), TEST(all_damaged)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
