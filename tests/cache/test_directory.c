/* Directories that cannot be used, or do not exist: one warning, and kernels that work. */
#include "base/env.h"
#include "tests/cache/scene.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

#include <sched.h>

/* Gets three kernels, all compiled. There must be `warnings` lines with `reason` in them. */
static bool works_without_disk(scene *s, const char *dir, int warnings, const char *reason)
{
    pw_cache *cache = scene_cache_at(dir, 0);
    bool ok = cache != NULL;
    const char *heard;

    scene_listen();
    for (int i = 0; ok && i < 3; i++) {
        pw_kernel *kernel = scene_get(s, cache, i);

        ok = scene_works(kernel) && kernel->origin == PW_ORIGIN_COMPILED;
    }
    heard = scene_heard();
    if (scene_times(heard, "\n") != warnings || !strstr(heard, reason)) {
        fprintf(stderr, "expected %d lines with '%s', heard: %s\n", warnings, reason, heard);
        ok = false;
    }
    pw_cache_destroy(cache);
    return ok;
}

static void no_directory(void **state)
{
    assert_true(works_without_disk(*state, NULL, 0, ""));
}

static void a_file_and_below_it(void **state)
{
    scene *s = *state;
    char path[128];

    snprintf(path, sizeof path, "%s/file", s->base);
    scene_write(path, "x", 1);
    assert_true(works_without_disk(s, path, 1, "Not a directory"));
    strcat(path, "/cache");
    assert_true(works_without_disk(s, path, 1, "Not a directory"));
}

static void below_proc(void **state)
{
    assert_true(works_without_disk(*state, "/proc/packwright", 1, "cannot create"));
}

static void created_private(void **state)
{
    scene *s = *state;
    struct stat st;
    char path[256];
    mode_t before = umask(0);

    scene_store(s, 0, false);
    umask(before);
    assert_int_equal(stat(s->dir, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    scene_path(s, 0, ".so", path);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
}

/* Looking into the cache writes nothing, and makes no directory. */
static void looking_leaves_no_trace(void **state)
{
    scene *s = *state;
    pw_cache *cache = scene_cache(s, 0);
    pw_kernel *kernel = scene_kernel(s, cache, 0);

    pw_cache_get(cache, kernel, PW_WANT_LOAD);
    assert_int_equal(kernel->state, PW_KERNEL_ABSENT);
    assert_false(scene_exists(s->dir));
    pw_cache_destroy(cache);
}

/* A poisoned entry is not even read if others may write to its directory, or to one above. */
static void writable_directory(void **state)
{
    scene *s = *state;
    char version[256];

    scene_store(s, 0, true);
    assert_int_equal(chmod(s->dir, 0770), 0);
    assert_true(works_without_disk(s, s->dir, 1, "others may write"));
    assert_int_equal(chmod(s->dir, 0700), 0);
    snprintf(version, sizeof version, "%s/v1", s->dir);
    assert_int_equal(chmod(version, 0777), 0);
    assert_true(works_without_disk(s, s->dir, 1, "others may write"));
}

static void linked_version_directory(void **state)
{
    scene *s = *state;
    char version[256], elsewhere[256];

    scene_store(s, 0, true);
    snprintf(version, sizeof version, "%s/v1", s->dir);
    snprintf(elsewhere, sizeof elsewhere, "%s/v2", s->dir);
    assert_int_equal(rename(version, elsewhere), 0);
    assert_int_equal(symlink(elsewhere, version), 0);
    assert_true(works_without_disk(s, s->dir, 1, "cannot open"));
}

static void foreign_directory(void **state)
{
    scene *s = *state;

    if (geteuid() != 0)
        skip();
    scene_store(s, 0, true);
    assert_int_equal(chown(s->dir, 65534, 65534), 0);
    assert_true(works_without_disk(s, s->dir, 1, "owned by user 65534"));
}

/* The kernel of an entry is mapped from memory, not from the path. */
static void check_by_memory(scene *s)
{
    pw_cache *cache;
    pw_kernel *kernel;
    char line[512];
    bool by_path = false, by_memory = false;
    FILE *maps;

    scene_store(s, 0, false);
    cache = scene_cache(s, 0);
    kernel = scene_get(s, cache, 0);
    assert_true(scene_works(kernel));
    assert_int_equal(kernel->origin, PW_ORIGIN_DISK);
    maps = fopen("/proc/self/maps", "r");
    assert_non_null(maps);
    while (fgets(line, sizeof line, maps)) {
        by_path |= strstr(line, s->dir) != NULL;
        by_memory |= strstr(line, "memfd:packwright-kernel") != NULL;
    }
    fclose(maps);
    assert_false(by_path);
    assert_true(by_memory);
    pw_cache_destroy(cache);
}

/* Below a directory where others can rename things, verified bytes are loaded, never the path. */
static void untrusted_parent(void **state)
{
    scene *s = *state;

    assert_int_equal(chmod(s->base, 0777), 0);
    check_by_memory(s);
}

/* The file system's type, as statfs reports it to this program. */
static long pretended_type;

int fstatfs(int fd, struct statfs *out)
{
    long result = syscall(SYS_fstatfs, fd, out);

    if (result == 0 && pretended_type)
        out->f_type = pretended_type;
    return (int)result;
}

/* On NFS another host may remove what is mapped. */
static void on_nfs(void **state)
{
    pretended_type = NFS_SUPER_MAGIC;
    check_by_memory(*state);
    pretended_type = 0;
}

static int lowest_free_descriptor(void)
{
    int fd = dup(STDERR_FILENO);

    close(fd);
    return fd;
}

/* Many kernels loaded from memory and unloaded again: each is itself, and none keeps a descriptor. */
static void memory_kernels_are_distinct(void **state)
{
    scene *s = *state;
    int before = lowest_free_descriptor();

    for (int round = 0; round < 3; round++) {
        pw_cache *cache = scene_cache_at(NULL, 0);
        pw_kernel *kernels[SCENE_SHAPES];

        for (int i = 0; i < SCENE_SHAPES; i++)
            assert_true(scene_works(kernels[i] = scene_get(s, cache, i)));
        for (int i = 1; i < SCENE_SHAPES; i++)
            assert_ptr_not_equal(kernels[i]->pack, kernels[i - 1]->pack);
        assert_int_equal(lowest_free_descriptor(), before);
        pw_cache_destroy(cache);
    }
}

/* As an ordinary user whose HOME cannot be written; root passes every mode check. */
static bool as_nobody(void *arg)
{
    scene *s = arg;

    if (geteuid() == 0)
        CHILD_CHECK(!setgid(65534) && !setuid(65534));
    return works_without_disk(s, s->dir, 1, "Permission denied");
}

static void read_only_home(void **state)
{
    scene *s = *state;

    assert_int_equal(chmod(s->base, geteuid() ? 0555 : 0755), 0);
    assert_true(scene_child(as_nobody, s));
    assert_int_equal(chmod(s->base, 0711), 0);
}

/* Existing entries are used even though none can be added. */
static bool on_read_only_mount(void *arg)
{
    scene *s = arg;
    pw_cache *cache;
    const char *heard;

    if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
        mount("none", s->base, "tmpfs", 0, "size=1m,mode=711"))
        return fprintf(stderr, "no mounts here: not tested\n"), true;
    scene_store(s, 0, false);
    CHILD_CHECK(!mount(NULL, s->base, NULL, MS_REMOUNT | MS_RDONLY, NULL));
    cache = scene_cache(s, 0);
    scene_listen();
    CHILD_CHECK(scene_works(scene_get(s, cache, 0)));
    CHILD_CHECK(scene_get(s, cache, 0)->origin == PW_ORIGIN_DISK);
    CHILD_CHECK(scene_works(scene_get(s, cache, 1)));
    CHILD_CHECK(scene_works(scene_get(s, cache, 2)));
    heard = scene_heard();
    CHILD_CHECK(scene_times(heard, "\n") == 1 && strstr(heard, "Read-only file system"));
    pw_cache_destroy(cache);
    return true;
}

static void read_only_mount(void **state)
{
    assert_true(scene_child(on_read_only_mount, *state));
}

static bool on_noexec_mount(void *arg)
{
    scene *s = arg;
    pw_cache *cache;

    if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
        mount("none", s->base, "tmpfs", MS_NOEXEC, "size=1m,mode=711"))
        return fprintf(stderr, "no mounts here: not tested\n"), true;
    scene_store(s, 0, false);
    cache = scene_cache(s, 0);
    CHILD_CHECK(scene_works(scene_get(s, cache, 0)));
    CHILD_CHECK(scene_get(s, cache, 0)->origin == PW_ORIGIN_DISK);
    pw_cache_destroy(cache);
    return true;
}

static void noexec_mount(void **state)
{
    assert_true(scene_child(on_noexec_mount, *state));
}

static bool picks_default(void *arg)
{
    char dir[256];

    (void)arg;
    setenv("PACKWRIGHT_CACHE_DIR", "/a", 1);
    setenv("XDG_CACHE_HOME", "/b", 1);
    setenv("HOME", "/c", 1);
    pw_env_reload();
    CHILD_CHECK(pw_cache_default_dir(dir, sizeof dir) && !strcmp(dir, "/a"));
    unsetenv("PACKWRIGHT_CACHE_DIR");
    pw_env_reload();
    CHILD_CHECK(pw_cache_default_dir(dir, sizeof dir) && !strcmp(dir, "/b/packwright"));
    setenv("XDG_CACHE_HOME", "relative", 1);
    CHILD_CHECK(pw_cache_default_dir(dir, sizeof dir) && !strcmp(dir, "/c/.cache/packwright"));
    CHILD_CHECK(!pw_cache_default_dir(dir, 10));
    unsetenv("HOME");
    CHILD_CHECK(!pw_cache_default_dir(dir, sizeof dir));
    return true;
}

static void default_directory(void **state)
{
    assert_true(scene_child(picks_default, *state));
}

/* A program may close all descriptors that it does not know, and open directories of its own. */
static bool closes_descriptors(void *arg)
{
    enum { FIRST = 3, LAST = 30 };
    scene *s = arg;
    pw_cache *cache = scene_cache(s, 0);
    char own[128];

    CHILD_CHECK(scene_works(scene_get(s, cache, 0)));
    snprintf(own, sizeof own, "%s/own", s->base);
    CHILD_CHECK(!mkdir(own, 0700));
    for (int fd = FIRST; fd <= LAST; fd++)
        close(fd);
    for (int fd = FIRST; fd <= LAST; fd++)
        CHILD_CHECK(open(own, O_RDONLY | O_DIRECTORY) == fd);
    scene_listen();
    CHILD_CHECK(scene_works(scene_get(s, cache, 1)));
    CHILD_CHECK(!*scene_heard());
    CHILD_CHECK(scene_count(s, ".so") == 2);
    pw_cache_destroy(cache);
    for (int fd = FIRST; fd <= LAST; fd++)
        CHILD_CHECK(fcntl(fd, F_GETFD) >= 0);
    CHILD_CHECK(!rmdir(own)); /* nothing is in it */
    return true;
}

static void descriptors_are_closed(void **state)
{
    assert_true(scene_child(closes_descriptors, *state));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, scene_setup, scene_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(no_directory),
        TEST(a_file_and_below_it),
        TEST(below_proc),
        TEST(created_private),
        TEST(looking_leaves_no_trace),
        TEST(writable_directory),
        TEST(linked_version_directory),
        TEST(foreign_directory),
        TEST(untrusted_parent),
        TEST(on_nfs),
        TEST(memory_kernels_are_distinct),
        TEST(read_only_home),
        TEST(read_only_mount),
        TEST(noexec_mount),
        TEST(default_directory),
        TEST(descriptors_are_closed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
