/*
 * The pools of one GPU context: blocks by kind and size class, and lanes. Idle blocks and lanes lie in slots that
 * threads take and fill by one exchange, so no call takes a lock.
 */
#include "runtime/engine/gpu/pool.h"

#include "base/thread.h"
#include "runtime/engine/gpu/graph.h"
#include "runtime/engine/memory/idle.h"
#include "runtime/engine/memory/source.h"

#include <sched.h>
#include <stddef.h>
#include <stdlib.h>

enum {
    KEPT_LANES = 32, /* lanes that the pool keeps; so many transfers at a time make no new lanes */
    AT_ONCE = 4,     /* most blocks that one call frees, since the driver waits for the GPU in each */
    FLAG_BYTES = 64,
    SPINS_PER_YIELD = 1 << 9, /* looks at a flag, some 10 us, between two calls of sched_yield */
    SPINS_PER_QUERY = 1 << 14 /* looks at a flag between two queries of the stream */
};

/* The bytes of each kind of memory that may be idle. To allocate a block takes as long as a message of its size. */
static const int64_t most_idle[PW_GPU_MEMORIES] = {
    [PW_GPU_DEVICE_MEMORY] = (int64_t)1 << 30,
    [PW_GPU_PINNED_MEMORY] = (int64_t)2 << 30,
    [PW_GPU_OUTBOUND_MEMORY] = (int64_t)2 << 30,
    [PW_GPU_LAZY_MEMORY] = (int64_t)512 << 20,
};

/* The blocks of one kind of memory. */
typedef struct stock {
    pw_idle_slots slots[PW_SIZE_CLASSES];
    pw_idle idle;
} stock;

struct pw_gpu_pool {
    pw_gpu *gpu;
    bool ended; /* the context has: the driver has freed its memory */
    stock stocks[PW_GPU_MEMORIES];
    _Atomic(pw_gpu_lane *) lanes[KEPT_LANES]; /* taken and filled as a pw_idle_slot */
    _Atomic int lanes_made;                   /* idle or out */
};

/* ---- blocks ----------------------------------------------------------------------------------------------------- */

static pw_status allocate_pinned(void **host, size_t bytes, pw_cu_ptr *device)
{
    pw_status status =
        pw_cu_check(pw_cu.host_alloc(host, bytes, PW_CU_HOST_PORTABLE | PW_CU_HOST_MAPPED), "cuMemHostAlloc");

    if (status != PW_OK)
        return status;
    status = pw_cu_check(pw_cu.host_device_pointer(device, *host, 0), "cuMemHostGetDevicePointer");
    if (status != PW_OK)
        pw_cu.host_free(*host);
    return status;
}

/* Takes shared memory and registers it with the driver. Other processes may pin its pages for their GPUs, so
 * the block stays registered as long as the pool has it; then its pages go back to the system. */
static pw_status register_shared(pw_gpu_block *block, size_t bytes)
{
    void *memory = pw_source_take(bytes);
    pw_status status = memory ? pw_gpu_register(memory, bytes, false, &block->device) : PW_ERR_NOT_FOUND;

    if (status == PW_OK) {
        block->host = memory;
        block->shared = true;
    } else if (memory) {
        pw_source_give(memory);
    }
    return status;
}

static pw_status take_lazy(pw_gpu_block *block, size_t bytes)
{
    block->host = pw_source_take_lazy(bytes);
    block->shared = block->host;
    return block->host ? PW_OK : PW_ERR_NOT_FOUND;
}

static pw_status allocate_of(pw_gpu_block *block, size_t bytes)
{
    if (block->memory == PW_GPU_LAZY_MEMORY)
        return take_lazy(block, bytes);
    if (block->memory == PW_GPU_DEVICE_MEMORY)
        return pw_cu_check(pw_cu.alloc(&block->device, bytes), "cuMemAlloc");
    if (block->memory == PW_GPU_OUTBOUND_MEMORY && register_shared(block, bytes) == PW_OK)
        return PW_OK;
    return allocate_pinned(&block->host, bytes, &block->device);
}

static pw_status allocate(const pw_gpu *gpu, pw_gpu_memory memory, int class, pw_gpu_block **out)
{
    pw_gpu_block *block = calloc(1, sizeof *block);
    PW_GPU_SCOPE(scope);
    pw_status status;

    if (!block)
        return PW_ERR_NOMEM;
    block->memory = memory;
    block->class = class;
    status = pw_gpu_enter(gpu, &scope);
    if (status == PW_OK)
        status = allocate_of(block, (size_t)pw_size_class_bytes(class));
    if (status != PW_OK) {
        free(block);
        return status;
    }
    *out = block;
    return PW_OK;
}

/* Frees a block of a pool. Where the context cannot be entered, the driver has freed its memory. */
static void release(void *owner, void *of)
{
    const pw_gpu_pool *pool = owner;
    pw_gpu_block *block = of;
    PW_GPU_SCOPE(scope);
    bool driver = !pool->ended && !atomic_load(&pool->gpu->lost) && pw_gpu_enter(pool->gpu, &scope) == PW_OK;

    if (block->companion)
        block->companion->leave(block->companion);
    if (block->shared) {
        if (driver && block->memory != PW_GPU_LAZY_MEMORY)
            pw_gpu_unregister(block->host);
        pw_source_give(block->host);
    } else if (driver && block->host)
        pw_cu.host_free(block->host);
    else if (driver)
        pw_cu.free(block->device);
    free(block);
}

pw_status pw_gpu_take(pw_gpu *gpu, pw_gpu_memory memory, int64_t bytes, pw_gpu_block **out)
{
    pw_idle *idle = &gpu->pool->stocks[memory].idle;
    int class = pw_size_class(bytes);
    pw_status status;

    if (class >= PW_SIZE_CLASSES)
        return PW_ERR_NOMEM;
    if (atomic_load_explicit(&gpu->lost, memory_order_relaxed))
        return PW_ERR_IO;
    *out = pw_idle_take(idle, class);
    if (*out)
        return PW_OK;
    status = allocate(gpu, memory, class, out);
    if (status != PW_ERR_NOMEM)
        return status;
    pw_idle_clear(idle);
    return allocate(gpu, memory, class, out);
}

void pw_gpu_give(pw_gpu *gpu, pw_gpu_block *block)
{
    if (block)
        pw_idle_give(&gpu->pool->stocks[block->memory].idle, block, block->class);
}

/* ---- lanes ------------------------------------------------------------------------------------------------------ */

static void free_flag(pw_gpu_lane *lane)
{
    if (lane->signal >= 0)
        pw_gpu_signal_give(lane->signal);
    else if (lane->flag)
        pw_cu.host_free((void *)lane->flag);
    if (lane->ends)
        pw_cu.free(lane->ends);
    lane->signal = -1;
    lane->flag = NULL;
    lane->flag_device = lane->ends = 0;
}

static void lane_destroy(pw_gpu_lane *lane, bool driver)
{
    pw_gpu_graphs_free(lane, driver);
    if (driver && lane->event)
        pw_cu.event_destroy(lane->event);
    if (driver && lane->side)
        pw_cu.stream_destroy(lane->side);
    if (driver && lane->stream)
        pw_cu.stream_destroy(lane->stream);
    if (driver)
        free_flag(lane);
    atomic_fetch_sub_explicit(&lane->gpu->pool->lanes_made, 1, memory_order_relaxed);
    free(lane->batch);
    free(lane);
}

static pw_status make_private_flag(pw_gpu_lane *lane)
{
    void *flag;
    pw_status status = allocate_pinned(&flag, FLAG_BYTES, &lane->flag_device);

    if (status != PW_OK)
        return status;
    lane->flag = flag;
    atomic_init(lane->flag, 0);
    return PW_OK;
}

/* A signal goes on from the value that the lane before has left. */
static bool take_signal(pw_gpu_lane *lane)
{
    lane->signal = pw_gpu_signal_take(lane->gpu, &lane->flag, &lane->flag_device);
    if (lane->signal >= 0)
        lane->value = atomic_load_explicit(lane->flag, memory_order_relaxed);
    return lane->signal >= 0;
}

/* Lets kernels count on from what the flag is now. */
static pw_status count_from_flag(pw_gpu_lane *lane)
{
    pw_cu_ptr count = lane->ends + offsetof(pw_gpu_ends, count);

    return pw_cu_check(pw_cu.copy(count, lane->flag_device, sizeof *lane->flag, lane->stream), "cuMemcpyAsync");
}

void pw_gpu_lane_reach(pw_gpu_lane *lane, uint64_t value)
{
    if (!lane->flag || (int64_t)(atomic_load_explicit(lane->flag, memory_order_relaxed) - value) >= 0)
        return;
    lane->value = value;
    atomic_store_explicit(lane->flag, value, memory_order_release);
    if (pw_gpu_is_alive(lane->gpu))
        count_from_flag(lane);
}

static pw_status make_flag(pw_gpu_lane *lane)
{
    pw_status status = take_signal(lane) ? PW_OK : make_private_flag(lane);

    if (status == PW_OK)
        status = pw_cu_check(pw_cu.alloc(&lane->ends, FLAG_BYTES), "cuMemAlloc");
    if (status == PW_OK)
        status = pw_cu_check(pw_cu.fill(lane->ends, 0, FLAG_BYTES, lane->stream), "cuMemsetD8Async");
    return status == PW_OK && lane->value > 0 ? count_from_flag(lane) : status;
}

/* A lane without a flag waits for its stream. */
static void add_flag(pw_gpu_lane *lane)
{
    if (make_flag(lane) == PW_OK)
        return;
    pw_cu.stream_wait(lane->stream);
    free_flag(lane);
}

static pw_status lane_create(pw_gpu *gpu, pw_gpu_lane **out)
{
    pw_gpu_lane *lane = calloc(1, sizeof *lane);
    pw_status status;

    if (!lane)
        return PW_ERR_NOMEM;
    lane->gpu = gpu;
    lane->signal = -1;
    atomic_fetch_add_explicit(&gpu->pool->lanes_made, 1, memory_order_relaxed);
    status = pw_cu_check(pw_cu.stream_create(&lane->stream, PW_CU_STREAM_DEFAULT), "cuStreamCreate");
    if (status == PW_OK)
        status = pw_cu_check(pw_cu.stream_create(&lane->side, PW_CU_STREAM_NON_BLOCKING), "cuStreamCreate");
    if (status == PW_OK)
        status = pw_cu_check(pw_cu.event_create(&lane->event, PW_CU_EVENT_UNTIMED), "cuEventCreate");
    if (status != PW_OK) {
        lane_destroy(lane, true);
        return status;
    }
    add_flag(lane);
    *out = lane;
    return PW_OK;
}

static pw_gpu_lane *take_idle_lane(pw_gpu_pool *pool)
{
    for (int i = 0; i < KEPT_LANES; i++) {
        _Atomic(pw_gpu_lane *) *slot = &pool->lanes[i];
        pw_gpu_lane *lane = NULL;

        if (atomic_load_explicit(slot, memory_order_relaxed))
            lane = atomic_exchange_explicit(slot, NULL, memory_order_acquire);
        if (lane) {
            lane->place = i;
            return lane;
        }
    }
    return NULL;
}

pw_status pw_gpu_lane_take(pw_gpu *gpu, pw_gpu_lane **out)
{
    *out = take_idle_lane(gpu->pool);
    return *out ? PW_OK : lane_create(gpu, out);
}

pw_gpu_lane *pw_gpu_lane_take_kept(pw_gpu *gpu)
{
    pw_gpu_lane *lane = take_idle_lane(gpu->pool);

    if (!lane && atomic_load_explicit(&gpu->pool->lanes_made, memory_order_relaxed) < KEPT_LANES)
        lane_create(gpu, &lane);
    return lane;
}

/* Where it was taken from, the next work like this one finds it again, with its graphs. */
void pw_gpu_lane_give(pw_gpu_lane *lane)
{
    for (int i = 0; i < KEPT_LANES; i++) {
        _Atomic(pw_gpu_lane *) *slot = &lane->gpu->pool->lanes[(lane->place + i) % KEPT_LANES];
        pw_gpu_lane *empty = NULL;

        if (atomic_compare_exchange_strong_explicit(slot, &empty, lane, memory_order_release, memory_order_relaxed))
            return;
    }
    lane_destroy(lane, !atomic_load(&lane->gpu->lost));
}

/* The kernel writes the flag microseconds before the driver reports its end. A kernel that fails never writes it, so
 * this loop queries the stream now and then. It yields the core, which other ranks or threads may need. */
static pw_status wait_for_flag(pw_gpu_lane *lane)
{
    for (int64_t spins = 1; atomic_load_explicit(lane->flag, memory_order_acquire) != lane->value; spins++) {
        int result;

        pw_thread_pause();
        if (spins % SPINS_PER_YIELD == 0)
            sched_yield();
        if (spins % SPINS_PER_QUERY)
            continue;
        result = pw_cu.stream_query(lane->stream);
        if (result != PW_CU_NOT_READY)
            return pw_cu_check(result, "cuStreamQuery");
    }
    return PW_OK;
}

pw_status pw_gpu_lane_end(pw_gpu_lane *lane, pw_status begun)
{
    if (begun == PW_OK)
        return lane->flagged ? wait_for_flag(lane)
                             : pw_cu_check(pw_cu.stream_wait(lane->stream), "cuStreamSynchronize");
    pw_cu.stream_wait(lane->stream);
    return begun;
}

pw_status pw_gpu_move_bytes(pw_gpu_lane *lane, pw_cu_ptr to, pw_cu_ptr from, int64_t bytes)
{
    lane->flagged = false;
    return pw_cu_check(pw_cu.copy(to, from, (size_t)bytes, lane->stream), "cuMemcpyAsync");
}

pw_status pw_gpu_copy(pw_gpu *gpu, pw_cu_ptr to, pw_cu_ptr from, int64_t bytes)
{
    PW_GPU_SCOPE(scope);
    pw_gpu_lane *lane;
    pw_status status;

    if (atomic_load_explicit(&gpu->lost, memory_order_relaxed) || pw_gpu_enter(gpu, &scope) != PW_OK)
        return pw_gpu_judge(gpu, PW_ERR_IO);
    status = pw_gpu_lane_take(gpu, &lane);
    if (status == PW_OK) {
        status = pw_gpu_lane_end(lane, pw_gpu_move_bytes(lane, to, from, bytes));
        pw_gpu_lane_give(lane);
    }
    return pw_gpu_judge(gpu, status);
}

/* ---- the pool --------------------------------------------------------------------------------------------------- */

pw_status pw_gpu_pool_create(pw_gpu *gpu, pw_gpu_pool **out)
{
    pw_gpu_pool *pool = calloc(1, sizeof *pool);

    if (!pool)
        return PW_ERR_NOMEM;
    pool->gpu = gpu;
    for (int memory = 0; memory < PW_GPU_MEMORIES; memory++)
        pool->stocks[memory].idle = (pw_idle){.slots = pool->stocks[memory].slots,
                                              .shelves = PW_SIZE_CLASSES,
                                              .at_once = AT_ONCE,
                                              .most = most_idle[memory],
                                              .release = release,
                                              .owner = pool};
    *out = pool;
    return PW_OK;
}

void pw_gpu_pool_destroy(pw_gpu_pool *pool, bool driver)
{
    if (!pool)
        return;
    pool->ended = !driver;
    for (int memory = 0; memory < PW_GPU_MEMORIES; memory++)
        pw_idle_clear(&pool->stocks[memory].idle);
    for (int i = 0; i < KEPT_LANES; i++) {
        pw_gpu_lane *lane = atomic_exchange(&pool->lanes[i], NULL);

        if (lane)
            lane_destroy(lane, driver);
    }
    free(pool);
}
