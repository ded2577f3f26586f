/*
 * Replicas (replica.h) of other processes of this node, opened for GPUs of this one. What was opened stays open for the
 * next message; of more than 256, those used least recently are closed.
 *
 * A driver may refuse: because the GPUs cannot reach each other, because a container or a MIG slice is in the way, or
 * because it has no such calls. GPUs that reach each other only across the bus gain nothing, and are refused here. Then
 * messages of that process are read in its pinned memory, as without replicas, and it is told that nobody wants them.
 *
 * All functions are thread safe.
 */
#ifndef PW_RUNTIME_GPU_OPENED_H
#define PW_RUNTIME_GPU_OPENED_H

#include "runtime/engine/gpu/device.h"
#include "runtime/engine/node/peers.h"

typedef struct pw_gpu_opened {
    const void *segment; /* of the owning process; NULL: the place is free */
    uint64_t number;     /* of the replica */
    pw_gpu *owner;       /* in whose context it is open */
    pw_cu_ptr device;    /* 0: it was refused */
    int users;
    int64_t used; /* when */
} pw_gpu_opened;

/* The replica of a block whose message is replicated, as this GPU sees it. NULL: it does not. To be given back. */
pw_gpu_opened *pw_gpu_opened_take(pw_gpu *gpu, const pw_peer_block *block);
void pw_gpu_opened_give(pw_gpu_opened *o);

/* A message of the block's process, of so many bytes, was read in pinned memory: says that replicas are wanted, if so.
 */
void pw_gpu_opened_want(const pw_peer_block *block, int64_t bytes);

/* Closes what is open in this context, which does so itself when it ends (pw_gpu_dependent). */
void pw_gpu_opened_close(const pw_gpu *gpu, bool driver);

typedef struct pw_gpu_opened_usage {
    int64_t opened, taken; /* since the start */
} pw_gpu_opened_usage;

pw_gpu_opened_usage pw_gpu_opened_usage_now(void);

#endif
