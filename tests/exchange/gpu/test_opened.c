/*
 * Replicas: those of another process as they are opened here, and our own as they come with blocks. The other process
 * is a child, begun before there is a driver, which gives memory of its GPUs to others until its parent ends.
 *
 * usage: test_runtime_opened <driver>
 */
#include "runtime/engine/gpu/place.h"
#include "runtime/exchange/gpu/exported.h"
#include "runtime/exchange/gpu/foreign.h"
#include "runtime/exchange/gpu/opened.h"
#include "runtime/exchange/gpu/replica.h"
#include "runtime/exchange/segment.h"
#include "tests/mpi/gpu/fake.h"
#include "tests/mpi/gpu/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { BYTES = 4096, MANY = 300, KEPT = 256, AWAY = MANY - 1 /* AWAY is on the other GPU */, BLOCKS = 66 };

static const char *driver;
static pw_segment_exported exported[MANY];
enum { PROCESSES = 5, ALIVE = 1 };
static pw_segment_header segments[PROCESSES]; /* stand for so many processes */
static gpu_memory target;
static pw_gpu *gpu;
static void (*make_fail)(const char *, int, int);
static long (*calls)(const char *);

/* ---- the other process ------------------------------------------------------------------------------------------- */

static unsigned char byte_of(int memory, int at)
{
    return (unsigned char)(memory * 5 + at * 3);
}

static pw_segment_exported export_memory(int i)
{
    pw_segment_exported r = {.number = (uint64_t)i + 1};
    unsigned char bytes[BYTES];
    gpu_memory m;

    gpu_set_current(gpu_primary(i == AWAY));
    m = gpu_memory_make(GPU_DEVICE, BYTES);
    for (int k = 0; k < BYTES; k++)
        bytes[k] = byte_of(i, k);
    gpu_write(&m, 0, bytes, BYTES);
    ((int (*)(void *, uint64_t))gpu_symbol("cuIpcGetMemHandle"))(r.handle, (uintptr_t)m.at);
    ((int (*)(void *, int))gpu_symbol("cuDeviceGetUuid"))(r.gpu, i == AWAY);
    return r;
}

static void be_the_other(int to, int until)
{
    char c;

    if (!gpu_start(driver))
        _exit(1);
    for (int i = 0; i < MANY; i++) {
        pw_segment_exported r = export_memory(i);

        if (write(to, &r, sizeof r) != (ssize_t)sizeof r)
            _exit(1);
    }
    _exit(read(until, &c, 1) != 0);
}

/* Begins the other process, which ends when `until` is closed, with this one. */
static bool begin_the_other(void)
{
    int from[2], until[2];
    size_t n = 0;
    ssize_t k = 1;
    pid_t child;

    if (pipe(from) || pipe(until))
        return false;
    child = fork();
    if (child == 0) {
        close(until[1]);
        close(from[0]);
        be_the_other(from[1], until[0]);
    }
    close(from[1]);
    for (; k > 0 && n < sizeof exported; n += (size_t)k)
        k = read(from[0], (char *)exported + n, sizeof exported - n);
    return child > 0 && n == sizeof exported;
}

static int start(void **state)
{
    (void)state;
    if (!begin_the_other() || !gpu_start(driver))
        return 1;
    make_fail = (void (*)(const char *, int, int))gpu_symbol("fake_fail");
    calls = (long (*)(const char *))gpu_symbol("fake_calls");
    target = gpu_memory_make(GPU_DEVICE, BYTES);
    gpu = pw_gpu_place_of(target.at).gpu;
    for (int i = 0; i < PROCESSES; i++)
        segments[i].owner.__data.__lock = ALIVE;
    pw_segment_open();
    return !gpu;
}

/* ---- replicas of others ------------------------------------------------------------------------------------------ */

static _Atomic uint32_t wanted;

static pw_peer_block block_of(int i, int process)
{
    static char base[BYTES];

    return (pw_peer_block){.base = base,
                           .bytes = BYTES,
                           .message = BYTES,
                           .form = PW_OFFER_REPLICA,
                           .replica = {&segments[process], &wanted, exported[i]}};
}

/* Returns whether the replica was read. False: it was refused. */
static bool is_read(int i, int process)
{
    pw_peer_block block = block_of(i, process);
    pw_reached *o = pw_gpu_opened_take(gpu, &block.replica);
    unsigned char got[BYTES];

    if (!o)
        return false;
    memset(got, 0, sizeof got);
    gpu_write(&target, 0, got, sizeof got);
    assert_int_equal(pw_gpu_copy(gpu, (uintptr_t)target.at, o->at, BYTES), PW_OK);
    pw_reach_give(o);
    gpu_read(&target, 0, got, sizeof got);
    for (int k = 0; k < BYTES; k++)
        assert_int_equal(got[k], byte_of(i, k));
    return true;
}

static void a_replica_is_opened_once(void **state)
{
    int64_t before = calls("cuIpcOpenMemHandle_v2");

    (void)state;
    assert_true(is_read(0, 0) && is_read(0, 0) && is_read(1, 0) && is_read(0, 0));
    assert_int_equal(calls("cuIpcOpenMemHandle_v2"), before + 2);
    pw_gpu_opened_close(gpu, true);
}

/* What is read of a process that has ended does not count, as far as there is nothing but its GPU memory. */
static void a_message_is_unpacked_from_it(void **state)
{
    pw_gpu_order order = {
        .buffer = {.place = {.kind = PW_PLACE_DEVICE, .gpu = gpu}, .base = target.at, .count = 1, .bytes = BYTES},
        .bytes = BYTES};
    pw_peer_block block = block_of(2, 0);
    unsigned char got[BYTES];

    (void)state;
    block.lazy = true;
    segments[0].owner.__data.__lock = 0;
    assert_false(pw_gpu_foreign_unpack(&order, block.base, &block, NULL));
    segments[0].owner.__data.__lock = ALIVE;
    assert_true(pw_gpu_foreign_unpack(&order, block.base, &block, NULL));
    gpu_read(&target, 0, got, sizeof got);
    for (int k = 0; k < BYTES; k++)
        assert_int_equal(got[k], byte_of(2, k));
    pw_gpu_opened_close(gpu, true);
}

static void the_least_lately_used_give_way(void **state)
{
    long closed = calls("cuIpcCloseMemHandle");
    int64_t opened;

    (void)state;
    for (int i = 0; i < KEPT + 2; i++)
        assert_true(is_read(i, 0));
    assert_int_equal(calls("cuIpcCloseMemHandle"), closed + 2);
    opened = calls("cuIpcOpenMemHandle_v2");
    assert_true(is_read(KEPT + 1, 0));
    assert_int_equal(calls("cuIpcOpenMemHandle_v2"), opened);
    assert_true(is_read(0, 0));
    assert_int_equal(calls("cuIpcOpenMemHandle_v2"), opened + 1);
    pw_gpu_opened_close(gpu, true);
    assert_int_equal(calls("cuIpcCloseMemHandle"), closed + 3 + KEPT);
}

/* Opens allocation `i` as if it were at these addresses of its process. */
static pw_reached *open_at(int i, uint64_t address)
{
    pw_peer_exported e = {&segments[0], &wanted, exported[i]};

    e.memory.address = address;
    e.memory.bytes = BYTES;
    return pw_gpu_opened_take(gpu, &e);
}

static void what_its_owner_has_freed_is_closed(void **state)
{
    enum { AT = 1 << 20 };
    long closed = calls("cuIpcCloseMemHandle");
    pw_reached *first = open_at(5, AT), *beside = open_at(6, AT + BYTES);

    (void)state;
    assert_true(first && beside);
    assert_null(open_at(7, AT + BYTES - 1)); /* both are in use */
    pw_reach_give(first);
    pw_reach_give(beside);
    assert_int_equal(calls("cuIpcCloseMemHandle"), closed);
    first = open_at(7, AT);
    assert_non_null(first);
    assert_int_equal(calls("cuIpcCloseMemHandle"), closed + 1);
    pw_reach_give(first);
    pw_gpu_opened_close(gpu, true);
    assert_int_equal(calls("cuIpcCloseMemHandle"), closed + 3);
}

static void another_gpu_is_near_if_it_is_linked(void **state)
{
    (void)state;
    assert_true(is_read(AWAY, 0));
    pw_gpu_opened_close(gpu, true);
    make_fail("cuDeviceGetP2PAttribute", 0, FAKE_INVALID);
    wanted = 1;
    assert_false(is_read(AWAY, 1));
    assert_int_equal(wanted, 0);
    assert_true(is_read(0, 0));
    make_fail("cuDeviceGetP2PAttribute", 0, 0);
    pw_gpu_opened_close(gpu, true);
}

static void who_is_refused_is_not_asked_again(void **state)
{
    pw_peer_block refused = block_of(3, 2), other = block_of(3, 3);
    long before;

    (void)state;
    make_fail("cuIpcOpenMemHandle_v2", 0, FAKE_MAP_FAILED);
    before = calls("cuIpcOpenMemHandle_v2");
    wanted = 1;
    assert_false(is_read(3, 2) || is_read(3, 2) || is_read(4, 2));
    assert_int_equal(calls("cuIpcOpenMemHandle_v2"), before + 1);
    assert_int_equal(wanted, 0);
    make_fail("cuIpcOpenMemHandle_v2", 0, 0);
    pw_gpu_opened_want(&refused.replica);
    assert_int_equal(wanted, 0);
    pw_gpu_opened_want(&other.replica);
    assert_int_equal(wanted, 1);
    assert_true(is_read(3, 3));
    pw_gpu_opened_close(gpu, true);
}

static void what_is_not_there_is_not_opened(void **state)
{
    pw_peer_block block = block_of(0, 0);

    (void)state;
    block.replica.memory.number = 0;
    assert_null(pw_gpu_opened_take(gpu, &block.replica));
}

/* ---- our own allocations ---------------------------------------------------------------------------------------- */

static pw_status export_at(const void *address, pw_segment_exported *out)
{
    return pw_gpu_export(gpu, pw_cu_address(address), out);
}

static void an_allocation_has_a_number_of_its_own(void **state)
{
    gpu_memory m = gpu_memory_make(GPU_DEVICE, BYTES), managed = gpu_memory_make(GPU_MANAGED, BYTES);
    pw_segment_exported one, again;
    long asked;

    (void)state;
    assert_int_equal(export_at(m.at + 100, &one), PW_OK);
    assert_true(one.number && one.address == pw_cu_address(m.at) && one.bytes == BYTES);
    asked = calls("cuIpcGetMemHandle");
    assert_int_equal(export_at(m.at + 200, &again), PW_OK);
    assert_memory_equal(&one, &again, sizeof one);
    assert_int_equal(calls("cuIpcGetMemHandle"), asked);
    gpu_memory_free(&m);
    m = gpu_memory_make(GPU_DEVICE, BYTES);
    assert_int_equal(export_at(m.at, &again), PW_OK);
    assert_true(again.address == one.address && again.number != one.number);
    gpu_memory_free(&m);
    assert_int_not_equal(export_at(managed.at, &one), PW_OK);
    asked = calls("cuIpcGetMemHandle");
    assert_int_not_equal(export_at(managed.at, &one), PW_OK);
    assert_int_equal(calls("cuIpcGetMemHandle"), asked);
}

/* ---- our own replicas
 * ----------------------------------------------------------------------------------------------------- */

static pw_gpu_block *a_block(void)
{
    pw_gpu_block *block;

    assert_int_equal(pw_gpu_take(gpu, PW_GPU_OUTBOUND_MEMORY, PW_GPU_REPLICA_LEAST, &block), PW_OK);
    assert_true(block->shared);
    return block;
}

static pw_peer_block as_others_see(const pw_gpu_block *block)
{
    pw_peer_block b;

    assert_non_null(pw_peer_memory(getpid(), block->host, 1, &b));
    return b;
}

static void a_block_has_a_replica_when_that_is_wanted(void **state)
{
    pw_gpu_block *block = a_block();
    pw_peer_block b = as_others_see(block);
    pw_cu_ptr replica;

    (void)state;
    assert_int_equal(pw_gpu_replica_of(gpu, block, PW_GPU_REPLICA_LEAST), 0);
    *b.replica.wanted = 1;
    assert_int_equal(pw_gpu_replica_of(gpu, block, PW_GPU_REPLICA_LEAST - 1), 0);
    replica = pw_gpu_replica_of(gpu, block, PW_GPU_REPLICA_LEAST);
    assert_true(replica);
    assert_int_equal(pw_gpu_replica_of(gpu, block, PW_GPU_REPLICA_LEAST), replica);
    pw_segment_note(block->host, 7, PW_OFFER_BLOCK, false);
    assert_int_equal(as_others_see(block).form, PW_OFFER_BLOCK);
    pw_segment_note(block->host, 7, PW_OFFER_REPLICA, false);
    b = as_others_see(block);
    assert_true(b.form == PW_OFFER_REPLICA && b.replica.memory.number);
    assert_int_equal(b.message, 7);
    pw_segment_note(block->host, 7, PW_OFFER_BLOCK, false);
    assert_int_equal(as_others_see(block).form, PW_OFFER_BLOCK);
    *b.replica.wanted = 0;
    assert_int_equal(pw_gpu_replica_of(gpu, block, PW_GPU_REPLICA_LEAST), 0);
    *b.replica.wanted = 1;
    pw_gpu_give(gpu, block);
}

/* More blocks than the pool keeps: the replicas of those that went are there for the next ones. */
static void replicas_outlive_their_blocks(void **state)
{
    pw_gpu_block *blocks[BLOCKS];
    long freed = calls("cuMemFree_v2"), named = 0;

    (void)state;
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < BLOCKS; i++) {
            blocks[i] = a_block();
            assert_true(pw_gpu_replica_of(gpu, blocks[i], PW_GPU_REPLICA_LEAST));
        }
        assert_true(round == 0 || calls("cuIpcGetMemHandle") == named);
        named = calls("cuIpcGetMemHandle");
        for (int i = 0; i < BLOCKS; i++)
            pw_gpu_give(gpu, blocks[i]);
    }
    assert_int_equal(calls("cuMemFree_v2"), freed);
    pw_gpu_close();
    assert_true(calls("cuMemFree_v2") >= freed + BLOCKS);
    gpu = pw_gpu_place_of(target.at).gpu;
    assert_non_null(gpu);
}

/* This test is the last, since the driver is not asked again. */
static void a_driver_that_names_none_is_left_alone(void **state)
{
    pw_gpu_block *block = a_block();
    long before = calls("cuIpcGetMemHandle"), held = calls("cuMemAlloc_v2") - calls("cuMemFree_v2");

    (void)state;
    make_fail("cuIpcGetMemHandle", 0, FAKE_INVALID);
    assert_int_equal(pw_gpu_replica_of(gpu, block, PW_GPU_REPLICA_LEAST), 0);
    assert_int_equal(pw_gpu_replica_of(gpu, block, PW_GPU_REPLICA_LEAST), 0);
    assert_int_equal(calls("cuIpcGetMemHandle"), before + 1);
    assert_int_equal(calls("cuMemAlloc_v2") - calls("cuMemFree_v2"), held);
    pw_gpu_give(gpu, block);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_replica_is_opened_once),
        cmocka_unit_test(a_message_is_unpacked_from_it),
        cmocka_unit_test(the_least_lately_used_give_way),
        cmocka_unit_test(what_its_owner_has_freed_is_closed),
        cmocka_unit_test(another_gpu_is_near_if_it_is_linked),
        cmocka_unit_test(who_is_refused_is_not_asked_again),
        cmocka_unit_test(what_is_not_there_is_not_opened),
        cmocka_unit_test(an_allocation_has_a_number_of_its_own),
        cmocka_unit_test(a_block_has_a_replica_when_that_is_wanted),
        cmocka_unit_test(replicas_outlive_their_blocks),
        cmocka_unit_test(a_driver_that_names_none_is_left_alone),
    };

    driver = argc > 1 ? argv[1] : NULL;
    return cmocka_run_group_tests(tests, start, NULL);
}
