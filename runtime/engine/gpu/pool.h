/*
 * What transfers need from a GPU, kept for the next one: blocks of device memory and of pinned host memory by size
 * class (powers of two), and lanes. Any thread takes them and gives them back without a lock. In a steady state nothing
 * allocates memory, neither here nor in the driver.
 *
 * The GPU's context must be current (pw_gpu_enter) in calls that take a lane or give one back.
 */
#ifndef PW_RUNTIME_GPU_POOL_H
#define PW_RUNTIME_GPU_POOL_H

#include "runtime/engine/gpu/device.h"

typedef enum pw_gpu_memory {
    PW_GPU_DEVICE_MEMORY,
    PW_GPU_PINNED_MEMORY, /* pinned host memory, mapped: kernels of every GPU can use it */
    /* Pinned memory for messages that leave this rank: where other processes can read it
     * (runtime/engine/memory/source.h), if there is such memory and the driver registers it; else as
     * PW_GPU_PINNED_MEMORY. */
    PW_GPU_OUTBOUND_MEMORY,
    /* Lazy memory of the same source, for messages that are in a replica only (runtime/exchange/gpu/lazy.h). No GPU of
       this process can use it. */
    PW_GPU_LAZY_MEMORY,
    PW_GPU_MEMORIES
} pw_gpu_memory;

/* Something that another file keeps with a block. `leave` is called once, when the pool lets go of the block. */
typedef struct pw_gpu_companion {
    void (*leave)(struct pw_gpu_companion *companion);
} pw_gpu_companion;

typedef struct pw_gpu_block {
    pw_gpu_memory memory;
    bool shared;      /* it is of the shared source, and is registered with the driver unless it is lazy memory */
    int class;        /* it has pw_size_class_bytes(class) bytes, at least as many as were requested */
    void *host;       /* NULL for device memory */
    pw_cu_ptr device; /* the address for the GPU; 0 for lazy memory */
    pw_gpu_companion *companion; /* NULL: none */
} pw_gpu_block;

/*
 * One sequence of work: a stream, a flag that kernels write when they are done, graphs, and room for the
 * parameters of a launch. One thread at a time uses a lane.
 *
 * The stream is ordered with the legacy default stream: cudaMemcpy to device memory returns before its data is there,
 * and programs send such buffers without waiting for it.
 */
enum { PW_GPU_PARAM_WORDS = 4096, PW_GPU_WORK_BYTES = 192, PW_GPU_GRAPHS = 256 };

/* A CUDA graph of one kernel node (graph.h). */
typedef struct pw_gpu_graph {
    void *function;            /* NULL: the slot is free */
    uint64_t key;              /* of the function, and of the parameters that it is for (graph.c) */
    void *graph, *node, *exec; /* NULL: not made yet */
    unsigned grid;             /* to which it is set, with the parameters; 0: these are not known */
    void *params;
    int credit;
} pw_gpu_graph;

typedef struct pw_gpu_lane {
    pw_gpu *gpu;
    int place;              /* in the pool, where it lay last; at first 0 */
    void *stream, *side;    /* `side` is a second stream, for copies that do not wait for the work in `stream` */
    void *event;            /* recorded in `stream` by a wait for the default stream, which `stream` follows */
    int signal;             /* of this process (signal.c), which the flag is; -1: it is none */
    _Atomic uint64_t *flag; /* pinned; NULL: there was no memory for it, and pw_gpu_lane_end waits for the stream */
    pw_cu_ptr flag_device, ends;               /* `ends`: a pw_gpu_ends */
    uint64_t value;                            /* what the last launch with a flag writes there */
    bool flagged;                              /* that launch is the last work in the stream */
    pw_gpu_graph graphs[2][PW_GPU_GRAPHS];     /* of functions, and of parameters */
    struct pw_gpu_batch *batch;                /* the transfers that share a launch (batch.c), allocated at first use */
    _Alignas(16) char work[PW_GPU_WORK_BYTES]; /* the transfer that uses the lane (transfer.c) */
    uint64_t params[PW_GPU_PARAM_WORDS];
} pw_gpu_lane;

typedef struct pw_gpu_pool pw_gpu_pool;

pw_status pw_gpu_pool_create(pw_gpu *gpu, pw_gpu_pool **out);
/* With `driver`, gives everything back to the driver; without, the context has ended, and only host memory of this
 * process is freed. NULL is allowed. */
void pw_gpu_pool_destroy(pw_gpu_pool *pool, bool driver);

/* Takes a block of at least `bytes` bytes, aligned to 256. Frees idle blocks of that memory before PW_ERR_NOMEM. */
pw_status pw_gpu_take(pw_gpu *gpu, pw_gpu_memory memory, int64_t bytes, pw_gpu_block **out);
void pw_gpu_give(pw_gpu *gpu, pw_gpu_block *block); /* NULL is allowed */

pw_status pw_gpu_lane_take(pw_gpu *gpu, pw_gpu_lane **out);
/* Takes a lane for work that need not begin at once. NULL: so many lanes are in use that the pool would not keep
 * another one. */
pw_gpu_lane *pw_gpu_lane_take_kept(pw_gpu *gpu);
/* Gives a lane back, whose work must be over. */
void pw_gpu_lane_give(pw_gpu_lane *lane);

/* Sets the flag to `value` unless it has reached it: the launch that was to write it has failed, or there was none. All
 * work in the stream must be done. */
void pw_gpu_lane_reach(pw_gpu_lane *lane, uint64_t value);

/* Blocks until all work in the lane's stream is done and visible to the host and all GPUs. Its beginning has returned
 * `begun`; returns what became of it. After a failure, too, all work must end before its memory is given back. */
pw_status pw_gpu_lane_end(pw_gpu_lane *lane, pw_status begun);

/* Puts a copy of `bytes` contiguous bytes into the lane's stream; the driver knows both addresses. */
pw_status pw_gpu_move_bytes(pw_gpu_lane *lane, pw_cu_ptr to, pw_cu_ptr from, int64_t bytes);
/* Copies so in the context of `gpu`, and waits. */
pw_status pw_gpu_copy(pw_gpu *gpu, pw_cu_ptr to, pw_cu_ptr from, int64_t bytes);

/* ---- signal.c -------------------------------------------------------------------------------------------------- */

/* Signals: words that other processes watch (runtime/engine/memory/source.h), which kernels write when they are done.
 * One context at a time has them, the first one that asks for one. These functions are thread safe. */

/* Takes a signal, and returns its number. The context of `gpu` must be current. -1: all are taken, another context has
 * them, there are no such words, or the driver does not register them. */
int pw_gpu_signal_take(const pw_gpu *gpu, _Atomic uint64_t **word, pw_cu_ptr *device);
/* Gives it back. No launch may write it any longer. */
void pw_gpu_signal_give(int number);

#endif
