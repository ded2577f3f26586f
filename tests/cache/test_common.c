/* Entries that processes pass on in memory: one of them looks on disk, and what it finds is verified by all. */
#include "tests/cache/scene.h"

#include "jit-cache/common.h"
#include "jit-cache/entry.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

/* The memory in common: zeroes at the start of each test. */
static unsigned char *memory;

static void *common_memory(void)
{
    return memory;
}

static pw_common *common(void)
{
    return (pw_common *)memory;
}

static int setup(void **state)
{
    memory = mmap(NULL, PW_COMMON_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? -1 : scene_setup(state);
}

static int teardown(void **state)
{
    munmap(memory, PW_COMMON_BYTES);
    return scene_teardown(state);
}

static pw_cache *cache_with_common(scene *s)
{
    pw_cache_config config = {.dir = s->dir,
                              .backend = "fake",
                              .target = pw_target_host(),
                              .load_backend = fake_load_backend,
                              .common = common_memory};
    pw_cache *cache = NULL;

    assert_int_equal(pw_cache_create(&config, &cache), PW_OK);
    return cache;
}

/* What a further process gets of shape 0 without a compiler. */
static pw_kernel_state loaded(scene *s)
{
    pw_cache *cache = cache_with_common(s);
    pw_kernel *kernel = scene_kernel(s, cache, 0);
    pw_kernel_state state;

    pw_cache_get(cache, kernel, PW_WANT_LOAD);
    state = atomic_load(&kernel->state);
    assert_true(state != PW_KERNEL_READY || scene_works(kernel));
    pw_cache_destroy(cache);
    return state;
}

static void remove_entry(scene *s)
{
    char path[256];

    scene_path(s, 0, ".so", path);
    assert_int_equal(unlink(path), 0);
}

static void one_reads_for_all(void **state)
{
    scene *s = *state;

    scene_store(s, 0, false);
    assert_int_equal(loaded(s), PW_KERNEL_READY);
    remove_entry(s);
    assert_int_equal(loaded(s), PW_KERNEL_READY);
}

static void compiled_entries_are_passed_on(void **state)
{
    scene *s = *state;
    pw_cache *cache = cache_with_common(s);

    assert_true(scene_works(scene_get(s, cache, 0)));
    pw_cache_destroy(cache);
    remove_entry(s);
    assert_int_equal(loaded(s), PW_KERNEL_READY);
}

static void absence_is_not_passed_on(void **state)
{
    scene *s = *state;

    assert_int_equal(loaded(s), PW_KERNEL_ABSENT);
    scene_store(s, 0, false);
    assert_int_equal(loaded(s), PW_KERNEL_READY);
}

/* Changes each of the last bytes of the entry in memory, which lie in its footer. */
static void damaged_entries_are_refused(void **state)
{
    scene *s = *state;
    pw_hash key = scene_key(s, 0);
    unsigned char *end;
    size_t size;

    scene_store(s, 0, false);
    assert_int_equal(loaded(s), PW_KERNEL_READY);
    end = memmem(memory, PW_COMMON_BYTES, PW_ENTRY_MAGIC, 8);
    assert_non_null(end);
    for (int i = -100; i < (int)sizeof(pw_entry_footer); i++) {
        void *entry;

        end[i] ^= 1;
        entry = pw_common_get(common(), key, &size);
        assert_null(entry);
        end[i] ^= 1;
    }
    end[-1] ^= 1;
    assert_int_equal(loaded(s), PW_KERNEL_READY); /* from disk */
    remove_entry(s);
    assert_int_equal(loaded(s), PW_KERNEL_ABSENT);
}

static void entries_of_other_keys_are_refused(void **state)
{
    scene *s = *state;
    pw_hash key = scene_key(s, 0), other = scene_key(s, 1);
    pw_blob object = fake_object(key, true);
    void *entry;
    size_t size;

    assert_int_equal(pw_entry_seal(object.data, object.size, key, &entry, &size), PW_OK);
    pw_common_put(common(), other, entry, size);
    assert_null(pw_common_get(common(), other, &size));
    pw_blob_free(&object);
    free(entry);
}

/* Nothing lies before, behind, or over another entry. */
static void memory_may_be_full(void **state)
{
    enum { KEYS = 4000 };

    scene *s = *state;
    int kept = 0;

    for (int i = 0; i < KEYS; i++) {
        pw_hash key = pw_hash_mix(scene_key(s, 0), (pw_hash){(uint64_t)i, 7});
        pw_blob object = fake_object(key, false);
        void *entry, *back;
        size_t size, taken;

        assert_int_equal(pw_entry_seal(object.data, object.size, key, &entry, &size), PW_OK);
        pw_common_put(common(), key, entry, size);
        back = pw_common_get(common(), key, &taken);
        if (back) {
            kept++;
            assert_int_equal(taken, size);
            assert_memory_equal(back, entry, size);
        }
        free(back);
        free(entry);
        pw_blob_free(&object);
    }
    assert_true(kept > 100 && kept < KEYS);
}

static void a_dead_holder_keeps_nobody(void **state)
{
    scene *s = *state;
    pid_t child = fork();

    if (child == 0)
        _exit(pw_common_hold(common(), scene_key(s, 0)));
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_false(pw_common_hold(common(), scene_key(s, 0)));
    scene_store(s, 0, false);
    assert_int_equal(loaded(s), PW_KERNEL_READY);
}

/* The child holds the key until the parent has begun to wait. */
static void others_wait_for_who_looks(void **state)
{
    scene *s = *state;
    pw_hash key = scene_key(s, 0);
    _Atomic int *held = (_Atomic int *)mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pw_blob object = fake_object(key, false);
    void *entry, *taken;
    size_t size, bytes;
    pid_t child;

    assert_int_equal(pw_entry_seal(object.data, object.size, key, &entry, &size), PW_OK);
    child = fork();
    if (child == 0) {
        atomic_store(held, pw_common_hold(common(), key) ? 1 : -1);
        usleep(20000);
        pw_common_put(common(), key, entry, size);
        pw_common_let_go(common(), key);
        _exit(0);
    }
    while (!atomic_load(held))
        usleep(100);
    assert_int_equal(atomic_load(held), 1);
    assert_false(pw_common_hold(common(), key));
    assert_int_equal(waitpid(child, NULL, 0), child);
    taken = pw_common_get(common(), key, &bytes);
    assert_non_null(taken);
    assert_int_equal(bytes, size);
    free(taken);
    free(entry);
    pw_blob_free(&object);
}

static void who_finds_nothing_lets_go(void **state)
{
    scene *s = *state;

    assert_int_equal(loaded(s), PW_KERNEL_ABSENT);
    assert_true(pw_common_hold(common(), scene_key(s, 0)));
    pw_common_let_go(common(), scene_key(s, 0));
    assert_true(pw_common_hold(common(), scene_key(s, 0)));
}

/* Many more keys are asked for than there are slots. */
static void who_only_looks_takes_no_slot(void **state)
{
    enum { ASKED = 100000 };
    scene *s = *state;
    size_t size;

    for (int i = 0; i < ASKED; i++)
        assert_null(pw_common_get(common(), pw_hash_mix(scene_key(s, 0), (pw_hash){(uint64_t)i, 7}), &size));
    assert_true(pw_common_hold(common(), scene_key(s, 0)));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(one_reads_for_all),
        TEST(compiled_entries_are_passed_on),
        TEST(absence_is_not_passed_on),
        TEST(damaged_entries_are_refused),
        TEST(entries_of_other_keys_are_refused),
        TEST(memory_may_be_full),
        TEST(a_dead_holder_keeps_nobody),
        TEST(others_wait_for_who_looks),
        TEST(who_finds_nothing_lets_go),
        TEST(who_only_looks_takes_no_slot),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
