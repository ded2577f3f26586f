/*
 * What transfers need of a GPU, kept for the next one: buffers of device memory and of pinned host memory by size class
 * (powers of two), and lanes. Taken and given back by any thread without a lock; in a steady state nothing is
 * allocated, and the driver is asked for no memory.
 *
 * Calls that may allocate or free must be made in the GPU's context (pw_gpu_enter).
 */
#ifndef PW_RUNTIME_GPU_POOL_H
#define PW_RUNTIME_GPU_POOL_H

#include "runtime/engine/gpu/device.h"

typedef enum pw_gpu_memory {
    PW_GPU_DEVICE_MEMORY,
    PW_GPU_PINNED_MEMORY, /* of the host, mapped: kernels of every GPU can use it */
    /* The same for what leaves this rank: where other processes can read it (runtime/engine/node/segment.h), if that
     * has room and the driver takes it. */
    PW_GPU_OUTBOUND_MEMORY,
    PW_GPU_MEMORIES
} pw_gpu_memory;

/* Something that another file keeps with a block. `leave` is called once, when the pool lets go of the block. */
typedef struct pw_gpu_companion {
    void (*leave)(struct pw_gpu_companion *companion);
} pw_gpu_companion;

typedef struct pw_gpu_block {
    pw_gpu_memory memory;
    bool shared; /* of the segment, and registered */
    int class;
    void *host;                  /* NULL for device memory */
    pw_cu_ptr device;            /* as the GPU sees it */
    pw_gpu_companion *companion; /* NULL: none */
} pw_gpu_block;

/*
 * One strand of work: a stream, events, the word that kernels write when they are through, graphs, and room for the
 * parameters of a launch. Used by one thread at a time.
 *
 * The stream keeps the order with the legacy default stream: cudaMemcpy to device memory returns before its data is
 * there, and programs send such buffers without further ado.
 */
enum { PW_GPU_PARAM_WORDS = 4096, PW_GPU_EVENTS = 2, PW_GPU_WORK_BYTES = 192, PW_GPU_GRAPHS = 256 };

/* Of one kernel node (graph.h). */
typedef struct pw_gpu_graph {
    void *function;            /* NULL: the place is free */
    void *graph, *node, *exec; /* NULL: not made yet */
    int credit;
} pw_gpu_graph;

typedef struct pw_gpu_lane {
    pw_gpu *gpu;
    void *stream, *side; /* `side`: for copies beside the stream's kernels */
    void *events[PW_GPU_EVENTS];
    _Atomic uint64_t *flag; /* pinned; NULL: there was no memory, the stream is waited for */
    pw_cu_ptr flag_device, arrivals;
    uint64_t value; /* of the last launch that writes the flag */
    bool flagged;   /* that launch is the last work of the stream */
    pw_gpu_graph graphs[PW_GPU_GRAPHS];
    struct pw_gpu_batch *batch; /* transfers that are launched together (batch.c); of malloc, made at first use */
    _Alignas(16) char work[PW_GPU_WORK_BYTES]; /* what its taker has to remember (transfer.c) */
    uint64_t params[PW_GPU_PARAM_WORDS];
} pw_gpu_lane;

typedef struct pw_gpu_pool pw_gpu_pool;

pw_status pw_gpu_pool_create(pw_gpu *gpu, pw_gpu_pool **out);
/* `driver`: give everything back to it; else it is gone, and only our memory is freed. NULL is allowed. */
void pw_gpu_pool_destroy(pw_gpu_pool *pool, bool driver);

/* The bytes of a block: those of its class, which are at least as many as were asked for. */
int64_t pw_gpu_block_bytes(const pw_gpu_block *block);
/* At least `bytes` bytes, aligned to 256. What lies idle is freed before PW_ERR_NOMEM is returned. */
pw_status pw_gpu_block_take(pw_gpu *gpu, pw_gpu_memory memory, int64_t bytes, pw_gpu_block **out);
void pw_gpu_block_give(pw_gpu *gpu, pw_gpu_block *block); /* NULL is allowed */

pw_status pw_gpu_lane_take(pw_gpu *gpu, pw_gpu_lane **out);
/* For work that need not begin at once: NULL when so many lanes are out that another would not be kept. */
pw_gpu_lane *pw_gpu_lane_take_kept(pw_gpu *gpu);
/* The lane's work must have been waited for. */
void pw_gpu_lane_give(pw_gpu_lane *lane);

/* Blocks until all work of the lane's stream is done and visible to everybody. */
pw_status pw_gpu_lane_wait(pw_gpu_lane *lane);

#endif
