/* Requests, drains, gets and destruction from many threads; small enough for TSan. */
#include "tests/cache/scene.h"

#include "base/clock.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

enum { THREADS = 4, ROUNDS = 6 };

static void request_then_drain(void **state)
{
    scene *s = *state;
    pw_cache *cache = scene_cache(s, 0);

    for (int i = 0; i < SCENE_SHAPES; i++)
        pw_cache_request(cache, scene_kernel(s, cache, i), PW_WANT_COMPILE);
    pw_cache_drain(cache);
    for (int i = 0; i < SCENE_SHAPES; i++) {
        pw_kernel *kernel = scene_kernel(s, cache, i);

        assert_true(scene_works(kernel));
        assert_int_equal(kernel->origin, PW_ORIGIN_COMPILED);
    }
    assert_int_equal(fake()->compiles, SCENE_SHAPES);
    pw_cache_destroy(cache);
}

static void load_then_compile(void **state)
{
    scene *s = *state;
    pw_cache *cache = scene_cache(s, 0);
    pw_kernel *kernel = scene_kernel(s, cache, 0);

    pw_cache_request(cache, kernel, PW_WANT_LOAD);
    pw_cache_drain(cache);
    assert_int_equal(kernel->state, PW_KERNEL_ABSENT);
    pw_cache_request(cache, kernel, PW_WANT_LOAD);
    assert_int_equal(kernel->state, PW_KERNEL_ABSENT);
    pw_cache_request(cache, kernel, PW_WANT_COMPILE);
    pw_cache_request(cache, kernel, PW_WANT_COMPILE);
    pw_cache_drain(cache);
    assert_true(scene_works(kernel));
    assert_int_equal(fake()->compiles, 1);
    pw_cache_destroy(cache);
}

/* Kernels that were requested before the end are compiled for the next run, as far as the time that this may take
 * allows: the worker gives way to a busy machine. */
static void destroy_finishes_the_queue(void **state)
{
    scene *s = *state;
    pw_cache *cache = scene_cache(s, 0);
    int64_t begin;

    atomic_store(&fake()->delay_us, 2000);
    for (int i = 0; i < 8; i++)
        pw_cache_request(cache, scene_kernel(s, cache, i), PW_WANT_COMPILE);
    begin = pw_clock_ns();
    pw_cache_destroy(cache);
    if (pw_clock_ns() - begin < PW_CACHE_FINISH_MS * INT64_C(1000000))
        assert_int_equal(fake()->compiles, 8);
    assert_int_equal(scene_count(s, ".so"), fake()->compiles);
}

/* The number of these is bounded, so that MPI_Finalize does not take seconds. */
static void destroy_leaves_a_long_queue(void **state)
{
    scene *s = *state;
    pw_cache *cache = scene_cache(s, 0);

    atomic_store(&fake()->delay_us, 40000);
    atomic_store(&fake()->held, true);
    for (int i = 0; i < SCENE_SHAPES; i++)
        pw_cache_request(cache, scene_kernel(s, cache, i), PW_WANT_COMPILE);
    while (fake()->begun == 0)
        usleep(1000);
    atomic_store(&fake()->held, false);
    pw_cache_destroy(cache);
    assert_in_range(fake()->compiles, 1, SCENE_SHAPES / 2);
    assert_int_equal(scene_count(s, ".so"), fake()->compiles);
    assert_int_equal(scene_count(s, ".lock"), 0);
}

/* Without a place to keep kernels for the next run, only the compile under way is finished. */
static void destroy_without_disk_is_quick(void **state)
{
    scene *s = *state;
    pw_cache *cache = scene_cache_at(NULL, 0);
    int before;

    atomic_store(&fake()->delay_us, 20000);
    for (int i = 0; i < SCENE_SHAPES; i++)
        pw_cache_request(cache, scene_kernel(s, cache, i), PW_WANT_COMPILE);
    before = fake()->compiles;
    pw_cache_destroy(cache);
    assert_in_range(fake()->compiles - before, 0, 4);
}

/* Returns whether a kernel becomes ready in time. */
static bool is_ready_soon(const pw_kernel *kernel)
{
    for (int i = 0; i < 10000 && kernel->state != PW_KERNEL_READY; i++)
        usleep(1000);
    return kernel->state == PW_KERNEL_READY;
}

static void what_is_on_disk_waits_for_no_compile(void **state)
{
    scene *s = *state;
    pw_cache *cache = scene_cache(s, 0);

    scene_store(s, 2, false);
    scene_store(s, 3, false);
    atomic_store(&fake()->held, true);
    pw_cache_request(cache, scene_kernel(s, cache, 0), PW_WANT_COMPILE);
    pw_cache_request(cache, scene_kernel(s, cache, 1), PW_WANT_COMPILE);
    pw_cache_request(cache, scene_kernel(s, cache, 2), PW_WANT_COMPILE);
    pw_cache_request(cache, scene_kernel(s, cache, 3), PW_WANT_LOAD);
    assert_true(is_ready_soon(scene_kernel(s, cache, 2)));
    assert_true(is_ready_soon(scene_kernel(s, cache, 3)));
    assert_int_equal(fake()->compiles, 0);
    atomic_store(&fake()->held, false);
    pw_cache_drain(cache);
    assert_int_equal(fake()->compiles, 2);
    assert_true(scene_works(scene_kernel(s, cache, 0)));
    pw_cache_destroy(cache);
}

/* The thread that compiles gives way to others, and no other thread does. */
static void compiling_gives_way(void **state)
{
    scene *s = *state;
    int own = getpriority(PRIO_PROCESS, 0);
    pw_cache *cache = scene_cache(s, 0);

    pw_cache_request(cache, scene_kernel(s, cache, 0), PW_WANT_COMPILE);
    pw_cache_drain(cache);
    assert_int_equal(fake()->compiles, 1);
    if (own < 19)
        assert_true(fake()->priority > own);
    assert_int_equal(getpriority(PRIO_PROCESS, 0), own);
    pw_cache_destroy(cache);
}

static void no_backend(void **state)
{
    scene *s = *state;
    pw_cache *cache = scene_cache(s, 0);
    const char *heard;

    atomic_store(&fake()->missing, true);
    scene_store(s, 3, false);
    scene_listen();
    for (int i = 0; i < 4; i++)
        pw_cache_request(cache, scene_kernel(s, cache, i), PW_WANT_COMPILE);
    pw_cache_drain(cache);
    heard = scene_heard();
    assert_int_equal(scene_times(heard, "\n"), 1);
    assert_non_null(strstr(heard, "told to be missing"));
    for (int i = 0; i < 3; i++) {
        assert_int_equal(scene_kernel(s, cache, i)->state, PW_KERNEL_FAILED);
        assert_null(scene_kernel(s, cache, i)->pack);
    }
    assert_true(scene_works(scene_kernel(s, cache, 3)));
    assert_int_equal(scene_count(s, ".lock"), 0);
    pw_cache_destroy(cache);
}

static void broken_backend(void **state)
{
    scene *s = *state;
    pw_cache *cache = scene_cache(s, 0);
    const char *heard;

    atomic_store(&fake()->broken, true);
    scene_listen();
    for (int i = 0; i < 3; i++)
        assert_int_equal(scene_get(s, cache, i)->state, PW_KERNEL_FAILED);
    heard = scene_heard();
    assert_int_equal(scene_times(heard, "\n"), 1);
    assert_non_null(strstr(heard, "told to fail"));
    assert_int_equal(scene_count(s, ".lock"), 0);
    pw_cache_destroy(cache);
}

/* A shape that no backend takes is no fault, which a program's user need not hear of; the next one is. */
static void irregular_shapes_are_no_fault(void **state)
{
    static pw_shape_region regions[1000];
    scene *s = *state;
    pw_cache *cache = scene_cache(s, 0);

    s->shapes[0].nregions = 1000;
    s->shapes[0].regions = regions;
    atomic_store(&fake()->broken, true);
    scene_listen();
    scene_get(s, cache, 0);
    assert_string_equal(scene_heard(), "");
    assert_int_equal(fake()->loads + fake()->begun, 0);
    scene_listen();
    scene_get(s, cache, 1);
    assert_int_equal(scene_times(scene_heard(), "no kernel"), 1);
    pw_cache_destroy(cache);
}

typedef struct client {
    scene *s;
    pw_cache *cache;
    unsigned seed;
    int used; /* counts calls of ready kernels, so that the calls are not optimised away */
} client;

/* As the runtime does: any thread may ask, and use what it finds. */
static void *be_client(void *arg)
{
    client *c = arg;

    for (int step = 0; step < 200; step++) {
        unsigned r = c->seed = c->seed * 1103515245u + 12345u;
        int shape = (int)(r >> 16) % 16;
        pw_kernel *kernel = scene_kernel(c->s, c->cache, shape);
        pw_cache_want want = (r >> 9) % 2 ? PW_WANT_LOAD : PW_WANT_COMPILE;

        if ((r >> 10) % 4 == 0)
            pw_cache_get(c->cache, kernel, want);
        else if ((r >> 10) % 16 == 1)
            pw_cache_drain(c->cache);
        else
            pw_cache_request(c->cache, kernel, want);
        if (atomic_load_explicit(&kernel->pack, memory_order_acquire))
            c->used += scene_works(kernel);
    }
    return NULL;
}

static void many_threads(void **state)
{
    scene *s = *state;

    for (int round = 0; round < ROUNDS; round++) {
        pw_cache *cache = scene_cache_at(round % 2 ? s->dir : NULL, 0);
        pthread_t threads[THREADS];
        client clients[THREADS];
        int before = fake()->compiles;

        for (int i = 0; i < THREADS; i++) {
            clients[i] = (client){s, cache, (unsigned)(round * THREADS + i), 0};
            assert_int_equal(pthread_create(&threads[i], NULL, be_client, &clients[i]), 0);
        }
        for (int i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
        assert_true(fake()->compiles - before <= 16);
        if (round > 1 && round % 2)
            assert_int_equal(fake()->compiles, before);
        pw_cache_destroy(cache);
    }
}

static void signals_go_elsewhere(void **state)
{
    scene *s = *state;
    pw_cache *cache = scene_cache(s, 0);
    sigset_t before, after;

    pthread_sigmask(SIG_SETMASK, NULL, &before);
    pw_cache_request(cache, scene_kernel(s, cache, 0), PW_WANT_COMPILE);
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    for (int sig = 1; sig < 32; sig++)
        assert_int_equal(sigismember(&before, sig), sigismember(&after, sig));
    pw_cache_destroy(cache);
}

/* A child of fork has the cache's memory, no worker, and locks in the state they had. */
static bool use_after_fork(void *arg)
{
    client *c = arg;
    pw_kernel *known = scene_kernel(c->s, c->cache, 0);

    CHILD_CHECK(known == NULL);
    pw_cache_drain(c->cache);
    pw_cache_destroy(c->cache);
    return true;
}

static void fork_with_a_busy_worker(void **state)
{
    scene *s = *state;
    client c = {s, scene_cache(s, 0), 0, 0};

    atomic_store(&fake()->delay_us, 3000);
    for (int i = 0; i < 10; i++) {
        pw_cache_request(c.cache, scene_kernel(s, c.cache, i), PW_WANT_COMPILE);
        assert_true(scene_child(use_after_fork, &c));
    }
    pw_cache_drain(c.cache);
    for (int i = 0; i < 10; i++)
        assert_true(scene_works(scene_kernel(s, c.cache, i)));
    pw_cache_destroy(c.cache);
}

static void check_no_compile(void)
{
    /* Registered after the compile has begun, as objects are that a compiler makes at first use. */
    if (fake()->compiles == 0)
        _exit(3);
}

/* The program calls exit() while the worker is in the compiler, whose static objects exit() would destroy. */
static int exit_while_compiling(scene *s)
{
    pid_t pid = fork();
    int status = 0;

    if (pid == 0) {
        pw_cache *cache = scene_cache_at(NULL, 0);

        pw_cache_request(cache, scene_kernel(s, cache, 0), PW_WANT_COMPILE);
        while (fake()->begun == 0)
            usleep(1000);
        atexit(check_no_compile);
        exit(7);
    }
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void exit_waits_for_a_compile(void **state)
{
    atomic_store(&fake()->delay_us, 300000);
    assert_int_equal(exit_while_compiling(*state), 7);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, scene_setup, scene_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(request_then_drain),
        TEST(load_then_compile),
        TEST(destroy_finishes_the_queue),
        TEST(destroy_leaves_a_long_queue),
        TEST(destroy_without_disk_is_quick),
        TEST(what_is_on_disk_waits_for_no_compile),
        TEST(compiling_gives_way),
        TEST(no_backend),
        TEST(broken_backend),
        TEST(irregular_shapes_are_no_fault),
        TEST(many_threads),
        TEST(signals_go_elsewhere),
        TEST(fork_with_a_busy_worker),
        TEST(exit_waits_for_a_compile),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
