/* Unit tests of runtime/engine/memory/pool. */
#include "runtime/engine/memory/pool.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void steady_state_allocates_nothing(void **state)
{
    int64_t before;

    (void)state;
    for (int round = 0; round < 3; round++) {
        before = pw_pool_usage_now().allocations;
        for (int i = 0; i < 1000; i++) {
            int64_t sizes[3] = {100 + i % 50, 5000 + i, 3000000 + i};
            void *buffers[3];

            for (int k = 0; k < 3; k++) {
                buffers[k] = pw_pool_take(sizes[k]);
                assert_non_null(buffers[k]);
                assert_int_equal((uintptr_t)buffers[k] % 64, 0);
                memset(buffers[k], 1, 100);
                ((char *)buffers[k])[sizes[k] - 1] = 2;
            }
            for (int k = 0; k < 3; k++)
                pw_pool_give(buffers[k], sizes[k]);
        }
        if (round > 0)
            assert_int_equal(pw_pool_usage_now().allocations, before);
    }
    pw_pool_trim();
    assert_int_equal(pw_pool_usage_now().idle_bytes, 0);
}

/* A program that takes and gives back some buffers in the same order each time finds each at the same address. */
static void buffers_come_in_the_same_order(void **state)
{
    enum { N = 26, BYTES = 5000 };
    void *first[N], *again[N];

    (void)state;
    pw_pool_trim();
    for (int i = 0; i < N; i++)
        first[i] = pw_pool_take(BYTES);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < N; i++)
            pw_pool_give(first[i], BYTES);
        for (int i = 0; i < N; i++)
            again[i] = pw_pool_take(BYTES);
        assert_memory_equal(again, first, sizeof again);
    }
    for (int i = 0; i < N; i++)
        pw_pool_give(first[i], BYTES);
    pw_pool_trim();
}

/* Memory that a thread has kept for itself is there for others when the thread has ended. */
static void *keep_some(void *unused)
{
    void *buffers[8];

    (void)unused;
    for (int i = 0; i < 8; i++)
        buffers[i] = pw_pool_take(100);
    for (int i = 0; i < 8; i++)
        pw_pool_give(buffers[i], 100);
    return NULL;
}

static void threads_give_back_what_they_keep(void **state)
{
    int64_t before = 0;

    (void)state;
    for (int i = 0; i < 20; i++) {
        pthread_t thread;

        assert_int_equal(pthread_create(&thread, NULL, keep_some, NULL), 0);
        pthread_join(thread, NULL);
        if (i == 0)
            before = pw_pool_usage_now().allocations;
    }
    assert_int_equal(pw_pool_usage_now().allocations, before);
    assert_int_equal(pw_pool_usage_now().idle_bytes, 8 * 4096);
    pw_pool_trim();
    assert_int_equal(pw_pool_usage_now().idle_bytes, 0);
}

static void idle_memory_is_bounded(void **state)
{
    enum { N = 12, BIG = 100 << 20 };
    void *buffers[N];

    (void)state;
    for (int i = 0; i < N; i++)
        assert_non_null(buffers[i] = pw_pool_take(BIG));
    for (int i = 0; i < N; i++)
        pw_pool_give(buffers[i], BIG);
    assert_true(pw_pool_usage_now().idle_bytes <= (int64_t)256 << 20);
    pw_pool_trim();
}

/* Idle memory of sizes that were used before makes room for others, wherever it lies. */
static void other_sizes_find_room(void **state)
{
    enum { N = 8, FIRST = 32 << 20, LAST = 128 << 20 };
    void *buffers[N];

    (void)state;
    for (int64_t bytes = FIRST; bytes <= LAST; bytes *= 2) {
        int n = (int)((256 << 20) / bytes);
        int64_t before = 0;

        for (int round = 0; round < 4; round++) {
            if (round == 1)
                before = pw_pool_usage_now().allocations;
            for (int i = 0; i < n; i++)
                assert_non_null(buffers[i] = pw_pool_take_from(bytes == FIRST ? PW_POOL_OUTBOUND : PW_POOL_OWN, bytes));
            for (int i = 0; i < n; i++)
                pw_pool_give_to(bytes == FIRST ? PW_POOL_OUTBOUND : PW_POOL_OWN, buffers[i], bytes);
        }
        assert_int_equal(pw_pool_usage_now().allocations, before);
        assert_true(pw_pool_usage_now().idle_bytes <= (int64_t)256 << 20);
    }
    pw_pool_trim();
    assert_int_equal(pw_pool_usage_now().idle_bytes, 0);
}

static void use(int64_t bytes, int times)
{
    for (int i = 0; i < times; i++) {
        void *buffer = pw_pool_take(bytes);

        assert_non_null(buffer);
        pw_pool_give(buffer, bytes);
    }
}

/* A size that is used now and then keeps its memory; one that is not used any more does not. */
static void old_sizes_are_given_back(void **state)
{
    int64_t before;

    (void)state;
    use(256 << 10, 1);
    before = pw_pool_usage_now().allocations;
    for (int i = 0; i < 20; i++) {
        use(32 << 10, 200);
        use(256 << 10, 1);
    }
    assert_int_equal(pw_pool_usage_now().allocations, before + 1);
    assert_int_equal(pw_pool_usage_now().idle_bytes, (256 + 32) << 10);
    use(32 << 10, 1000);
    assert_int_equal(pw_pool_usage_now().idle_bytes, 32 << 10);
    pw_pool_trim();
}

static void too_much_is_refused(void **state)
{
    (void)state;
    assert_null(pw_pool_take(INT64_MAX));
    assert_null(pw_pool_take(((int64_t)1 << 40) + 1));
    pw_pool_give(NULL, 5);
}

/* Takes and gives buffers: no two threads may hold the same one. */
static void *take_and_give(void *arg)
{
    uintptr_t wrong = 0;

    for (int i = 0; i < 20000; i++) {
        int64_t size = 64 + i % 3 * 5000;
        volatile char *buffer = pw_pool_take(size);

        buffer[0] = buffer[size - 1] = (char)(uintptr_t)arg;
        for (int spin = 0; spin < 20; spin++)
            wrong += buffer[0] != (char)(uintptr_t)arg || buffer[size - 1] != (char)(uintptr_t)arg;
        pw_pool_give((void *)buffer, size);
    }
    return (void *)wrong;
}

static void threads_share(void **state)
{
    pthread_t threads[4];

    (void)state;
    for (uintptr_t i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, take_and_give, (void *)(i + 1));
    for (int i = 0; i < 4; i++) {
        void *wrong;

        pthread_join(threads[i], &wrong);
        assert_null(wrong);
    }
    pw_pool_trim();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steady_state_allocates_nothing),
        cmocka_unit_test(buffers_come_in_the_same_order),
        cmocka_unit_test(threads_give_back_what_they_keep),
        cmocka_unit_test(idle_memory_is_bounded),
        cmocka_unit_test(other_sizes_find_room),
        cmocka_unit_test(old_sizes_are_given_back),
        cmocka_unit_test(too_much_is_refused),
        cmocka_unit_test(threads_share),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
