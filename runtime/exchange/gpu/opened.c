/*
 * Purpose: gives GPUs of this process memory of other processes. Data: none of its own; what is open is kept by
 * reach.h, in two rows: allocations of GPU memory, and blocks of segments that are registered with the driver.
 * Invariant: a range belongs to the context that has opened it, and is closed with that.
 */
#include "runtime/exchange/gpu/opened.h"

#include "base/log.h"

#include <string.h>

enum { REFUSALS = 4 /* of blocks of one process; after so many in a row the driver is not asked again */ };

/* ---- opening ----------------------------------------------------------------------------------------------------- */

static bool can_open(void)
{
    return pw_cu.ipc_open && pw_cu.ipc_close && pw_cu.device_uuid && pw_cu.p2p_attribute;
}

static bool is_gpu(int device, const pw_segment_exported *memory)
{
    pw_cu_uuid uuid;

    return pw_cu.device_uuid(&uuid, device) == PW_CU_OK && !memcmp(&uuid, memory->gpu, sizeof uuid);
}

/* Whether the memory's GPU is this one or has a faster link to it than the bus. (Such links carry atomic operations,
 * the bus does not.) A GPU that this process does not see is assumed to have one. */
static bool is_near(const pw_gpu *gpu, const pw_segment_exported *memory)
{
    int own, other, atomics;

    if (pw_cu.device_get(&own, gpu->ordinal) != PW_CU_OK)
        return false;
    for (int i = 0; pw_cu.device_get(&other, i) == PW_CU_OK; i++)
        if (is_gpu(other, memory))
            return other == own ||
                   (pw_cu.p2p_attribute(&atomics, PW_CU_P2P_ATOMICS, own, other) == PW_CU_OK && atomics);
    return true;
}

static pw_cu_ptr open_memory(const pw_gpu *gpu, const pw_segment_exported *memory)
{
    pw_cu_ptr device;
    PW_GPU_SCOPE(scope);
    pw_cu_ipc handle;

    memcpy(&handle, memory->handle, sizeof handle);
    if (!is_near(gpu, memory) || pw_gpu_enter(gpu, &scope) != PW_OK ||
        pw_cu_check(pw_cu.ipc_open(&device, handle, PW_CU_IPC_PEER_ACCESS), "cuIpcOpenMemHandle") != PW_OK)
        return 0;
    return device;
}

static pw_gpu_dependent dependent = {.close = pw_gpu_opened_close};

static uint64_t open_exported(pw_reached *range, const void *arg)
{
    const pw_peer_exported *e = arg;
    pw_cu_ptr device = open_memory(range->context, &e->memory);

    pw_gpu_depend(&dependent);
    if (device)
        return device;
    atomic_store_explicit(e->wanted, 0, memory_order_relaxed);
    pw_log(PW_LOG_INFO, "device memory of another process cannot be opened, or is far: its messages are read in pinned "
                        "memory");
    return 0;
}

static void close_exported(const pw_reached *range)
{
    PW_GPU_SCOPE(scope);

    if (pw_gpu_enter(range->context, &scope) == PW_OK)
        pw_cu_check(pw_cu.ipc_close(range->at), "cuIpcCloseMemHandle");
}

static uint64_t register_block(pw_reached *range, const void *arg)
{
    pw_cu_ptr device;
    PW_GPU_SCOPE(scope);

    (void)arg;
    pw_gpu_depend(&dependent);
    if (pw_gpu_enter(range->context, &scope) != PW_OK ||
        pw_gpu_register(range->memory, range->bytes, true, &device) != PW_OK)
        return 0;
    return device;
}

static void unregister_block(const pw_reached *range)
{
    PW_GPU_SCOPE(scope);

    if (pw_gpu_enter(range->context, &scope) == PW_OK)
        pw_gpu_unregister(range->memory);
}

static bool lives(const void *context)
{
    return pw_gpu_is_alive(context);
}

static const pw_reach exported_row = {.patience = 1, .open = open_exported, .close = close_exported, .lives = lives};
static const pw_reach registered_row = {.anywhere = true,
                                        .patience = REFUSALS,
                                        .most = (uint64_t)2 << 30, /* what the sender's pool keeps (pool.c) */
                                        .open = register_block,
                                        .close = unregister_block,
                                        .lives = lives};

void pw_gpu_opened_close(const pw_gpu *gpu, bool driver)
{
    pw_reach_close(&exported_row, gpu, !driver);
    pw_reach_close(&registered_row, gpu, !driver);
}

/* ---- using ------------------------------------------------------------------------------------------------------- */

pw_reached *pw_gpu_opened_take(pw_gpu *gpu, const pw_peer_exported *e)
{
    const pw_reached wanted = {.row = &exported_row,
                               .owner = e->segment,
                               .version = e->memory.number,
                               .begin = e->memory.address,
                               .bytes = e->memory.bytes,
                               .context = gpu};

    return e->memory.number && can_open() && pw_gpu_is_alive(gpu) ? pw_reach_take(&wanted, e) : NULL;
}

pw_reached *pw_gpu_registered_take(pw_gpu *gpu, const pw_peer_block *block)
{
    const pw_reached wanted = {.row = &registered_row,
                               .owner = block->replica.segment,
                               .version = block->removed,
                               .begin = block->address,
                               .bytes = block->bytes,
                               .context = gpu,
                               .memory = (void *)(uintptr_t)block->base};

    return pw_gpu_is_alive(gpu) ? pw_reach_take(&wanted, NULL) : NULL;
}

void pw_gpu_opened_want(const pw_peer_exported *e)
{
    if (can_open() && !atomic_load_explicit(e->wanted, memory_order_relaxed) && pw_reach_may(&exported_row, e->segment))
        atomic_store_explicit(e->wanted, 1, memory_order_relaxed);
}
