/*
 * A transfer under way, for transfer.c and batch.c. It either has a lane of its own or is a member of a batch, whose
 * transfers share a launch.
 */
#ifndef PW_RUNTIME_GPU_UNDER_WAY_H
#define PW_RUNTIME_GPU_UNDER_WAY_H

#include "runtime/engine/gpu/transfer.h"

/* Its memory belongs to its lane or to its batch. */
struct pw_gpu_transfer {
    pw_gpu_order order;
    bool plainly; /* use copies only: a kernel has failed */
    pw_gpu_lane *lane;
    pw_gpu_block *scratch, *part; /* device memory for the packed copy, and for one object */
    pw_status begun;              /* PW_OK: its work is in the stream */
    struct pw_gpu_batch *batch;   /* NULL: it has a lane of its own */
};

/* Puts the work of t into its lane's stream, by launches of its own. The context must be current. */
pw_status pw_gpu_enqueue(pw_gpu_transfer *t);

/*
 * Adds a transfer to the batch that this thread collects. The first pw_gpu_finish of a member launches the batch. A
 * transfer that does not fit launches it earlier: one in another context, too large for the remaining room, or of
 * another direction and with tables. NULL: this transfer cannot be batched.
 */
pw_gpu_transfer *pw_gpu_batch_add(const pw_gpu_order *order);
/* Whether a transfer has the size and the layout for a batch. */
bool pw_gpu_batch_takes(const pw_gpu_order *order);
bool pw_gpu_batch_is_launched(struct pw_gpu_batch *batch);
/* Promises, before the batch is launched, that signal *number will reach *value when all members are moved. */
bool pw_gpu_batch_signals(struct pw_gpu_batch *batch, uint32_t *number, uint64_t *value);
/* Waits for a member of a batch. Any thread may call this. */
pw_status pw_gpu_batch_finish(pw_gpu_transfer *t);

#endif
