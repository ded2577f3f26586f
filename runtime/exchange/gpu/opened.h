/*
 * GPU memory of other processes of the node, opened for GPUs of this process: replicas (replica.h) and allocations of
 * the program (shown.h). It stays open for the next message; of more than 256 allocations, those used least recently
 * are closed. An allocation at addresses of another one of the same process says that the other one has been freed,
 * which is then closed.
 *
 * The driver may refuse to open one: the GPUs cannot reach each other, a container or a MIG slice separates them, or
 * the driver has no such calls. This file refuses GPUs that reach each other only across the bus, since they gain
 * nothing. After a refusal this process opens no more memory of that process, and tells it that no GPU here wants
 * replicas.
 *
 * All functions are thread safe.
 */
#ifndef PW_RUNTIME_GPU_OPENED_H
#define PW_RUNTIME_GPU_OPENED_H

#include "base/lru.h"
#include "runtime/engine/gpu/device.h"
#include "runtime/exchange/peers.h"

/* Shorter messages gain nothing in memory of the sender's GPU. */
enum { PW_GPU_OPENED_LEAST = 32 << 10 };

typedef struct pw_gpu_opened {
    pw_lru lru;
    const void *segment; /* of the owning process; NULL: the slot is free */
    uint64_t number;     /* the allocation's */
    uint64_t address, bytes;
    pw_gpu *owner;    /* the context in which it is open */
    pw_cu_ptr device; /* 0: opening was refused */
} pw_gpu_opened;

/* Returns the allocation, open for this GPU. NULL: it has no number, or it cannot be opened. The caller gives it back
 * by pw_gpu_opened_give. */
pw_gpu_opened *pw_gpu_opened_take(pw_gpu *gpu, const pw_peer_exported *exported);
void pw_gpu_opened_give(pw_gpu_opened *o);

/* To be called after a message of `bytes` bytes was read in the pinned memory of the exporting process: tells that
 * process that its GPU's memory would be read, if this GPU would read it. */
void pw_gpu_opened_want(const pw_peer_exported *exported, int64_t bytes);

/* Closes what is open in this context; without `driver` the context has ended. Contexts that end call this themselves
 * (pw_gpu_dependent). */
void pw_gpu_opened_close(const pw_gpu *gpu, bool driver);

typedef struct pw_gpu_opened_usage {
    int64_t opened, taken; /* since the start */
} pw_gpu_opened_usage;

pw_gpu_opened_usage pw_gpu_opened_usage_now(void);

#endif
