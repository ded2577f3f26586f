/* The bound on the directory, the order in which entries are removed, and what killed processes leave behind. */
#include "tests/cache/scene.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

static int64_t entry_size(scene *s)
{
    char path[256];
    struct stat st;

    scene_path(s, 0, ".so", path);
    assert_int_equal(stat(path, &st), 0);
    return st.st_size;
}

/* Stores entries 0 to n - 1; entry 0 was used longest ago. */
static void seed(scene *s, int n)
{
    char path[256];

    for (int i = 0; i < n; i++) {
        scene_store(s, i, false);
        scene_path(s, i, ".so", path);
        scene_age(path, 100 * (n - i));
    }
}

static bool present(scene *s, int shape)
{
    char path[256];

    scene_path(s, shape, ".so", path);
    return scene_exists(path);
}

static void oldest_go(void **state)
{
    scene *s = *state;
    pw_cache *cache;
    int64_t size;

    seed(s, 12);
    size = entry_size(s);
    cache = scene_cache(s, 8 * size);
    assert_true(scene_works(scene_get(s, cache, 20)));
    /* 13 entries; an eighth below the bound leaves 7. */
    assert_int_equal(scene_count(s, ".so"), 7);
    assert_true(present(s, 20));
    for (int i = 0; i < 12; i++)
        assert_int_equal(present(s, i), i >= 6);
    pw_cache_destroy(cache);
}

static void stays_within_bounds(void **state)
{
    scene *s = *state;
    pw_cache *cache;
    int64_t size;

    seed(s, 1);
    size = entry_size(s);
    cache = scene_cache(s, 10 * size);
    for (int i = 1; i < SCENE_SHAPES; i++) {
        assert_true(scene_works(scene_get(s, cache, i)));
        assert_true(present(s, i));
        assert_true(scene_count(s, ".so") <= 10);
    }
    /* Kernels whose files are gone still work. */
    for (int i = 1; i < SCENE_SHAPES; i++)
        assert_true(scene_works(scene_kernel(s, cache, i)));
    pw_cache_destroy(cache);
}

static void bound_below_one_entry(void **state)
{
    scene *s = *state;
    pw_cache *cache = scene_cache(s, 1);

    for (int i = 0; i < 3; i++) {
        assert_true(scene_works(scene_get(s, cache, i)));
        assert_true(present(s, i));
        assert_int_equal(scene_count(s, ".so"), 1);
    }
    pw_cache_destroy(cache);
}

/* Loading an entry that was long unused makes it the youngest. */
static void use_counts(void **state)
{
    scene *s = *state;
    pw_cache *cache;
    char path[256];
    struct stat st;

    seed(s, 8);
    scene_path(s, 0, ".so", path);
    scene_age(path, 100000);
    cache = scene_cache(s, 8 * entry_size(s));
    assert_true(scene_works(scene_get(s, cache, 0)));
    assert_int_equal(stat(path, &st), 0);
    assert_true(time(NULL) - st.st_mtime < 1000);
    assert_true(scene_works(scene_get(s, cache, 20)));
    assert_true(present(s, 0));
    assert_false(present(s, 1));
    pw_cache_destroy(cache);
}

static void abandoned_files_go(void **state)
{
    static const struct {
        const char *suffix;
        int64_t age;
        bool stays;
    } rows[] = {{".tmp-host-1-1", 7200, false}, {".tmp-host-1-2", 60, true}, {".lock", 7200, false}};
    scene *s = *state;
    pw_cache *cache;
    char path[256], other[256];

    seed(s, 1);
    snprintf(other, sizeof other, "%s/v1/notes.txt", s->dir);
    scene_write(other, "mine", 4);
    scene_age(other, 100000);
    for (int i = 0; i < 3; i++) {
        scene_path(s, 30, rows[i].suffix, path);
        scene_write(path, "x", 1);
        scene_age(path, rows[i].age);
    }
    cache = scene_cache(s, INT64_C(1) << 30);
    assert_true(scene_works(scene_get(s, cache, 1)));
    for (int i = 0; i < 3; i++) {
        scene_path(s, 30, rows[i].suffix, path);
        assert_int_equal(scene_exists(path), rows[i].stays);
    }
    assert_true(scene_exists(other));
    pw_cache_destroy(cache);
}

/* ---- several writers --------------------------------------------------------------------------- */

enum { WRITERS = 3, BOUND = 7, EACH = 4, FIRST = 1 };

/* A writer: stores its first entry, waits until all others have stored theirs, and stores the rest. */
static bool write_entries(scene *s, int writer, int64_t bound, _Atomic int *arrived)
{
    pw_cache *cache = scene_cache(s, bound);

    for (int i = 0; i < EACH; i++) {
        CHILD_CHECK(scene_works(scene_get(s, cache, FIRST + WRITERS * i + writer)));
        if (i == 0)
            atomic_fetch_add(arrived, 1);
        while (atomic_load(arrived) < WRITERS)
            usleep(200);
    }
    pw_cache_destroy(cache);
    return true;
}

/* No writer knows by itself that the bound is passed: each knows the first entries of all, and its own. */
static void writers_share_the_bound(void **state)
{
    scene *s = *state;
    _Atomic int *arrived = mmap(NULL, sizeof *arrived, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t pids[WRITERS];
    int64_t size;

    assert_ptr_not_equal(arrived, MAP_FAILED);
    seed(s, 1);
    size = entry_size(s);
    fflush(NULL);
    for (int w = 0; w < WRITERS; w++) {
        pids[w] = fork();
        if (pids[w] == 0)
            _exit(write_entries(s, w, BOUND * size, arrived) ? 0 : 1);
        assert_true(pids[w] > 0);
    }
    for (int w = 0; w < WRITERS; w++) {
        int status = -1;

        assert_int_equal(waitpid(pids[w], &status, 0), pids[w]);
        assert_int_equal(status, 0);
    }
    assert_true(scene_count(s, ".so") > 0);
    assert_true(scene_count(s, ".so") <= BOUND + 1);
    munmap((void *)arrived, sizeof *arrived);
}

/* Holds the lock on the account, as a process that was stopped at a bad moment does. Closing the descriptor releases
 * it. */
static int hold_account(scene *s)
{
    char path[256];
    int fd;

    snprintf(path, sizeof path, "%s/v1/total", s->dir);
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    return fd;
}

static void held_account_blocks_nobody(void **state)
{
    enum { ROOM = 16, SEEDED = 14, STORED = 6 };
    scene *s = *state;
    pw_cache *cache;
    int held;

    seed(s, SEEDED);
    cache = scene_cache(s, ROOM * entry_size(s));
    held = hold_account(s);
    for (int i = SEEDED; i < SEEDED + STORED; i++) {
        assert_true(scene_works(scene_get(s, cache, i)));
        assert_true(present(s, i));
        assert_true(scene_count(s, ".so") <= ROOM);
    }
    close(held);
    pw_cache_destroy(cache);
}

/* An account that is unreadable, or too small, is corrected by reading the directory. */
static void wrong_account(void **state)
{
    static const char *const texts[] = {
        "", "gibberish", "-5 0\n", "                   0         64\n", "9223372036854775807 0\n", "0 2147483647\n"};
    scene *s = *state;
    char path[256];

    for (int i = 0; i < (int)(sizeof texts / sizeof *texts); i++) {
        pw_cache *cache;

        seed(s, 2 * BOUND);
        snprintf(path, sizeof path, "%s/v1/total", s->dir);
        scene_write(path, texts[i], strlen(texts[i]));
        cache = scene_cache(s, BOUND * entry_size(s));
        assert_true(scene_works(scene_get(s, cache, 2 * BOUND + i)));
        assert_true(scene_count(s, ".so") <= BOUND);
        pw_cache_destroy(cache);
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, scene_setup, scene_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(oldest_go),          TEST(stays_within_bounds),     TEST(bound_below_one_entry),      TEST(use_counts),
        TEST(abandoned_files_go), TEST(writers_share_the_bound), TEST(held_account_blocks_nobody), TEST(wrong_account),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
