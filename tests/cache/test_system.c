/* A directory for all users: looked into first, never written to, and no obstacle to the user's own. */
#include "tests/cache/scene.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { NOBODY = 65534 };

/* The scene's own directory is the one for all users; this is the user's. */
static void own_dir(const scene *s, char out[128])
{
    snprintf(out, 128, "%s/own", s->base);
}

static pw_cache *cache_of_both(scene *s)
{
    char own[128];
    pw_cache_config config = {
        .dir = own, .system = s->dir, .backend = "fake", .target = pw_target_host(), .load_backend = fake_load_backend};
    pw_cache *cache = NULL;

    own_dir(s, own);
    return pw_cache_create(&config, &cache) ? NULL : cache;
}

/* Seeds the directory for all users with the entry of shape 0. */
static void seed(scene *s)
{
    char private[128], dir[128];
    int64_t copied = 0;
    pw_diag diag = {0};

    snprintf(private, sizeof private, "%s/private", s->base);
    strcpy(dir, s->dir);
    strcpy(s->dir, private);
    scene_store(s, 0, false);
    strcpy(s->dir, dir);
    assert_int_equal(pw_cache_seed(private, s->dir, &copied, &diag), PW_OK);
    assert_int_equal(copied, 1);
}

static bool user_has(scene *s, int shape)
{
    char path[256], own[256];
    const char *name;

    scene_path(s, shape, ".so", path);
    name = strrchr(path, '/');
    snprintf(own, sizeof own, "%s/own/v1%s", s->base, name);
    return scene_exists(own);
}

static void let_others_in(scene *s)
{
    assert_int_equal(chmod(s->base, 01777), 0);
}

static bool become_nobody(void)
{
    return geteuid() || (!setgid(NOBODY) && !setuid(NOBODY));
}

static bool used_by_another_user(void *arg)
{
    scene *s = arg;
    pw_cache *cache;
    pw_kernel *seeded, *other;

    CHILD_CHECK(become_nobody());
    cache = cache_of_both(s);
    CHILD_CHECK(cache);
    scene_listen();
    seeded = scene_get(s, cache, 0);
    other = scene_get(s, cache, 1);
    CHILD_CHECK(scene_works(seeded) && seeded->origin == PW_ORIGIN_DISK);
    CHILD_CHECK(scene_works(other) && other->origin == PW_ORIGIN_COMPILED);
    CHILD_CHECK(!*scene_heard());
    /* What is for all users is not copied, and what is compiled goes to the user's own. */
    CHILD_CHECK(!user_has(s, 0) && user_has(s, 1));
    CHILD_CHECK(scene_count(s, ".so") == 1);
    pw_cache_destroy(cache);
    cache = cache_of_both(s);
    CHILD_CHECK(scene_get(s, cache, 1)->origin == PW_ORIGIN_DISK);
    pw_cache_destroy(cache);
    return true;
}

static void root_owned_is_used(void **state)
{
    scene *s = *state;
    struct stat st;
    char path[256];
    mode_t before = umask(077);

    seed(s);
    umask(before);
    assert_int_equal(stat(s->dir, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0755);
    scene_path(s, 0, ".so", path);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0644);
    let_others_in(s);
    assert_true(scene_child(used_by_another_user, s));
}

/* The directory is refused with one warning that has `reason` in it; the user's own is used and written. */
static bool refuses(scene *s, const char *reason)
{
    pw_cache *cache = cache_of_both(s);
    const char *heard;
    pw_kernel *kernel;

    CHILD_CHECK(cache);
    scene_listen();
    kernel = scene_get(s, cache, 0);
    CHILD_CHECK(scene_works(kernel) && kernel->origin == PW_ORIGIN_COMPILED);
    heard = scene_heard();
    if (scene_times(heard, "\n") != 1 || !strstr(heard, reason)) {
        fprintf(stderr, "expected one line with '%s', heard: %s\n", reason, heard);
        return false;
    }
    CHILD_CHECK(user_has(s, 0));
    pw_cache_destroy(cache);
    return true;
}

static void another_users_is_refused(void **state)
{
    scene *s = *state;
    char version[256], path[256];

    if (geteuid())
        skip();
    seed(s);
    assert_int_equal(chown(s->dir, NOBODY, NOBODY), 0);
    assert_true(refuses(s, "the cache for all users is not used"));
    assert_int_equal(chown(s->dir, 0, 0), 0);
    scene_path(s, 0, ".so", path);
    assert_int_equal(chown(path, NOBODY, NOBODY), 0);
    snprintf(version, sizeof version, "rm -rf %s/own", s->base);
    assert_int_equal(system(version), 0);
    assert_true(refuses(s, "owned by user 65534"));
    assert_true(scene_exists(path));
}

static void writable_one_is_refused(void **state)
{
    scene *s = *state;

    seed(s);
    assert_int_equal(chmod(s->dir, 0777), 0);
    assert_true(refuses(s, "others may write"));
}

/* It is reported and compiled anew for the user; only its owner can put it right. */
static void damaged_entry_stays(void **state)
{
    scene *s = *state;
    char path[256];

    seed(s);
    scene_path(s, 0, ".so", path);
    assert_int_equal(truncate(path, 1000), 0);
    assert_true(refuses(s, "refused"));
    assert_true(scene_exists(path));
}

/* A user's own directory is as private as before. */
static bool as_own_directory(void *arg)
{
    scene *s = arg;
    pw_cache *cache;
    const char *heard;

    CHILD_CHECK(become_nobody());
    cache = scene_cache(s, 0);
    scene_listen();
    CHILD_CHECK(scene_get(s, cache, 0)->origin == PW_ORIGIN_COMPILED);
    heard = scene_heard();
    CHILD_CHECK(strstr(heard, "owned by user 0 (PACKWRIGHT_SYSTEM_CACHE takes such a directory)"));
    pw_cache_destroy(cache);
    return true;
}

static void roots_is_no_users_own(void **state)
{
    scene *s = *state;

    if (geteuid())
        skip();
    seed(s);
    let_others_in(s);
    assert_true(scene_child(as_own_directory, s));
}

static void absent_is_silent(void **state)
{
    scene *s = *state;
    pw_cache *cache = cache_of_both(s);

    scene_listen();
    assert_true(scene_works(scene_get(s, cache, 0)));
    assert_string_equal(scene_heard(), "");
    assert_false(scene_exists(s->dir));
    pw_cache_destroy(cache);
}

/* What is there is not copied again; a damaged copy is replaced; entries that a run would refuse are not copied. */
static void seeding_again(void **state)
{
    scene *s = *state;
    char private[128], path[256], target[256];
    int64_t copied = -1;
    pw_diag diag = {0};

    seed(s);
    snprintf(private, sizeof private, "%s/private", s->base);
    assert_int_equal(pw_cache_seed(private, s->dir, &copied, &diag), PW_OK);
    assert_int_equal(copied, 0);
    scene_path(s, 0, ".so", target);
    assert_int_equal(truncate(target, 1000), 0);
    assert_int_equal(pw_cache_seed(private, s->dir, &copied, &diag), PW_OK);
    assert_int_equal(copied, 1);
    assert_int_equal(unlink(target), 0);
    snprintf(path, sizeof path, "%s/v1%s", private, strrchr(target, '/'));
    assert_int_equal(chmod(path, 0666), 0);
    assert_int_equal(pw_cache_seed(private, s->dir, &copied, &diag), PW_OK);
    assert_int_equal(copied, 0);
    snprintf(path, sizeof path, "%s/nowhere", s->base);
    assert_int_equal(pw_cache_seed(path, s->dir, &copied, &diag), PW_ERR_NOT_FOUND);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, scene_setup, scene_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(root_owned_is_used),  TEST(another_users_is_refused), TEST(writable_one_is_refused),
        TEST(damaged_entry_stays), TEST(roots_is_no_users_own),    TEST(absent_is_silent),
        TEST(seeding_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
