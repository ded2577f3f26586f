/*
 * One move between a buffer and its packed copy, put into a lane's stream: by the layout's kernel, by the kernels of
 * tier 0, or by copies of the driver (HAND's direct transfer), whatever there is first.
 */
#ifndef PW_RUNTIME_GPU_MOVE_H
#define PW_RUNTIME_GPU_MOVE_H

#include "base/direction.h"
#include "runtime/engine/gpu/layout.h"
#include "runtime/engine/memory/buffer.h"

/* The packed copy. Memory that the GPU cannot reach has device 0: then copies of the driver move it. */
typedef struct pw_gpu_packed {
    void *host; /* NULL: device memory */
    pw_cu_ptr device;
} pw_gpu_packed;

static inline pw_gpu_packed pw_gpu_packed_at(pw_gpu_packed p, int64_t offset)
{
    return (pw_gpu_packed){.host = p.host ? (char *)p.host + offset : NULL,
                           .device = p.device ? p.device + (pw_cu_ptr)offset : 0};
}

/* Which part: objects [first, first + n); or, with `sliced`, iterations [first, first + n) of the only object's
 * outermost loop (pw_gpu_buffer_parts says whether it has one). */
typedef struct pw_gpu_part {
    int64_t first, n;
    bool sliced;
} pw_gpu_part;

/* Into how many parts the message can be cut, and the bytes of each; *sliced says how. */
int64_t pw_gpu_buffer_parts(const pw_buffer *b, int64_t *part_bytes, bool *sliced);

typedef struct pw_gpu_move {
    pw_gpu_part part;
    pw_gpu_packed packed; /* where the first byte of the part is */
    pw_direction direction;
    bool plainly;     /* by copies only, after kernels have failed */
    bool last;        /* nothing follows in the stream: a kernel says by the lane's flag when it is through */
    bool one_of_many; /* of a series of launches, which graphs are not worth */
} pw_gpu_move;

/* The context must be current. */
pw_status pw_gpu_move_part(pw_gpu_lane *lane, const pw_buffer *b, const pw_gpu_move *m);
/* `bytes` contiguous bytes between two places that the GPU or the driver knows. */
pw_status pw_gpu_move_bytes(pw_gpu_lane *lane, pw_cu_ptr to, pw_cu_ptr from, int64_t bytes);

/* Launches a kernel with lane->params, of which nothing is needed after the call. A graph is worth it for who launches
 * the function again and again, and one at a time. The lane is not `flagged` then: that is the caller's to say. */
pw_status pw_gpu_launch_kernel(pw_gpu_lane *lane, void *function, const pw_gpu_launch *l, bool by_graph);
/* What the next launch is to write when it is over; nowhere in a lane that has no flag. */
pw_gpu_flag pw_gpu_lane_flag(pw_gpu_lane *lane);

/* ---- by copies of the driver (copies.c) -------------------------------------------------------------------------- */

/* Calls of the driver that it takes for `count` objects: rows that lie evenly are one call. */
int64_t pw_gpu_copies_calls(const pw_nest *nest, int64_t count);
pw_status pw_gpu_copies_move(void *stream, const pw_nest *nest, char *mem, int64_t count, pw_gpu_packed packed,
                             pw_direction direction);

#endif
