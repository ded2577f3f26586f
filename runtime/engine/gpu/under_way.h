/*
 * What transfer.c and batch.c know of a transfer under way: one that has a lane of its own, or a member of a batch,
 * whose transfers are launched together.
 */
#ifndef PW_RUNTIME_GPU_UNDER_WAY_H
#define PW_RUNTIME_GPU_UNDER_WAY_H

#include "runtime/engine/gpu/transfer.h"

struct pw_gpu_batch;

/* Lives in its lane, or in its batch. */
struct pw_gpu_transfer {
    pw_gpu_order order;
    bool plainly; /* by copies only, after kernels have failed */
    pw_gpu_lane *lane;
    pw_gpu_block *scratch, *part; /* device memory: for the packed copy, for one object */
    pw_status begun;              /* has its work got into the stream? */
    struct pw_gpu_batch *batch;   /* NULL: it is alone */
};

/* The context must be current. Puts the work of t into its lane's stream, by launches of its own. */
pw_status pw_gpu_enqueue(pw_gpu_transfer *t);

/*
 * Adds a transfer to those that this thread collects. They are launched by the first pw_gpu_finish, or earlier, when
 * one comes that does not fit in: of another direction or context, or too large for the room that is left. NULL: this
 * transfer cannot be batched.
 */
pw_gpu_transfer *pw_gpu_batch_add(const pw_gpu_order *order);
/* Launches what this thread has collected. To be called before it waits for anything else. */
void pw_gpu_batch_launch(void);
/* Of a member; by any thread. */
pw_status pw_gpu_batch_finish(pw_gpu_transfer *t);

#endif
