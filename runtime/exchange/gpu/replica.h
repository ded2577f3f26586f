/*
 * A replica is a block of GPU memory beside a block of pinned memory in which messages leave (PW_GPU_OUTBOUND_MEMORY).
 * Other processes of the node may open it. The GPU packs a message into the replica and copies it to the pinned memory,
 * which MPI gets and every process can read. A peer whose GPU has opened the replica (opened.h) reads it there, over
 * NVLink or in the memory of the same GPU, and saves a transfer across the bus.
 *
 * A replica is made once a peer has announced that it would read it, and stays with its block. CUDA does not define
 * what happens to a process that reads memory which its owner has freed. So when the pool frees the block, the replica
 * waits for another block, and is freed with its context. All replicas together have at most 512 MiB.
 *
 * Where it is possible, the copy to host memory is left out (lazy.h): the replica alone then holds the message.
 *
 * All functions are thread safe; one block is used by one thread at a time.
 */
#ifndef PW_RUNTIME_GPU_REPLICA_H
#define PW_RUNTIME_GPU_REPLICA_H

#include "runtime/engine/gpu/pool.h"

/* Shorter messages gain nothing from a replica (measured on two H200s). */
enum { PW_GPU_REPLICA_LEAST = 512 << 10 };

/* Returns the device address of the block's replica for a message of `bytes` bytes, and makes the replica at first use.
 * 0: no peer wants replicas, the message is short, or there is no memory for one. */
pw_cu_ptr pw_gpu_replica_of(pw_gpu *gpu, pw_gpu_block *block, int64_t bytes);

/* Returns the device address of the replica of a block of lazy memory, and makes the replica at first use. 0: there is
 * no memory for one, or the driver opens none to other processes. */
pw_cu_ptr pw_gpu_replica_alone(pw_gpu *gpu, pw_gpu_block *block);
/* Returns the address of the replica that the block has. */
pw_cu_ptr pw_gpu_replica_address(const pw_gpu_block *block);
/* Copies the first `bytes` bytes of that replica to host memory, and waits for nothing else that the GPU does. */
pw_status pw_gpu_replica_read(const pw_gpu_block *block, void *to, int64_t bytes);

#endif
