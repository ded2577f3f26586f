/*
 * Memory of other processes of the node, opened for GPUs of this process: replicas (replica.h), allocations of the
 * program (shown.h), and blocks of segments, which are registered with the driver, read only. It stays open for the
 * next message (reach.h); at most 2 GiB of blocks are registered. A block whose owner has released its pages is
 * registered anew. An allocation at addresses of another one of the same process says that the other one has been
 * freed.
 *
 * The driver may refuse to open an allocation: the GPUs cannot reach each other, a container or a MIG slice separates
 * them, or the driver has no such calls. This file refuses GPUs that reach each other only across the bus, since they
 * gain nothing. After a refusal this process opens no more GPU memory of that process, and tells it that no GPU here
 * wants replicas.
 *
 * All functions are thread safe. What they return is given back by pw_reach_give; NULL: it cannot be opened.
 */
#ifndef PW_RUNTIME_GPU_OPENED_H
#define PW_RUNTIME_GPU_OPENED_H

#include "runtime/engine/gpu/device.h"
#include "runtime/exchange/peers.h"
#include "runtime/exchange/reach.h"

/* An allocation of GPU memory, and a block of a segment; the block must hold its message meanwhile. */
pw_reached *pw_gpu_opened_take(pw_gpu *gpu, const pw_peer_exported *exported);
pw_reached *pw_gpu_registered_take(pw_gpu *gpu, const pw_peer_block *block);

/* To be called after a message was read in the pinned memory of the exporting process: tells that process that its
 * GPU's memory would be read, if this GPU would read it. */
void pw_gpu_opened_want(const pw_peer_exported *exported);

/* Closes what is open in a context; without `driver` it has ended. Contexts that end call this (pw_gpu_dependent). */
void pw_gpu_opened_close(const pw_gpu *gpu, bool driver);

#endif
