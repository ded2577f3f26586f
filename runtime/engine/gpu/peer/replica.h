/*
 * Replicas: memory of a GPU beside the pinned memory in which messages leave (PW_GPU_OUTBOUND_MEMORY), open to other
 * processes of the node. A message is packed there, and copied from there to the pinned memory: that is what MPI has,
 * and anybody can read. A peer whose GPU has opened the replica (opened.h) reads it instead, over NVLink or in the
 * memory that both share, and the way back across the bus is saved.
 *
 * A replica is made when a peer has said that it would read it, and stays with its block. The driver leaves open what
 * happens to who reads memory that its owner has freed. So a replica whose block is given back waits for another one,
 * and is freed with its context. There are 512 MiB of replicas at most.
 *
 * All functions are thread safe; a block is one thread's.
 */
#ifndef PW_RUNTIME_GPU_REPLICA_H
#define PW_RUNTIME_GPU_REPLICA_H

#include "runtime/engine/gpu/pool.h"

/* Messages that are shorter gain nothing (docs/gpu.md). */
enum { PW_GPU_REPLICA_LEAST = 512 << 10 };

/* The replica of a block, which others know of, for a message of so many bytes. 0: it is not wanted, or cannot be had.
 */
pw_cu_ptr pw_gpu_replica_of(pw_gpu *gpu, pw_gpu_block *block, int64_t bytes);

/* Bytes of all replicas. */
int64_t pw_gpu_replicas_bytes(void);

#endif
