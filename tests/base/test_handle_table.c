/* Unit test of base/handle_table: against a plain array, and readers beside writers. */
#include "base/handle_table.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

enum { KEYS = 3000 };

static uint64_t next_random(uint64_t *x)
{
    *x ^= *x << 13;
    *x ^= *x >> 7;
    *x ^= *x << 17;
    return *x;
}

/* Handles as MPIs make them: small steps from a tagged base, or addresses; some collide. */
static uint64_t key_of(int i)
{
    return i % 2 ? UINT64_C(0x8c000000) + (uint64_t)i : UINT64_C(0x55d0c0de0000) + (uint64_t)i * 4096 * 256;
}

static void count(void *arg, uint64_t key, void *value)
{
    assert_true(key && value);
    ++*(size_t *)arg;
}

static size_t size_of(pw_handle_table *table)
{
    size_t n = 0;

    pw_handle_table_each(table, count, &n);
    return n;
}

static void agrees_with_an_array(void **state)
{
    static char values[KEYS];
    void *expected[KEYS] = {NULL};
    static pw_handle_table own = PW_HANDLE_TABLE;
    pw_handle_table *table = &own;
    uint64_t x = 42;
    size_t n = 0;

    (void)state;
    for (int step = 0; step < 200000; step++) {
        int i = (int)(next_random(&x) % KEYS);

        if (next_random(&x) % 2) {
            assert_int_equal(pw_handle_table_insert(table, key_of(i), &values[step % KEYS]), PW_OK);
            n += !expected[i];
            expected[i] = &values[step % KEYS];
        } else {
            assert_ptr_equal(pw_handle_table_remove(table, key_of(i)), expected[i]);
            n -= expected[i] != NULL;
            expected[i] = NULL;
        }
        i = (int)(next_random(&x) % KEYS);
        assert_ptr_equal(pw_handle_table_find(table, key_of(i)), expected[i]);
    }
    assert_int_equal(size_of(table), n);
    for (int i = 0; i < KEYS; i++)
        assert_ptr_equal(pw_handle_table_find(table, key_of(i)), expected[i]);
    pw_handle_table_clear(table);
    assert_int_equal(size_of(table), 0);
    for (int i = 0; i < KEYS; i++)
        assert_null(pw_handle_table_find(table, key_of(i)));
}

static void refuses_nothing_keys(void **state)
{
    static pw_handle_table own = PW_HANDLE_TABLE;
    pw_handle_table *table = &own;
    int value;

    (void)state;
    assert_int_equal(pw_handle_table_insert(table, 0, &value), PW_ERR_INVALID);
    assert_int_equal(pw_handle_table_insert(table, 7, NULL), PW_ERR_INVALID);
    assert_null(pw_handle_table_find(table, 0));
    assert_null(pw_handle_table_remove(table, 0));
}

/* The front is never out of date, and never has key 0. */
static void what_is_in_front_is_right(void **state)
{
    static char values[KEYS];
    static pw_handle_table own = PW_HANDLE_TABLE;
    pw_handle_table *table = &own;
    int seen = 0;

    (void)state;
    assert_null(pw_handle_table_peek(table, 0));
    for (int i = 0; i < KEYS; i++)
        assert_int_equal(pw_handle_table_insert(table, key_of(i), &values[i]), PW_OK);
    for (int i = 0; i < KEYS; i++) {
        void *found = pw_handle_table_peek(table, key_of(i));

        assert_true(!found || found == &values[i]);
        seen += found != NULL;
    }
    assert_true(seen > 200);
    for (int i = 0; i < KEYS; i += 2) {
        assert_int_equal(pw_handle_table_insert(table, key_of(i), &values[KEYS - 1]), PW_OK);
        assert_true(pw_handle_table_peek(table, key_of(i)) != &values[i]);
        pw_handle_table_remove(table, key_of(i));
        assert_null(pw_handle_table_peek(table, key_of(i)));
    }
    pw_handle_table_clear(table);
    for (int i = 0; i < KEYS; i++)
        assert_null(pw_handle_table_peek(table, key_of(i)));
    assert_null(pw_handle_table_peek(table, 0));
}

/* Adding, changing and leaving does the same wherever a key lies, and leaves other keys alone. */
static void keys_are_added_swapped_and_left(void **state)
{
    static char values[KEYS], others[KEYS];
    static pw_handle_table own = PW_HANDLE_TABLE;
    pw_handle_table *table = &own;

    (void)state;
    for (int i = 0; i < KEYS; i++) {
        assert_true(pw_handle_table_add(table, key_of(i), &values[i]));
        assert_false(pw_handle_table_add(table, key_of(i), &others[i]));
    }
    for (int i = 0; i < KEYS; i++) {
        pw_handle_table_swap(table, key_of(i), &others[i], &table);
        assert_ptr_equal(pw_handle_table_find(table, key_of(i)), &values[i]);
        pw_handle_table_swap(table, key_of(i), &values[i], &others[i]);
        assert_ptr_equal(pw_handle_table_find(table, key_of(i)), &others[i]);
    }
    for (int i = 0; i < KEYS; i += 2) {
        void *seen = pw_handle_table_peek(table, key_of(i));

        assert_ptr_equal(pw_handle_table_leave(table, key_of(i)), seen);
        assert_ptr_equal(pw_handle_table_find(table, key_of(i)), seen ? NULL : &others[i]);
        assert_null(pw_handle_table_leave(table, key_of(i)));
    }
    for (int i = 1; i < KEYS; i += 2)
        assert_ptr_equal(pw_handle_table_find(table, key_of(i)), &others[i]);
    pw_handle_table_swap(table, key_of(KEYS), &others[0], &values[0]);
    assert_null(pw_handle_table_find(table, key_of(KEYS)));
}

/* Returns another key whose slot in front is that of `key`. */
static uint64_t other_key_of_slot(pw_handle_table *table, uint64_t key)
{
    uint64_t other = key + 1;

    while (pw_handle_front(table, other) != pw_handle_front(table, key))
        other++;
    return other;
}

/* ---- readers beside writers ------------------------------------------------------------------------------------ */

enum { OWN = 64, THREADS = 4 };

typedef struct worker {
    pw_handle_table *table;
    int id;
    long wrong;
} worker;

/* Each thread inserts, finds and removes keys of its own; those of the others shift around it. Keys that stay for the
 * whole test must be found at any time. */
static void *work(void *arg)
{
    worker *w = arg;
    uint64_t x = 99 + (uint64_t)w->id;
    char values[OWN] = {0};
    bool in[OWN] = {false};

    for (int step = 0; step < 60000; step++) {
        int i = (int)(next_random(&x) % OWN);
        uint64_t key = 1 + (uint64_t)i * THREADS + (uint64_t)w->id;

        w->wrong += pw_handle_table_find(w->table, key) != (in[i] ? &values[i] : NULL);
        if (in[i])
            w->wrong += pw_handle_table_remove(w->table, key) != &values[i];
        else
            w->wrong += pw_handle_table_insert(w->table, key, &values[i]) != PW_OK;
        in[i] = !in[i];
        key = 100000 + next_random(&x) % 500;
        w->wrong += pw_handle_table_find(w->table, key) != (void *)(uintptr_t)key;
    }
    for (int i = 0; i < OWN; i++)
        if (in[i])
            pw_handle_table_remove(w->table, 1 + (uint64_t)i * THREADS + (uint64_t)w->id);
    return NULL;
}

static void readers_beside_writers(void **state)
{
    pthread_t threads[THREADS];
    worker workers[THREADS];
    static pw_handle_table own = PW_HANDLE_TABLE;
    pw_handle_table *table = &own;

    (void)state;
    for (uint64_t key = 100000; key < 100500; key++)
        pw_handle_table_insert(table, key, (void *)(uintptr_t)key);
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker){table, i, 0};
        pthread_create(&threads[i], NULL, work, &workers[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(workers[i].wrong, 0);
    }
    assert_int_equal(size_of(table), 500);
}

enum { SHARED = 8 };

/* Each thread has keys of its own that share front slots with those of the others. No key may ever have the value of
 * another thread. */
static void *add_and_remove(void *arg)
{
    worker *w = arg;
    uint64_t x = 7 + (uint64_t)w->id, keys[SHARED], key = 1;
    char own;

    for (int i = 0; i < SHARED * THREADS; i++) {
        if (i % THREADS == w->id)
            keys[i / THREADS] = key;
        key = i % (2 * THREADS) ? other_key_of_slot(w->table, key) : key + 1;
    }
    for (int step = 0; step < 100000; step++) {
        void *found;

        key = keys[next_random(&x) % SHARED];
        found = pw_handle_table_find(w->table, key);
        w->wrong += found && found != &own;
        if (found)
            w->wrong += pw_handle_table_remove(w->table, key) != &own;
        else if (step % 2)
            w->wrong += pw_handle_table_insert(w->table, key, &own) != PW_OK;
        else
            w->wrong += !pw_handle_table_add(w->table, key, &own);
    }
    for (int i = 0; i < SHARED; i++)
        pw_handle_table_remove(w->table, keys[i]);
    return NULL;
}

static void writers_share_slots(void **state)
{
    pthread_t threads[THREADS];
    worker workers[THREADS];
    static pw_handle_table own = PW_HANDLE_TABLE;
    pw_handle_table *table = &own;

    (void)state;
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker){table, i, 0};
        pthread_create(&threads[i], NULL, add_and_remove, &workers[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(workers[i].wrong, 0);
    }
    assert_int_equal(size_of(table), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_an_array),      cmocka_unit_test(refuses_nothing_keys),
        cmocka_unit_test(what_is_in_front_is_right), cmocka_unit_test(keys_are_added_swapped_and_left),
        cmocka_unit_test(readers_beside_writers),    cmocka_unit_test(writers_share_slots),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
