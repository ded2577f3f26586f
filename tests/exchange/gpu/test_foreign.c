/*
 * Messages in other processes' memory, unpacked by the GPU, and the memory that they are sent from: by the stand-in for
 * the driver. The process is its own peer: it maps its segment as others would.
 *
 * usage: test_runtime_foreign <driver>
 */
#include "runtime/engine/gpu/place.h"
#include "runtime/exchange/gpu/foreign.h"
#include "runtime/exchange/gpu/opened.h"
#include "runtime/exchange/segment.h"
#include "tests/mpi/gpu/fake.h"
#include "tests/mpi/gpu/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { BYTES = 4096, MANY = 300, KEPT = 256, REFUSALS = 4 };
static const size_t large = (size_t)256 << 20;

static const char *driver;
static gpu_memory target;
static pw_gpu *gpu;
static void (*make_fail)(const char *, int, int);
static long (*calls)(const char *);

static int start(void **state)
{
    (void)state;
    if (!gpu_start(driver))
        return 1;
    make_fail = (void (*)(const char *, int, int))gpu_symbol("fake_fail");
    calls = (long (*)(const char *))gpu_symbol("fake_calls");
    target = gpu_memory_make(GPU_DEVICE, BYTES);
    gpu = pw_gpu_place_of(target.at).gpu;
    pw_segment_open();
    return !gpu;
}

static unsigned char *a_block(size_t bytes, int seed)
{
    unsigned char *block = pw_segment_take(bytes);

    assert_non_null(block);
    for (int i = 0; i < BYTES; i++)
        block[i] = (unsigned char)(i * 7 + seed);
    return block;
}

/* Unpacks the block's first bytes to the GPU, and checks them. False: the GPU refused. */
static bool unpack(const unsigned char *block)
{
    unsigned char got[BYTES];
    pw_gpu_order order = {
        .buffer = {.place = {.kind = PW_PLACE_DEVICE, .gpu = gpu}, .base = target.at, .count = 1, .bytes = BYTES},
        .bytes = BYTES};
    pw_peer_block b;
    const void *seen = pw_peer_memory(getpid(), block, BYTES, &b);
    bool done;

    memset(got, 0, sizeof got);
    gpu_write(&target, 0, got, sizeof got);
    assert_non_null(seen);
    assert_ptr_not_equal(seen, block);
    assert_ptr_equal(b.base, seen);
    done = pw_gpu_foreign_unpack(&order, seen, &b, NULL);
    gpu_read(&target, 0, got, sizeof got);
    if (done)
        assert_memory_equal(got, block, sizeof got);
    return done;
}

/* ---- blocks of others -------------------------------------------------------------------------------------------- */

static long others; /* registrations of what are no blocks of others */

static long blocks_registered(void)
{
    return calls("cuMemHostRegister_v2") - calls("cuMemHostUnregister") - others;
}

static void a_block_is_registered_once(void **state)
{
    unsigned char *block = a_block(BYTES, 1);
    long registered;

    (void)state;
    assert_true(unpack(block));
    others = blocks_registered() - 1;
    registered = calls("cuMemHostRegister_v2");
    block[5] ^= 255;
    assert_true(unpack(block));
    assert_int_equal(calls("cuMemHostRegister_v2"), registered);
    pw_segment_give(block);
}

static void a_block_with_other_pages_is_registered_anew(void **state)
{
    unsigned char *block = a_block(BYTES, 2), *again;
    long before, registered;

    (void)state;
    assert_true(unpack(block));
    before = blocks_registered();
    registered = calls("cuMemHostRegister_v2");
    pw_segment_give(block);
    again = a_block(BYTES, 3);
    assert_ptr_equal(again, block);
    assert_true(unpack(again));
    assert_int_equal(calls("cuMemHostRegister_v2"), registered + 1);
    assert_int_equal(blocks_registered(), before);
    pw_segment_give(again);
}

static void the_least_lately_used_give_way(void **state)
{
    static unsigned char *many[MANY];
    long before;

    (void)state;
    for (int i = 0; i < MANY; i++) {
        many[i] = a_block(BYTES, i);
        assert_true(unpack(many[i]));
    }
    assert_int_equal(blocks_registered(), KEPT);
    before = calls("cuMemHostRegister_v2");
    assert_true(unpack(many[MANY - 1]));
    assert_int_equal(calls("cuMemHostRegister_v2"), before);
    assert_true(unpack(many[0]));
    assert_int_equal(calls("cuMemHostRegister_v2"), before + 1);
    for (int i = 0; i < MANY; i++)
        pw_segment_give(many[i]);
}

static void no_more_bytes_are_registered_than_are_allowed(void **state)
{
    enum { ALLOWED = 8 };
    unsigned char *many[ALLOWED + 1];
    long before;

    (void)state;
    for (int i = 0; i <= ALLOWED; i++) {
        many[i] = a_block(large, i);
        assert_true(unpack(many[i]));
    }
    before = calls("cuMemHostRegister_v2");
    assert_true(unpack(many[ALLOWED]));
    assert_int_equal(calls("cuMemHostRegister_v2"), before);
    assert_true(unpack(many[0]));
    assert_int_equal(calls("cuMemHostRegister_v2"), before + 1);
    assert_true(blocks_registered() <= ALLOWED);
    for (int i = 0; i <= ALLOWED; i++)
        pw_segment_give(many[i]);
}

/* A block that was registered in a context that has ended is no longer registered with the driver. */
static void a_context_takes_its_blocks_along(void **state)
{
    unsigned char *block = a_block(BYTES, 4);
    long before;

    (void)state;
    assert_true(unpack(block));
    before = calls("cuMemHostUnregister");
    pw_gpu_opened_close(gpu, true);
    assert_true(calls("cuMemHostUnregister") > before);
    assert_int_equal(blocks_registered(), 0);
    assert_true(unpack(block));
    pw_segment_give(block);
}

/* A context is current, and other pinned memory is found. This test is the last, since the driver is not asked again.
 */
static void a_driver_that_refuses_is_left_alone(void **state)
{
    unsigned char *block = a_block(BYTES, 5), *other = a_block(BYTES, 6);
    long before;

    (void)state;
    assert_true(unpack(block));
    make_fail("cuMemHostRegister_v2", 0, FAKE_INVALID);
    before = calls("cuMemHostRegister_v2");
    assert_true(unpack(block)); /* known */
    for (int i = 0; i < 2 * REFUSALS; i++)
        assert_false(unpack(other));
    assert_int_equal(calls("cuMemHostRegister_v2"), before + REFUSALS);
    make_fail("cuMemHostRegister_v2", 0, 0);
    pw_segment_give(block);
    pw_segment_give(other);
}

/* ---- memory of messages that leave ------------------------------------------------------------------------------- */

static void pinned_memory_of_messages_is_in_the_segment(void **state)
{
    pw_gpu_block *block, *again;
    long registered, unregistered;
    pw_peer_block b;

    (void)state;
    assert_int_equal(pw_gpu_take(gpu, PW_GPU_OUTBOUND_MEMORY, BYTES, &block), PW_OK);
    assert_true(block->shared);
    assert_non_null(pw_peer_memory(getpid(), block->host, BYTES, &b));
    registered = calls("cuMemHostRegister_v2");
    pw_gpu_give(gpu, block);
    assert_int_equal(pw_gpu_take(gpu, PW_GPU_OUTBOUND_MEMORY, BYTES, &again), PW_OK);
    assert_ptr_equal(again, block);
    assert_int_equal(calls("cuMemHostRegister_v2"), registered);
    pw_gpu_give(gpu, again);
    unregistered = calls("cuMemHostUnregister");
    pw_gpu_close();
    assert_true(calls("cuMemHostUnregister") > unregistered);
    gpu = pw_gpu_place_of(target.at).gpu;
    assert_non_null(gpu);
}

static void where_registering_is_refused_the_driver_allocates(void **state)
{
    pw_gpu_block *block;
    pw_peer_block b;

    (void)state;
    make_fail("cuMemHostRegister_v2", 0, FAKE_NO_MEMORY);
    assert_int_equal(pw_gpu_take(gpu, PW_GPU_OUTBOUND_MEMORY, 16 * BYTES, &block), PW_OK);
    assert_false(block->shared);
    assert_non_null(block->host);
    assert_null(pw_peer_memory(getpid(), block->host, 1, &b));
    pw_gpu_give(gpu, block);
    make_fail("cuMemHostRegister_v2", 0, 0);
}

/* ---- what the sender says of them -------------------------------------------------------------------------------- */

static void the_length_of_a_message_goes_with_its_block(void **state)
{
    unsigned char *block = a_block(4 * BYTES, 7);
    pw_peer_block b;

    (void)state;
    assert_non_null(pw_peer_memory(getpid(), block + 5, 1, &b));
    assert_int_equal(b.message, 0);
    assert_int_equal(b.bytes, 4 * BYTES);
    pw_segment_note(block, 3 * BYTES, PW_OFFER_BLOCK, false);
    pw_segment_note(block + BYTES, BYTES, PW_OFFER_BLOCK, false); /* that is not the beginning of the block */
    assert_non_null(pw_peer_memory(getpid(), block + 3 * BYTES, 1, &b));
    assert_int_equal(b.message, 3 * BYTES);
    pw_segment_give(block);
    assert_non_null(pw_peer_memory(getpid(), block, 1, &b));
    assert_int_equal(b.message, 0);
    assert_null(pw_peer_memory(getpid(), &b, 1, &b));
    block = a_block(BYTES, 8); /* short messages may come without being recorded */
    pw_segment_note(block, BYTES, PW_OFFER_BLOCK, false);
    assert_non_null(pw_peer_memory(getpid(), block, 1, &b));
    assert_int_equal(b.message, 0);
    pw_segment_give(block);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(pinned_memory_of_messages_is_in_the_segment),
                                       cmocka_unit_test(where_registering_is_refused_the_driver_allocates),
                                       cmocka_unit_test(the_length_of_a_message_goes_with_its_block),
                                       cmocka_unit_test(a_block_is_registered_once),
                                       cmocka_unit_test(a_block_with_other_pages_is_registered_anew),
                                       cmocka_unit_test(the_least_lately_used_give_way),
                                       cmocka_unit_test(no_more_bytes_are_registered_than_are_allowed),
                                       cmocka_unit_test(a_context_takes_its_blocks_along),
                                       cmocka_unit_test(a_driver_that_refuses_is_left_alone)};

    driver = argc > 1 ? argv[1] : NULL;
    return cmocka_run_group_tests(tests, start, NULL);
}
