/* Bad entries: none crashes or is executed, and each is reported once and rebuilt. They are made of an object that
 * traps as soon as it is loaded. */
#include "jit-cache/entry.h"
#include "tests/cache/scene.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Counts all entries, and those that would be refused. */
typedef struct census {
    int entries, bad;
} census;

static bool count_entry(void *arg, const pw_cache_entry *entry)
{
    census *c = arg;

    c->entries++;
    c->bad += entry->status != PW_OK;
    return true;
}

static census take_census(scene *s)
{
    census c = {0};

    assert_int_equal(pw_cache_list(s->dir, count_entry, &c, NULL), PW_OK);
    return c;
}

/* Shape 0's entry is bad: it must be rebuilt, with one report that contains `reason`, and stay good. */
static void expect_rebuilt(scene *s, const char *reason)
{
    int before = fake()->compiles;
    pw_cache *cache = scene_cache(s, 0);
    pw_kernel *kernel;
    const char *heard;

    scene_listen();
    kernel = scene_get(s, cache, 0);
    pw_cache_get(cache, kernel, PW_WANT_COMPILE);
    heard = scene_heard();
    if (scene_times(heard, "refused") != 1 || !strstr(heard, reason))
        fail_msg("expected one report with '%s', heard: %s", reason, heard);
    assert_true(scene_works(kernel));
    assert_int_equal(kernel->origin, PW_ORIGIN_COMPILED);
    assert_int_equal(fake()->compiles, before + 1);
    pw_cache_destroy(cache);

    cache = scene_cache(s, 0);
    scene_listen();
    kernel = scene_get(s, cache, 0);
    heard = scene_heard();
    assert_string_equal(heard, "");
    assert_true(scene_works(kernel));
    assert_int_equal(kernel->origin, PW_ORIGIN_DISK);
    pw_cache_destroy(cache);
    assert_int_equal(take_census(s).bad, 0);
    assert_int_equal(scene_count(s, ".lock") + scene_count(s, ".tmp"), 0);
}

static void good_entry_loads(void **state)
{
    scene *s = *state;
    pw_cache *cache;
    pw_kernel *kernel;

    scene_store(s, 0, false);
    cache = scene_cache(s, 0);
    kernel = scene_kernel(s, cache, 0);
    assert_int_equal(kernel->state, PW_KERNEL_NEW);
    pw_cache_get(cache, kernel, PW_WANT_LOAD);
    assert_true(scene_works(kernel));
    assert_int_equal(kernel->origin, PW_ORIGIN_DISK);
    kernel = scene_kernel(s, cache, 1);
    pw_cache_get(cache, kernel, PW_WANT_LOAD);
    assert_int_equal(kernel->state, PW_KERNEL_ABSENT);
    assert_int_equal(fake()->compiles, 0);
    pw_cache_destroy(cache);
}

static void truncated(void **state)
{
    scene *s = *state;
    char path[256];
    size_t size;
    void *data;
    size_t lengths[6];

    scene_path(s, 0, ".so", path);
    scene_store(s, 0, true);
    data = scene_read(path, &size);
    memcpy(lengths, (size_t[]){0, 1, 63, size / 2, size - sizeof(pw_entry_footer), size - 1}, sizeof lengths);
    for (int i = 0; i < 6; i++) {
        scene_write(path, data, lengths[i]);
        expect_rebuilt(s, lengths[i] < 120 ? "bytes" : "truncated");
    }
    free(data);
}

static void bit_flipped(void **state)
{
    scene *s = *state;
    char path[256];
    size_t size;
    unsigned char *data;

    scene_path(s, 0, ".so", path);
    scene_store(s, 0, true);
    data = scene_read(path, &size);
    for (size_t i = 0; i < size; i += 97) {
        data[i] ^= 0x10;
        scene_write(path, data, size);
        data[i] ^= 0x10;
        expect_rebuilt(s, "refused");
    }
    free(data);
}

/* The footer of a later format, with a correct checksum. */
static void wrong_version(void **state)
{
    scene *s = *state;
    char path[256];
    size_t size;
    unsigned char *data;
    pw_entry_footer footer;
    pw_hash sum;

    scene_path(s, 0, ".so", path);
    scene_store(s, 0, true);
    data = scene_read(path, &size);
    memcpy(&footer, data + size - sizeof footer, sizeof footer);
    footer.version++;
    memcpy(data + size - sizeof footer, &footer, sizeof footer);
    sum = pw_hash_bytes(data, size - 16);
    memcpy(data + size - 16, &sum.lo, 8);
    memcpy(data + size - 8, &sum.hi, 8);
    scene_write(path, data, size);
    free(data);
    expect_rebuilt(s, "format version 2");
}

static void writable_by_others(void **state)
{
    static const mode_t modes[] = {0666, 0620, 0602, 0777};
    scene *s = *state;
    char path[256];

    scene_path(s, 0, ".so", path);
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        scene_store(s, 0, true);
        assert_int_equal(chmod(path, modes[i]), 0);
        expect_rebuilt(s, "others may write to it");
    }
}

static void symbolic_link(void **state)
{
    scene *s = *state;
    char path[256], elsewhere[256];

    scene_path(s, 0, ".so", path);
    snprintf(elsewhere, sizeof elsewhere, "%s/elsewhere.so", s->base);
    scene_store(s, 0, true);
    assert_int_equal(rename(path, elsewhere), 0);
    assert_int_equal(symlink(elsewhere, path), 0);
    expect_rebuilt(s, "symbolic link");
    assert_true(scene_exists(elsewhere));
}

static void dangling_link(void **state)
{
    scene *s = *state;
    char path[256];

    scene_path(s, 0, ".so", path);
    scene_store(s, 1, false);
    assert_int_equal(symlink("/nonexistent/file", path), 0);
    expect_rebuilt(s, "symbolic link");
}

static void fifo(void **state)
{
    scene *s = *state;
    char path[256];

    scene_path(s, 0, ".so", path);
    scene_store(s, 1, false);
    assert_int_equal(mkfifo(path, 0600), 0);
    expect_rebuilt(s, "not a regular file");
}

/* A directory in an entry's place is neither removed nor replaced; the kernel comes from memory. */
static void directory_in_the_way(void **state)
{
    scene *s = *state;
    char path[256];
    pw_cache *cache;
    pw_kernel *kernel;
    const char *heard;

    scene_path(s, 0, ".so", path);
    scene_store(s, 1, false);
    assert_int_equal(mkdir(path, 0700), 0);
    cache = scene_cache(s, 0);
    scene_listen();
    kernel = scene_get(s, cache, 0);
    heard = scene_heard();
    assert_int_equal(scene_times(heard, "kernels are not kept"), 1);
    assert_true(scene_works(kernel));
    pw_cache_destroy(cache);
    assert_int_equal(scene_count(s, ".tmp"), 0);
}

static void foreign_key(void **state)
{
    scene *s = *state;
    char from[256], to[256];

    scene_path(s, 1, ".so", from);
    scene_path(s, 0, ".so", to);
    scene_store(s, 1, true);
    assert_int_equal(rename(from, to), 0);
    expect_rebuilt(s, "another key");
}

static void foreign_owner(void **state)
{
    scene *s = *state;
    char path[256];

    if (geteuid() != 0)
        skip();
    scene_path(s, 0, ".so", path);
    scene_store(s, 0, true);
    assert_int_equal(chown(path, 65534, 65534), 0);
    expect_rebuilt(s, "owned by user 65534");
}

static void wrong_machine(void **state)
{
    scene *s = *state;
    pw_blob object = fake_object(scene_key(s, 0), true);

    ((Elf64_Ehdr *)object.data)->e_machine = EM_S390;
    assert_int_equal(pw_cache_store(s->dir, scene_key(s, 0), &object, NULL), PW_OK);
    pw_blob_free(&object);
    expect_rebuilt(s, "another machine");
}

/* The object loads, but defines the symbols of another key. */
static void wrong_symbols(void **state)
{
    scene *s = *state;
    pw_blob object = fake_object(scene_key(s, 1), false);

    assert_int_equal(pw_cache_store(s->dir, scene_key(s, 0), &object, NULL), PW_OK);
    pw_blob_free(&object);
    expect_rebuilt(s, "does not define");
}

/* A lookup alone refuses, reports and removes the entry, and compiles nothing. */
static void refused_by_load(void **state)
{
    scene *s = *state;
    char path[256];
    pw_cache *cache = scene_cache(s, 0);
    pw_kernel *kernel = scene_kernel(s, cache, 0);

    scene_path(s, 0, ".so", path);
    scene_store(s, 0, true);
    assert_int_equal(chmod(path, 0666), 0);
    scene_listen();
    pw_cache_get(cache, kernel, PW_WANT_LOAD);
    assert_int_equal(scene_times(scene_heard(), "refused"), 1);
    assert_int_equal(kernel->state, PW_KERNEL_ABSENT);
    assert_false(scene_exists(path));
    assert_int_equal(fake()->compiles, 0);
    pw_cache_destroy(cache);
}

static void list_and_clear(void **state)
{
    scene *s = *state;
    char path[256];
    int64_t removed = -1;

    assert_int_equal(take_census(s).entries, 0);
    assert_int_equal(pw_cache_clear(s->dir, &removed, NULL), PW_OK);
    assert_int_equal(removed, 0);
    for (int i = 0; i < 5; i++)
        scene_store(s, i, false);
    scene_path(s, 2, ".so", path);
    assert_int_equal(chmod(path, 0666), 0);
    scene_path(s, 9, ".lock", path);
    scene_write(path, "x 1\n", 4);
    snprintf(path, sizeof path, "%s/v1/README", s->dir);
    scene_write(path, "mine", 4);
    assert_int_equal(take_census(s).entries, 5);
    assert_int_equal(take_census(s).bad, 1);
    assert_int_equal(pw_cache_clear(s->dir, &removed, NULL), PW_OK);
    assert_int_equal(removed, 5);
    assert_int_equal(take_census(s).entries, 0);
    assert_int_equal(scene_count(s, ".lock"), 0);
    assert_true(scene_exists(path));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, scene_setup, scene_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(good_entry_loads),     TEST(truncated),       TEST(bit_flipped),    TEST(wrong_version),
        TEST(writable_by_others),   TEST(symbolic_link),   TEST(dangling_link),  TEST(fifo),
        TEST(directory_in_the_way), TEST(foreign_key),     TEST(foreign_owner),  TEST(wrong_machine),
        TEST(wrong_symbols),        TEST(refused_by_load), TEST(list_and_clear),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
