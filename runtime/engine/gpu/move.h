/*
 * One move between a buffer and its packed copy, put into a lane's stream. The first of these that is available does
 * it: the layout's kernel, the kernels of tier 0, copies of the driver (HAND's direct transfer).
 */
#ifndef PW_RUNTIME_GPU_MOVE_H
#define PW_RUNTIME_GPU_MOVE_H

#include "base/direction.h"
#include "runtime/engine/gpu/layout.h"
#include "runtime/engine/memory/buffer.h"

/* The packed copy. `device` is 0 for memory that the GPU cannot reach: then only copies of the driver move it. */
typedef struct pw_gpu_packed {
    void *host; /* NULL: device memory */
    pw_cu_ptr device;
} pw_gpu_packed;

static inline pw_gpu_packed pw_gpu_packed_at(pw_gpu_packed p, int64_t offset)
{
    return (pw_gpu_packed){.host = p.host ? (char *)p.host + offset : NULL,
                           .device = p.device ? p.device + (pw_cu_ptr)offset : 0};
}

typedef struct pw_gpu_move {
    int64_t first, n;     /* the objects [first, first + n) */
    pw_gpu_packed packed; /* where their first byte is */
    pw_direction direction;
    bool plainly; /* use copies only: a kernel has failed */
    bool last;    /* nothing follows in the stream: the kernel may set the lane's flag when it is done */
} pw_gpu_move;

/* Puts a move of objects of a buffer that has a layout into the lane's stream. The context must be current. */
pw_status pw_gpu_move_objects(pw_gpu_lane *lane, const pw_buffer *b, const pw_gpu_move *m);
/* Does what pw_gpu_move_bytes does by a launch that sets the lane's flag; kernels must reach both addresses. False:
 * there is no kernel yet, and nothing is put there. */
bool pw_gpu_launch_bytes(pw_gpu_lane *lane, pw_cu_ptr to, pw_cu_ptr from, int64_t bytes);

/* Launches gathered moves, the last work in the stream, as one. `flagged`: the launch sets the lane's flag, if there is
 * one. PW_ERR_NOT_FOUND: there is no kernel. */
pw_status pw_gpu_launch_fused(pw_gpu_lane *lane, const pw_gpu_fused *jobs, bool flagged);

/* ---- by copies of the driver (copies.c) -------------------------------------------------------------------------- */

/* The number of driver calls that `count` objects take: evenly spaced rows are one call. */
int64_t pw_gpu_copies_calls(const pw_nest *nest, int64_t count);
/* Puts copies for `count` objects, the first of them at `mem`, into the stream. */
pw_status pw_gpu_copies_move(void *stream, const pw_nest *nest, char *mem, int64_t count, pw_gpu_packed packed,
                             pw_direction direction);

#endif
