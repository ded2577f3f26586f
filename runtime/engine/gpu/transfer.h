/*
 * Whole transfers between a user's buffer on a GPU and its packed copy. Each takes the lane and the scratch memory that
 * it needs from the pools, leaves the caller's current context as it was, and falls back to copies of the driver when
 * kernels fail (one warning). A failure that is left is the caller's to report.
 *
 * A transfer has two stages: beginning puts its work into the stream of a lane, finishing waits for it. Who has several
 * to do begins them all before the first is finished; in between they overlap on the GPU. Short ones that a thread
 * begins one after the other are collected, and put on their way as one launch by the first pw_gpu_finish of one of
 * them (batch.c).
 */
#ifndef PW_RUNTIME_GPU_TRANSFER_H
#define PW_RUNTIME_GPU_TRANSFER_H

#include "runtime/engine/gpu/move.h"

/* How the bytes get to where the packed copy is. */
typedef enum pw_gpu_path {
    PW_GPU_DIRECT,   /* kernels write and read the packed copy themselves: device or mapped memory */
    PW_GPU_STAGED,   /* kernels to device memory, then one copy */
    PW_GPU_PIPELINED /* the same in chunks, of which one is packed while the one before is copied */
} pw_gpu_path;

/* One transfer. */
typedef struct pw_gpu_order {
    pw_buffer buffer;
    pw_gpu_packed packed;
    int64_t bytes; /* of the packed copy, from its beginning; all of them when packing */
    pw_direction direction;
    pw_gpu_path path;
    pw_cu_ptr replica; /* device memory where the packed bytes are to be, too (replica.h), when packing to host memory;
                          0: none */
} pw_gpu_order;

typedef struct pw_gpu_transfer pw_gpu_transfer;

/* Puts the work of a transfer on its way, or collects it with others. NULL: not now, since it is long, or as much is
 * under way as should be, or something is wrong; pw_gpu_carry_out does it in any case, or says what is wrong. */
pw_gpu_transfer *pw_gpu_begin(const pw_gpu_order *order);
/* Waits for what was begun, which is gone then. By any thread. */
pw_status pw_gpu_finish(pw_gpu_transfer *t);
/* Both at once. */
pw_status pw_gpu_carry_out(const pw_gpu_order *order);

/* Is this much of it, in pieces of odd lengths, better copied behind the kernel than written to host memory by it? */
bool pw_gpu_is_odd(pw_layout *layout, int64_t bytes);
/* Could the message be cut into chunks of about `chunk` bytes? */
bool pw_gpu_is_divisible(const pw_buffer *b, int64_t chunk);
/* Bytes of a chunk. */
int64_t pw_gpu_chunk(int64_t bytes);

/* `bytes` from one place to another, both known to the driver, in the context of `gpu`. */
pw_status pw_gpu_copy(pw_gpu *gpu, pw_cu_ptr to, pw_cu_ptr from, int64_t bytes);

/* Packed memory of a pool, in the context of `gpu`. */
pw_status pw_gpu_take(pw_gpu *gpu, pw_gpu_memory memory, int64_t bytes, pw_gpu_block **out);
void pw_gpu_give(pw_gpu *gpu, pw_gpu_block *block); /* NULL is allowed */

static inline pw_gpu_packed pw_gpu_packed_in(const pw_gpu_block *block)
{
    return (pw_gpu_packed){.host = block->host, .device = block->device};
}

#endif
