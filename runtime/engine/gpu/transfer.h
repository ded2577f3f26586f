/*
 * Whole transfers between a user's buffer on a GPU and its packed copy. A transfer takes its lane and scratch memory
 * from the pools and leaves the caller's current context unchanged. When kernels fail, it falls back to copies of the
 * driver and logs one warning; it returns the status if these fail, too.
 *
 * A transfer has two steps: pw_gpu_begin puts its work into the stream of a lane, pw_gpu_finish waits for it. A caller
 * with several transfers begins them all before it finishes the first; they then overlap on the GPU. Short transfers
 * that one thread begins in a row are collected, and the first pw_gpu_finish of one of them launches all as one kernel
 * (batch.c).
 */
#ifndef PW_RUNTIME_GPU_TRANSFER_H
#define PW_RUNTIME_GPU_TRANSFER_H

#include "runtime/engine/gpu/move.h"

/* The path of the bytes between the buffer and the packed copy. */
typedef enum pw_gpu_path {
    PW_GPU_DIRECT, /* kernels write and read the packed copy, in device or mapped memory */
    PW_GPU_STAGED  /* kernels write to device memory, then one copy follows; unpacking runs in reverse */
} pw_gpu_path;

/* A transfer as the caller orders it. */
typedef struct pw_gpu_order {
    pw_buffer buffer;
    pw_gpu_packed packed;
    int64_t bytes; /* to be moved, from the beginning of the packed copy; when packing, all of buffer.bytes */
    pw_direction direction;
    pw_gpu_path path;
    pw_cu_ptr replica; /* when packing to host memory: device memory that also gets the packed bytes
                          (runtime/exchange/gpu/replica.h); 0: none */
    bool alone;        /* pw_gpu_begin launches it at once, and not together with others */
    bool ahead;        /* pw_gpu_begin starts it however long it is */
    bool in_call;      /* it unpacks a block of the blocking collective that this thread is in */
    bool foreign;      /* it reads memory of another process, which takes as long as a link does */
} pw_gpu_order;

typedef struct pw_gpu_transfer pw_gpu_transfer;

/* Starts a transfer, or collects it with others. NULL: it was not started, because it is long, because enough is under
 * way already, or because something failed; pw_gpu_carry_out then does the transfer, or returns the failure. */
pw_gpu_transfer *pw_gpu_begin(const pw_gpu_order *order);
/* Waits for a transfer that was begun, and frees it. Any thread may call this. */
pw_status pw_gpu_finish(pw_gpu_transfer *t);
/* Whether another process can wait for a transfer that was begun, launched or still collected: until signal *number of
 * this process (runtime/exchange/late.h) has reached *value. If the launch fails, pw_gpu_finish sets the signal. */
bool pw_gpu_signals(const pw_gpu_transfer *t, uint32_t *number, uint64_t *value);
/* Launches the short transfers that this thread has begun and that are still collected. Must be called before the
 * thread waits for anything else. */
void pw_gpu_launch_begun(void);
/* Whether a transfer that was begun is over, so that pw_gpu_finish does not wait. No other thread may finish it. */
bool pw_gpu_is_over(const pw_gpu_transfer *t);
/* Whether the transfer may share a launch with others: it is short, and its layout suits. */
bool pw_gpu_is_fusable(const pw_gpu_order *order);
/* Does a transfer and waits for it. */
pw_status pw_gpu_carry_out(const pw_gpu_order *order);

/* Whether a kernel should pack this many bytes of the layout to device memory and copy them from there, since its
 * pieces have odd lengths, which kernels write slowly to host memory. */
bool pw_gpu_is_odd(pw_layout *layout, int64_t bytes);

static inline pw_gpu_packed pw_gpu_packed_in(const pw_gpu_block *block)
{
    return (pw_gpu_packed){.host = block->host, .device = block->device};
}

#endif
