/*
 * Messages that leave in a replica (replica.h) and nowhere else. The GPU packs into the replica; MPI gets a block of
 * lazy memory (runtime/exchange/lazy.h), which has no pages. A peer's GPU reads the replica, and the block is never
 * touched. Whoever else reads the block gets the message all the same, but later: this process's MPI that
 * copies fragments, a peer without Packwright or without a GPU, the system for another node.
 *
 * So this file looks at what becomes of the messages that go the same way (a *channel*, a communicator and a
 * destination in it). After a message whose block was read, the next messages of the channel are packed to host memory,
 * as many as go other ways after a stand-in that was touched (runtime/exchange/direct.h).
 *
 * All functions are thread safe; one block is used by one thread at a time.
 */
#ifndef PW_RUNTIME_GPU_LAZY_H
#define PW_RUNTIME_GPU_LAZY_H

#include "runtime/engine/gpu/transfer.h"

/* Whether the environment and the system allow such messages. */
bool pw_gpu_lazy_is_possible(void);

/* Takes a block with its replica, to which a message of `bytes` bytes that is sent once on a channel is to be packed;
 * 0 stands for no channel. NULL: the message must be packed to host memory. */
pw_gpu_block *pw_gpu_lazy_take(pw_gpu *gpu, int64_t bytes, uint64_t channel);
/* The message, `bytes` bytes, is packed: MPI may get the block. `late`: others may read it late
 * (runtime/exchange/late.h). */
void pw_gpu_lazy_hold(pw_gpu_block *block, int64_t bytes, bool late);
/* MPI has sent the message, or never got it. */
void pw_gpu_lazy_give(pw_gpu *gpu, pw_gpu_block *block, uint64_t channel);

static inline bool pw_gpu_is_lazy(const pw_gpu_block *block)
{
    return block && block->memory == PW_GPU_LAZY_MEMORY;
}

#endif
