/*
 * Copies from layout to layout in GPU memory: one launch in one context reads the one user's memory and writes the
 * other's, without a packed form in between. Either side may be memory of another GPU that this context can reach: a
 * peer's after cuCtxEnablePeerAccess, or another process's after cuIpcOpenMemHandle. Peer memory is best read, so the
 * context should be that of the GPU that is written.
 *
 * A copy is begun and finished as other transfers are (transfer.h), takes a lane from the pool, and learns of its end
 * by the lane's flag or stream. Like all transfers it waits for the legacy default stream of its own context, and for
 * no other stream: the caller makes sure that a peer's memory has been written before, and may be read until the copy
 * is finished. The memory that is read and the memory that is written must not overlap.
 *
 * Any thread may call these functions. The layouts in `joined` must live until the copy is finished.
 */
#ifndef PW_RUNTIME_GPU_JOINED_H
#define PW_RUNTIME_GPU_JOINED_H

#include "runtime/engine/gpu/transfer.h"

/* A copy as its caller asks for it. Addresses are those from which displacements count, as the context sees them. */
typedef struct pw_gpu_copy_order {
    const pw_joined *joined;
    pw_gpu *gpu; /* the work is done in its context */
    const void *from;
    void *to;
    int64_t bytes; /* packed bytes of both sides: a multiple of the size of each side's object */
} pw_gpu_copy_order;

/*
 * Whether one launch can do the copy now: by the pair's own kernel, by tier 0, or by the kernel of one side where the
 * other is contiguous. False: it takes two passes, or copies of the driver; the call has then counted the bytes and
 * asked for the kernel as a transfer does. In sync mode it compiles the kernel.
 */
bool pw_gpu_joined_is_ready(const pw_gpu_copy_order *order);

/* The transfer that does a copy which is ready. It needs what order->joined refers to until it is finished. */
pw_gpu_order pw_gpu_joined_order(const pw_gpu_copy_order *order);

/* Copies, and waits: in one launch if that is ready, otherwise by packing into device memory of this context and
 * unpacking from there. */
pw_status pw_gpu_joined_copy(const pw_gpu_copy_order *order);

#endif
