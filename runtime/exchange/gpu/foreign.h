/*
 * GPUs of this process unpack messages from the memory of other processes of the node (runtime/exchange/peers.h).
 * They read the block's replica, if the message is there and the replica can be opened, else the block, which is
 * registered with the driver (opened.h). Messages of stand-ins (shown.h) come from the sender's own GPU memory.
 *
 * All functions are thread safe.
 */
#ifndef PW_RUNTIME_GPU_FOREIGN_H
#define PW_RUNTIME_GPU_FOREIGN_H

#include "runtime/engine/gpu/transfer.h"
#include "runtime/exchange/stand_in.h"

/*
 * Carries out an order to unpack whose packed bytes are at `from` in this block. False: the driver does not register
 * such memory, or something failed; the buffer may then hold part of the message, and must be unpacked into again. The
 * block must hold its message during the call.
 *
 * With `late` the read may be a late one (runtime/exchange/late.h) where the sender allows it: the call only
 * launches it and sets *late, and pw_gpu_foreign_finish must follow. Otherwise *late is NULL. The order's buffer and
 * its layout must stay until then.
 */
bool pw_gpu_foreign_unpack(const pw_gpu_order *order, const void *from, const pw_peer_block *block, void **late);

/* The transfer that a move needs, valid as long as both buffers stay what they are. */
typedef struct pw_gpu_repeat {
    pw_gpu_order order; /* with a reference to its layout; of 0 bytes: nothing is known */
    pw_peer_exported memory;
    uint64_t at; /* where that is open */
    pw_segment_late *record;
    pw_layout *layout; /* whose statistics count it */
} pw_gpu_repeat;

/* Moves a message of a stand-in, whose objects lie in GPU memory of another process, to the buffer of an order to
 * unpack which has room for it: by one kernel where one side is contiguous or the layouts join. False: the memory
 * cannot be opened, its owner has ended, or something failed; the buffer may then hold anything. `late` is as above.
 * NULL for `repeat`: the caller will not repeat the move. */
bool pw_gpu_foreign_move(const pw_gpu_order *order, const pw_stand_in *from, void **late, pw_gpu_repeat *repeat);
/* Makes a move again whose buffers are the same, with what they hold now. False: it must be made anew. */
bool pw_gpu_foreign_repeat(const pw_gpu_repeat *repeat, void **late);
void pw_gpu_repeat_forget(pw_gpu_repeat *repeat);

/* Waits for a late read. A failure: the message is lost. */
pw_status pw_gpu_foreign_finish(void *late);

/*
 * From now on, or no longer, this thread gathers short late reads, to launch them together. Whoever has begun that must
 * make MPI go on, and end it: a sender may wait for a read before it sends what MPI waits for here. So between messages
 * pw_gpu_foreign_look follows each step, and launches the reads unless the step has brought another one, or the launch
 * before is under way. Within a collective no rank sends on what it receives, so blocks that are expected for it
 * (`in_call` of their orders) need no looks: reads are launched when they take as long as a launch and the GPU reads
 * nothing, the last ones when the gathering ends.
 */
typedef enum pw_gathering { PW_GATHER_NOTHING, PW_GATHER_ALL, PW_GATHER_BLOCKS } pw_gathering;
void pw_gpu_foreign_gather(pw_gathering what);
pw_gathering pw_gpu_foreign_gathers(void);
void pw_gpu_foreign_look(void);

#endif
