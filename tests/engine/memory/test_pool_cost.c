/* Unit tests of runtime/engine/memory/pool and runtime/engine/model/cost. */
#include "runtime/engine/memory/pool.h"
#include "runtime/engine/model/cost.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* ---- pool ------------------------------------------------------------------------------------------------------- */

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

/* ---- cost -------------------------------------------------------------------------------------------------------- */

/* What for_all is at. */
static struct {
    bool open_mpi;
    pw_cost_cores cores;
} now;

/* Calls fn for each machine and MPI, and each kind of call that moves messages. */
static void for_all(void (*fn)(pw_call_kind kind))
{
    for (int way = 0; way < 4; way++) {
        now.open_mpi = way & 1;
        now.cores = way & 2 ? PW_COST_ZEN : PW_COST_MESH;
        pw_cost_start(now.open_mpi, now.cores);
        for (int kind = 0; kind < PW_CALL_KINDS; kind++)
            fn((pw_call_kind)kind);
    }
    pw_cost_start(false, PW_COST_MESH);
}

static bool is_packed_so(pw_call_kind kind, int64_t bytes, int64_t block, pw_cost_way way)
{
    return pw_cost_packed(kind, bytes, bytes / block, way) < pw_cost_native(kind, bytes, bytes / block);
}

static bool is_packed(pw_call_kind kind, int64_t bytes, int64_t block)
{
    return is_packed_so(kind, bytes, block, PW_COST_COPIED);
}

/* One-sided and I/O calls ask only for messages that are worth packing (one_sided/rma_cost.c, io/io_cost.c). */
static bool is_settled(pw_call_kind kind)
{
    return kind == PW_CALL_ONE_SIDED || kind == PW_CALL_IO;
}

/* Checks what the model must say whatever its constants: many tiny blocks are packed, few long ones are left to MPI. */
static void decide_extremes(pw_call_kind kind)
{
    for (int64_t bytes = 32 << 10; bytes <= 64 << 20; bytes *= 2)
        assert_true(is_packed(kind, bytes, 4));
    for (int64_t bytes = 16 << 10; bytes <= 1 << 20; bytes *= 2)
        assert_true(is_packed(kind, bytes, bytes / 2) == is_settled(kind));
    assert_true(is_packed(kind, 1 << 26, 1 << 25) == is_settled(kind));
}

static void extremes_are_decided(void **state)
{
    (void)state;
    for_all(decide_extremes);
}

/* Checks that from 32 KiB on, if messages with blocks of some length are packed, so are those with shorter blocks. */
static void decide_once(pw_call_kind kind)
{
    for (int64_t bytes = 32 << 10; bytes <= 64 << 20; bytes *= 2)
        for (int64_t block = 8; block < 8192; block *= 2)
            assert_true(is_packed(kind, bytes, block) || !is_packed(kind, bytes, 2 * block));
}

static void blocks_cross_once(void **state)
{
    (void)state;
    for_all(decide_once);
}

/* Checks that messages which MPI need not copy are packed at least where they would be if it copied them. Longer
 * messages between cores that share a cache are an exception, which on Xeons begins sooner with Open MPI. */
static void widen(pw_call_kind kind)
{
    int64_t most = now.open_mpi && now.cores == PW_COST_MESH ? 32 << 10 : 256 << 10;

    for (int64_t bytes = 64; bytes <= 256 << 10; bytes *= 2)
        for (int64_t block = 4; block <= bytes && block <= 8192; block *= 2) {
            assert_true(bytes > most || !is_packed(kind, bytes, block) ||
                        is_packed_so(kind, bytes, block, PW_COST_SHARED));
            assert_true(!is_packed_so(kind, bytes, block, PW_COST_SHARED) ||
                        is_packed_so(kind, bytes, block, PW_COST_SHARED_APART));
        }
}

static void sharing_makes_packing_cheaper(void **state)
{
    (void)state;
    for_all(widen);
    pw_cost_start(false, PW_COST_ZEN);
    assert_false(is_packed(PW_CALL_BLOCKING, 64 << 10, 256));
    assert_true(is_packed_so(PW_CALL_BLOCKING, 64 << 10, 256, PW_COST_SHARED));
    pw_cost_start(true, PW_COST_ZEN);
    assert_true(is_packed_so(PW_CALL_BLOCKING, 1 << 20, 64, PW_COST_SHARED));
    assert_false(is_packed_so(PW_CALL_BLOCKING, 1 << 20, 8, PW_COST_SHARED)); /* of less than what pays */
    assert_true(is_packed_so(PW_CALL_BLOCKING, 1 << 20, 8, PW_COST_SHARED_APART));
    /* Where both ranks wait for memory, the pipeline in which they work at the same time is faster. */
    pw_cost_start(true, PW_COST_MESH);
    assert_false(is_packed_so(PW_CALL_BLOCKING, 1 << 20, 64, PW_COST_SHARED));
    assert_true(is_packed_so(PW_CALL_NONBLOCKING, 128 << 10, 64, PW_COST_SHARED));
    pw_cost_start(false, PW_COST_MESH);
}

/* A block for a neighbour is a message of its own; a block of an Alltoall is not. */
static void neighbours_are_not_all(void **state)
{
    (void)state;
    assert_true(is_packed(PW_CALL_COLLECTIVE, 1024, 256));
    assert_false(is_packed(PW_CALL_NEIGHBOUR, 1024, 256));
    assert_true(is_packed_so(PW_CALL_NEIGHBOUR, 256 << 10, 1024, PW_COST_SHARED));
}

/* Each of many blocks counts as one of two blocks would. */
static void blocks_cost_by_their_length(void **state)
{
    (void)state;
    assert_int_equal(pw_cost_bytes(PW_CALL_COLLECTIVE, 16384, 1), 16384);
    assert_int_equal(pw_cost_bytes(PW_CALL_COLLECTIVE, 16384, 2), 16384);
    assert_int_equal(pw_cost_bytes(PW_CALL_COLLECTIVE, 16384, 64), 512);
    assert_int_equal(pw_cost_bytes(PW_CALL_COLLECTIVE, 3, 64), 1);
    assert_int_equal(pw_cost_bytes(PW_CALL_NEIGHBOUR, 16384, 1), 16384);
    assert_int_equal(pw_cost_bytes(PW_CALL_NEIGHBOUR, 16384, 4), 4096);
    assert_int_equal(pw_cost_bytes(PW_CALL_NEIGHBOUR, INT64_MAX, 2), INT64_MAX / 2);
}

static void cores_are_known_by_name(void **state)
{
    (void)state;
    assert_int_equal(pw_cost_cores_of("znver4"), PW_COST_ZEN);
    assert_int_equal(pw_cost_cores_of("sapphirerapids"), PW_COST_MESH);
    assert_int_equal(pw_cost_cores_of("x86-64-v3"), PW_COST_MESH);
    assert_int_equal(pw_cost_cores_of(""), PW_COST_MESH);
}

static void grow(pw_call_kind kind)
{
    for (int64_t bytes = 64; bytes < 1 << 30; bytes *= 2) {
        assert_true(pw_cost_native(kind, bytes, bytes / 8) < pw_cost_native(kind, 2 * bytes, bytes / 4));
        assert_true(pw_cost_packed(kind, bytes, bytes / 8, PW_COST_COPIED) <
                    pw_cost_packed(kind, 2 * bytes, bytes / 4, PW_COST_COPIED));
    }
}

static void cost_grows(void **state)
{
    (void)state;
    for_all(grow);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steady_state_allocates_nothing),
        cmocka_unit_test(threads_give_back_what_they_keep),
        cmocka_unit_test(idle_memory_is_bounded),
        cmocka_unit_test(other_sizes_find_room),
        cmocka_unit_test(too_much_is_refused),
        cmocka_unit_test(threads_share),
        cmocka_unit_test(extremes_are_decided),
        cmocka_unit_test(blocks_cross_once),
        cmocka_unit_test(sharing_makes_packing_cheaper),
        cmocka_unit_test(neighbours_are_not_all),
        cmocka_unit_test(blocks_cost_by_their_length),
        cmocka_unit_test(cores_are_known_by_name),
        cmocka_unit_test(cost_grows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
