/* Which process compiles a kernel, when another one compiles it or died while it did. */
#include "jit-cache/disk.h"
#include "tests/cache/scene.h"

#include <string.h>
#include <sys/wait.h>

static void put_lock(scene *s, int shape, const char *host, long pid)
{
    char path[256], text[128];

    if (!scene_exists(s->dir))
        scene_store(s, SCENE_SHAPES - 1, false);
    scene_path(s, shape, ".lock", path);
    snprintf(text, sizeof text, "%s %ld\n", host, pid);
    scene_write(path, text, strlen(text));
}

static const char *own_host(void)
{
    static char host[64];

    gethostname(host, sizeof host);
    for (char *c = host; *c; c++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-", *c))
            *c = '_';
    return host;
}

static long dead_pid(void)
{
    pid_t pid = fork();

    if (pid == 0)
        _exit(0);
    waitpid(pid, NULL, 0);
    return pid;
}

static void expect_compiled(scene *s, int shape)
{
    pw_cache *cache = scene_cache(s, 0);
    pw_kernel *kernel = scene_get(s, cache, shape);

    assert_true(scene_works(kernel));
    assert_int_equal(kernel->origin, PW_ORIGIN_COMPILED);
    assert_int_equal(fake()->compiles, 1);
    assert_int_equal(scene_count(s, ".lock"), 0);
    pw_cache_destroy(cache);
}

static void owner_died_here(void **state)
{
    scene *s = *state;

    put_lock(s, 0, own_host(), dead_pid());
    expect_compiled(s, 0);
}

static void too_old(void **state)
{
    scene *s = *state;
    char path[256];

    put_lock(s, 0, "another-host", 1);
    scene_path(s, 0, ".lock", path);
    scene_age(path, 60);
    expect_compiled(s, 0);
}

/* Another process holds the lock and never comes back: the lock gets too old while this one waits. */
static void becomes_too_old(void **state)
{
    scene *s = *state;
    char path[256];

    put_lock(s, 0, "another-host", 1);
    scene_path(s, 0, ".lock", path);
    scene_age(path, 9);
    expect_compiled(s, 0);
}

static void malformed(void **state)
{
    static const char *const texts[] = {"", "x", " ", "host", "host -1\n", "host 99999999999999999999\n"};
    scene *s = *state;
    char path[256];

    put_lock(s, 0, "x", 1);
    scene_path(s, 0, ".lock", path);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char entry[256];

        scene_write(path, texts[i], strlen(texts[i]));
        scene_age(path, 60);
        expect_compiled(s, 0);
        scene_path(s, 0, ".so", entry);
        unlink(entry);
        fake()->compiles = 0;
    }
}

/* The worker waits for the other process, does other kernels meanwhile, and takes the entry that appears. */
static void entry_appears(void **state)
{
    scene *s = *state;
    char path[256];
    pw_cache *cache = scene_cache(s, 0);
    pw_kernel *locked = scene_kernel(s, cache, 0), *other = scene_kernel(s, cache, 1);

    put_lock(s, 0, own_host(), getpid());
    pw_cache_request(cache, locked, PW_WANT_COMPILE);
    pw_cache_request(cache, other, PW_WANT_COMPILE);
    while (other->state != PW_KERNEL_READY)
        usleep(1000);
    assert_int_equal(locked->state, PW_KERNEL_QUEUED);
    scene_store(s, 0, false);
    scene_path(s, 0, ".lock", path);
    unlink(path);
    pw_cache_drain(cache);
    assert_true(scene_works(locked));
    assert_int_equal(locked->origin, PW_ORIGIN_DISK);
    assert_int_equal(fake()->compiles, 1);
    assert_int_equal(fake()->loads, 1); /* for the other kernel */
    pw_cache_destroy(cache);
}

/* The other process could not store what it compiled: we compile, and hold no lock for others to wait for. */
static void lock_vanishes(void **state)
{
    scene *s = *state;
    char path[256];
    pw_cache *cache = scene_cache(s, 0);
    pw_kernel *kernel = scene_kernel(s, cache, 0);

    put_lock(s, 0, own_host(), getpid());
    pw_cache_request(cache, kernel, PW_WANT_COMPILE);
    usleep(20000);
    scene_path(s, 0, ".lock", path);
    unlink(path);
    pw_cache_drain(cache);
    assert_true(scene_works(kernel));
    assert_int_equal(kernel->origin, PW_ORIGIN_COMPILED);
    assert_int_equal(scene_count(s, ".lock"), 0);
    pw_cache_destroy(cache);
}

/* pw_cache_destroy does not wait for other processes. */
static void destroy_does_not_wait(void **state)
{
    scene *s = *state;
    pw_cache *cache = scene_cache(s, 0);

    put_lock(s, 0, own_host(), getpid());
    pw_cache_request(cache, scene_kernel(s, cache, 0), PW_WANT_COMPILE);
    pw_cache_request(cache, scene_kernel(s, cache, 1), PW_WANT_COMPILE);
    pw_cache_destroy(cache);
    assert_int_equal(fake()->compiles, 1);
    assert_int_equal(scene_count(s, ".lock"), 1);
}

static void release_spares_a_successor(void **state)
{
    scene *s = *state;
    pw_disk disk;
    pw_disk_lock mine, theirs;
    char path[256];

    scene_store(s, 1, false);
    assert_int_equal(pw_disk_init(&disk, s->dir, 0), PW_OK);
    scene_path(s, 0, ".lock", path);
    assert_int_equal(pw_disk_lock_take(&disk, scene_key(s, 0), &mine), PW_LOCK_TAKEN);
    assert_int_equal(pw_disk_lock_take(&disk, scene_key(s, 0), &theirs), PW_LOCK_HELD);
    scene_age(path, 60);
    assert_int_equal(pw_disk_lock_take(&disk, scene_key(s, 0), &theirs), PW_LOCK_TAKEN);
    assert_true(theirs.stolen);
    if (mine.ino != theirs.ino) { /* some file systems give the number to the next file at once */
        pw_disk_lock_release(&disk, scene_key(s, 0), &mine);
        assert_true(scene_exists(path));
    }
    pw_disk_lock_release(&disk, scene_key(s, 0), &theirs);
    assert_false(scene_exists(path));
    pw_disk_fini(&disk);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, scene_setup, scene_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(owner_died_here), TEST(too_old),       TEST(becomes_too_old),       TEST(malformed),
        TEST(entry_appears),   TEST(lock_vanishes), TEST(destroy_does_not_wait), TEST(release_spares_a_successor),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
