/* The disk fills up in the middle of an entry: one warning, no half entry, kernels that work. And limits of the
 * process: no kernels, and no end of the process. */
#include "tests/cache/scene.h"
#include "tests/support/address_space.h"

#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>

static bool survives(scene *s, const char *reason)
{
    pw_cache *cache = scene_cache(s, 0);
    const char *heard;

    scene_listen();
    for (int i = 0; i < 4; i++)
        CHILD_CHECK(scene_works(scene_get(s, cache, i)));
    heard = scene_heard();
    if (scene_times(heard, "\n") != 1 || !strstr(heard, reason))
        return fprintf(stderr, "expected one line with '%s', heard: %s\n", reason, heard), false;
    pw_cache_destroy(cache);
    CHILD_CHECK(scene_count(s, ".tmp") == 0);
    CHILD_CHECK(scene_count(s, ".lock") == 0);
    CHILD_CHECK(fake()->compiles == 4);
    return true;
}

static bool on_small_mount(void *arg)
{
    scene *s = arg;

    if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
        mount("none", s->base, "tmpfs", 0, "size=8k,mode=711"))
        return fprintf(stderr, "no mounts here: not tested\n"), true;
    return survives(s, "No space left on device");
}

static void full_file_system(void **state)
{
    assert_true(scene_child(on_small_mount, *state));
}

/* The limit holds for anonymous files, too, so no kernel can be had; SIGXFSZ must not end the process. */
static bool with_file_limit(void *arg)
{
    scene *s = arg;
    struct rlimit limit = {4096, 4096};
    pw_cache *cache = scene_cache(s, 0);

    signal(SIGXFSZ, SIG_DFL);
    CHILD_CHECK(!setrlimit(RLIMIT_FSIZE, &limit));
    scene_listen();
    CHILD_CHECK(scene_get(s, cache, 0)->state == PW_KERNEL_FAILED);
    CHILD_CHECK(scene_get(s, cache, 1)->state == PW_KERNEL_FAILED);
    CHILD_CHECK(strstr(scene_heard(), "File too large"));
    pw_cache_destroy(cache);
    CHILD_CHECK(scene_count(s, ".tmp") + scene_count(s, ".lock") == 0);
    return true;
}

static void file_size_limit(void **state)
{
    assert_true(scene_child(with_file_limit, *state));
}

/* LLVM ends the process when it gets no memory, so it must not be begun with little. Sanitizers need more themselves.
 */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
static bool with_little_memory(void *arg)
{
    scene *s = arg;
    pw_cache *cache = scene_cache(s, 0);
    rlim_t used = address_space_now();

    CHILD_CHECK(used > 0 && !setrlimit(RLIMIT_AS, &(struct rlimit){used + (32 << 20), used + (32 << 20)}));
    scene_listen();
    CHILD_CHECK(scene_get(s, cache, 0)->state == PW_KERNEL_FAILED);
    CHILD_CHECK(strstr(scene_heard(), "no memory left for a compiler"));
    CHILD_CHECK(fake()->loads == 0);
    pw_cache_destroy(cache);
    return true;
}

static void address_space_limit(void **state)
{
    assert_true(scene_child(with_little_memory, *state));
}
#else
static void address_space_limit(void **state)
{
    (void)state;
    skip();
}
#endif

#define TEST(f) cmocka_unit_test_setup_teardown(f, scene_setup, scene_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(full_file_system), TEST(file_size_limit), TEST(address_space_limit)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
