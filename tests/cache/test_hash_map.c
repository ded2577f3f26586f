/* Compares the map with a plain array, with keys that share their home cells. */
#include "jit-cache/hash_map.h"
#include "tests/cache/scene.h"

enum { KEYS = 300 };

static pw_hash key_of(int i)
{
    return (pw_hash){.lo = (uint64_t)(i % 7), .hi = (uint64_t)i};
}

static void agrees_with_an_array(void **state)
{
    static int values[KEYS];
    bool present[KEYS] = {false};
    pw_hash_map map = {0};
    unsigned seed = 7;
    size_t used = 0;

    (void)state;
    assert_null(pw_hash_map_get(&map, key_of(0)));
    pw_hash_map_remove(&map, key_of(0));
    for (int step = 0; step < 20000; step++) {
        int i = (int)((seed = seed * 1103515245u + 12345u) >> 8) % KEYS;
        bool add = (seed >> 4) % 3 != 0;

        if (add)
            assert_int_equal(pw_hash_map_put(&map, key_of(i), &values[i]), PW_OK);
        else
            pw_hash_map_remove(&map, key_of(i));
        used += (size_t)add - (size_t)present[i];
        present[i] = add;
        assert_int_equal(map.used, used);
    }
    for (int i = 0; i < KEYS; i++)
        assert_ptr_equal(pw_hash_map_get(&map, key_of(i)), present[i] ? &values[i] : NULL);
    pw_hash_map_clear(&map);
    assert_null(pw_hash_map_get(&map, key_of(1)));
}

/* Values that the map makes are zeros at first, the same for the same key, and not more than the caller wants. */
static void begins_values(void **state)
{
    pw_hash_map map = {0};
    int *first = pw_hash_map_begin(&map, key_of(1), sizeof *first, 2), *second;

    (void)state;
    assert_non_null(first);
    assert_int_equal(*first, 0);
    second = pw_hash_map_begin(&map, key_of(8), sizeof *second, 2);
    assert_non_null(second);
    assert_ptr_not_equal(second, first);
    assert_null(pw_hash_map_begin(&map, key_of(3), sizeof *first, 2));
    assert_ptr_equal(pw_hash_map_begin(&map, key_of(1), sizeof *first, 2), first);
    assert_int_equal(map.used, 2);
    pw_hash_map_free(&map);
    assert_null(pw_hash_map_get(&map, key_of(1)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(agrees_with_an_array), cmocka_unit_test(begins_values)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
