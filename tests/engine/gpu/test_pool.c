/*
 * What the pool of a GPU keeps: blocks of the sizes that are used now, of which few are freed at once.
 * By the stand-in for the driver; no block is touched, so the gigabytes are addresses only.
 *
 * usage: test_runtime_gpu_pool <driver>
 */
#include "runtime/engine/gpu/place.h"
#include "runtime/engine/gpu/pool.h"
#include "runtime/engine/gpu/transfer.h"
#include "runtime/exchange/segment.h"
#include "tests/mpi/gpu/fake.h"
#include "tests/mpi/gpu/memory.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { WINDOW = 64, SHORT = 64 << 10, LONG_USE = 10000 };
static const int64_t mib = 1 << 20;

static const char *driver;
static pw_gpu *gpu;
static long (*calls)(const char *);

static int start(void **state)
{
    (void)state;
    if (!gpu_start(driver))
        return 1;
    calls = (long (*)(const char *))gpu_symbol("fake_calls");
    gpu = pw_gpu_place_of(gpu_memory_make(GPU_DEVICE, SHORT).at).gpu;
    pw_segment_open();
    return !gpu;
}

/* Uses memory as a window of messages does: all blocks at once. */
static void use(pw_gpu_memory memory, int n, int64_t bytes)
{
    pw_gpu_block *blocks[WINDOW];

    for (int i = 0; i < n; i++)
        assert_int_equal(pw_gpu_take(gpu, memory, bytes, &blocks[i]), PW_OK);
    for (int i = 0; i < n; i++)
        pw_gpu_give(gpu, blocks[i]);
}

static long made(void)
{
    return calls("cuMemHostRegister_v2") + calls("cuMemHostAlloc");
}

static long freed(void)
{
    return calls("cuMemHostUnregister") + calls("cuMemFreeHost");
}

static void check_windows(pw_gpu_memory memory)
{
    for (int64_t bytes = 4 * mib; bytes <= 16 * mib; bytes *= 2) {
        long before;

        use(memory, WINDOW, bytes);
        before = made();
        for (int i = 0; i < 3; i++)
            use(memory, WINDOW, bytes);
        assert_int_equal(made(), before);
    }
}

static void windows_of_growing_messages_allocate_once(void **state)
{
    (void)state;
    check_windows(PW_GPU_PINNED_MEMORY);
    check_windows(PW_GPU_OUTBOUND_MEMORY);
}

/* 1 GiB in 64 blocks lies idle, and a window of short messages follows. */
static void what_is_no_longer_used_goes(void **state)
{
    long before = freed();

    (void)state;
    for (int i = 0; i < LONG_USE; i++)
        use(PW_GPU_PINNED_MEMORY, 1, SHORT);
    assert_true(freed() - before >= WINDOW);
}

/* 2 GiB lie idle, and more come. Few blocks are freed at a time, since the driver may wait for the GPU in each. */
static void few_are_freed_at_once(void **state)
{
    pw_gpu_block *block;
    long before;

    (void)state;
    use(PW_GPU_PINNED_MEMORY, WINDOW, 32 * mib);
    assert_int_equal(pw_gpu_take(gpu, PW_GPU_PINNED_MEMORY, 512 * mib, &block), PW_OK);
    before = freed();
    pw_gpu_give(gpu, block);
    assert_in_range(freed() - before, 1, 4);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(windows_of_growing_messages_allocate_once),
                                       cmocka_unit_test(what_is_no_longer_used_goes),
                                       cmocka_unit_test(few_are_freed_at_once)};

    driver = argc > 1 ? argv[1] : NULL;
    return cmocka_run_group_tests(tests, start, NULL);
}
