/*
 * Memory of other processes of this node (runtime/engine/node/peers.h) as GPUs of this one read it: in the block's
 * replica, if the message is there, too, and the replica can be opened (opened.h); else in the block. A block that a
 * message lies in is registered with the driver, read only, and stays so for the next message there: up to 256 blocks
 * and 1 GiB, of which those give way that were used least lately. A block whose pages its owner has let go of is
 * registered anew.
 *
 * All functions are thread safe.
 */
#ifndef PW_RUNTIME_GPU_FOREIGN_H
#define PW_RUNTIME_GPU_FOREIGN_H

#include "runtime/engine/gpu/transfer.h"
#include "runtime/engine/node/peers.h"

/*
 * Unpacks what is at `from`, in this block: an order whose packed copy is there. False: the driver does not take such
 * memory, or something has failed; what has been written does not count. The block must hold its message during the
 * call.
 */
bool pw_gpu_foreign_unpack(const pw_gpu_order *order, const void *from, const pw_peer_block *block);

/* Lets go of what was registered in this context, which does so itself when it ends (pw_gpu_dependent). */
void pw_gpu_foreign_close(const pw_gpu *gpu, bool driver);

typedef struct pw_gpu_foreign_usage {
    int blocks;
    int64_t bytes, registrations; /* registrations: since the start */
} pw_gpu_foreign_usage;

pw_gpu_foreign_usage pw_gpu_foreign_usage_now(void);

#endif
