/* Cells of runtime/engine/memory/pool: no cell is given out twice, and a steady state allocates nothing. */
#include "runtime/engine/memory/pool.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { MANY = 500, THREADS = 4 };

static void reuses(void **unused)
{
    void *cells[MANY];
    int64_t allocations = 0;

    (void)unused;
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < MANY; i++) {
            cells[i] = pw_cell_take();
            assert_non_null(cells[i]);
            assert_int_equal((uintptr_t)cells[i] % _Alignof(max_align_t), 0);
            memset(cells[i], i, PW_CELL_BYTES);
        }
        for (int i = 0; i < MANY; i++)
            for (int k = 0; k < PW_CELL_BYTES; k++)
                assert_int_equal(((unsigned char *)cells[i])[k], i & 0xff);
        for (int i = 0; i < MANY; i++)
            pw_cell_give(cells[i]);
        if (round == 0)
            allocations = pw_pool_usage_now().allocations;
        assert_int_equal(pw_pool_usage_now().allocations, allocations);
    }
    pw_cell_give(NULL);
    pw_pool_trim();
    pw_cell_give(pw_cell_take());
    assert_int_equal(pw_pool_usage_now().allocations, allocations + 1);
    pw_pool_trim();
}

/* Cells go from one thread to another: those given by one are taken by the next. */
static _Atomic(void *) slots[64];
static _Atomic int clashes;

static void *work(void *arg)
{
    int64_t id = (int64_t)(uintptr_t)arg + 1;

    for (int i = 0; i < 50000; i++) {
        int64_t *cell = pw_cell_take(), *other;

        for (int k = 0; k < PW_CELL_BYTES / 8; k++)
            cell[k] = id;
        for (int k = 0; k < PW_CELL_BYTES / 8; k++)
            if (cell[k] != id)
                clashes++;
        other = atomic_exchange(&slots[(i * 7 + id) % 64], cell);
        pw_cell_give(other);
    }
    return NULL;
}

static void passes_between_threads(void **unused)
{
    pthread_t threads[THREADS];

    (void)unused;
    for (uintptr_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(clashes, 0);
    for (int i = 0; i < 64; i++)
        pw_cell_give(atomic_exchange(&slots[i], NULL));
    pw_pool_trim();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(reuses), cmocka_unit_test(passes_between_threads)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
