/*
 * A move between two views: objects of one layout go to objects of another with as many bytes, in one pass where one
 * pass can do it, and without a packed form in between.
 *
 * A view is a pw_buffer: a layout, the memory that it lies in, an address and a count. A move is possible where one
 * processor reaches both views: the CPU, or one GPU in one context. Whoever has a view that it does not reach moves
 * through a dense view that it does (a staging buffer).
 *
 * Moves in GPU memory go on beside the caller. Those that are begun one after the other share launches
 * (runtime/engine/gpu/batch.c).
 */
#ifndef PW_RUNTIME_MOVE_H
#define PW_RUNTIME_MOVE_H

#include "base/status.h"
#include "runtime/engine/layout/layout.h"
#include "runtime/engine/memory/buffer.h"

struct pw_gpu_order;

/* Plain data: may be moved. One thread at a time uses it. */
typedef struct pw_move {
    pw_buffer from, to; /* with references to their layouts */
    pw_joined joined;   /* layout NULL: a side is dense, or the layouts do not join */
    struct pw_gpu_transfer *under_way;
} pw_move;

/* Whether one processor reaches both views, which are of equal length, and they have no byte in common. */
bool pw_move_is_possible(const pw_buffer *from, const pw_buffer *to);
/* Prepares a move that is possible. False: it would take two passes of the CPU, so the caller may as well stage it. */
bool pw_move_open(pw_move *m, const pw_buffer *from, const pw_buffer *to);
/* Begins a move in GPU memory as far as it can without waiting; does nothing for others. pw_move_finish must follow. */
void pw_move_begin(pw_move *m);
/*
 * Makes a move in GPU memory one transfer (runtime/engine/gpu/transfer.h), which needs what the move holds. Its context
 * is that of `to`; `from` may be memory of another GPU that this context reaches: a peer's after cuCtxEnablePeerAccess,
 * or another process's after cuIpcOpenMemHandle. Like all transfers it waits for the legacy default stream of its own
 * context only, so the caller makes sure that such memory was written before. False: the kernel that it takes is not
 * there yet; the bytes are counted towards it.
 */
bool pw_move_as_one(const pw_move *m, struct pw_gpu_order *order);
/* Waits for a move that has begun, and otherwise carries it out. May be called again, which moves again. */
pw_status pw_move_finish(pw_move *m);
/* Releases what an open move holds, after what is under way. */
void pw_move_close(pw_move *m);

/* Moves all of `from` to `to`, which are of equal length and have no byte in common, wherever the two lie, and waits.
 * The objects of `to` may end within one. `known` is what their layouts join to; NULL: that is looked up. */
pw_status pw_move_now(const pw_buffer *from, const pw_buffer *to, const pw_joined *known);

#endif
