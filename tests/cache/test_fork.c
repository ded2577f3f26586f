/* fork() beside a thread that compiles. What the C library does with locks that are held then is its own affair; here
 * it is tested that there is no compile under way in the moment of a fork. */
#include "tests/cache/scene.h"

#include <pthread.h>

static bool no_compile_is_under_way(void *unused)
{
    (void)unused;
    return fake()->begun == fake()->compiles;
}

static bool nothing(void *unused)
{
    (void)unused;
    return true;
}

static void request(scene *s, pw_cache *cache, int shape)
{
    pw_cache_request(cache, scene_kernel(s, cache, shape), PW_WANT_COMPILE);
}

static void wait_for_compile(void)
{
    while (fake()->begun == 0)
        usleep(100);
}

static void a_fork_waits_for_the_compile_under_way(void **state)
{
    scene *s = *state;
    pw_cache *cache = scene_cache(s, 0);

    atomic_store(&fake()->delay_us, 300000);
    request(s, cache, 0);
    wait_for_compile();
    assert_true(scene_child(no_compile_is_under_way, NULL));
    assert_int_equal(fake()->compiles, 1);
    pw_cache_destroy(cache);
}

/* What the handler of a fork uses, which takes no argument. */
static struct {
    scene *s;
    pw_cache *cache; /* NULL: it does nothing */
    int begun;
} forking;

/* Asks for a kernel in the middle of a fork, and leaves its thread time to begin. */
static void request_before_fork(void)
{
    if (!forking.cache)
        return;
    request(forking.s, forking.cache, 1);
    usleep(100000);
    forking.begun = fake()->begun;
}

static void no_compile_begins_during_a_fork(void **state)
{
    scene *s = *state;
    pw_cache *cache = scene_cache(s, 0);

    request(s, cache, 0);
    pw_cache_drain(cache);
    forking.s = s;
    forking.cache = cache;
    assert_true(scene_child(nothing, NULL));
    forking.cache = NULL;
    assert_int_equal(forking.begun, 1);
    pw_cache_drain(cache);
    assert_true(scene_works(scene_kernel(s, cache, 1)));
    pw_cache_destroy(cache);
}

/* As a compile would that needs a lock of the thread that forks. */
static void a_fork_does_not_wait_for_ever(void **state)
{
    scene *s = *state;
    pw_cache *cache = scene_cache(s, 0);

    atomic_store(&fake()->held, true);
    request(s, cache, 0);
    wait_for_compile();
    assert_false(scene_child(no_compile_is_under_way, NULL));
    atomic_store(&fake()->held, false);
    pw_cache_drain(cache);
    assert_true(scene_works(scene_kernel(s, cache, 0)));
    pw_cache_destroy(cache);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, scene_setup, scene_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(a_fork_waits_for_the_compile_under_way),
                                       TEST(no_compile_begins_during_a_fork), TEST(a_fork_does_not_wait_for_ever)};

    /* Handlers run in the reverse order: this one runs when the fork waits for compiles no more. */
    pthread_atfork(request_before_fork, NULL, NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
