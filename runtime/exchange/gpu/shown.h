/*
 * Messages that other processes' GPUs take from the program's own GPU memory, the sender's side. MPI gets a stand-in
 * (runtime/exchange/direct.h), whose record also has the allocation that the objects lie in. A receiver with a GPU
 * opens the allocation (opened.h), and moves the message from there into its own buffer by one kernel (foreign.h). The
 * sender packs nothing. A receiver into host memory has its GPU pack the message, if that has taken one before. For
 * whoever else reads the stand-in, the sender's GPU packs the message into device memory, which is copied to the
 * reader, as far as lazy memory serves it; messages of a channel that is not proven have pages.
 *
 * Like packing, this waits for the work of the legacy default stream, before MPI gets the message. Messages of one call
 * wait for it once (pw_gpu_show_together).
 *
 * All functions are thread safe; a stand-in belongs to the thread that has taken it.
 */
#ifndef PW_RUNTIME_GPU_SHOWN_H
#define PW_RUNTIME_GPU_SHOWN_H

#include "runtime/engine/gpu/transfer.h"
#include "runtime/exchange/directory.h"

/* Whether a message of GPU memory may get a stand-in. */
bool pw_gpu_may_show(void);

/* Offers the buffer to other processes, as by a stand-in of which no MPI knows, once the program's work in the default
 * stream is done. It must stay as it is until the offer's late read is over (late.h). False: it does not lie in one
 * allocation that the driver opens to them, or its layout cannot be told. */
bool pw_gpu_offer(pw_segment_offer *o, const pw_buffer *buffer);

/* Offers the buffer again that was offered last, under the same conditions. False: it lies in another allocation now,
 * or something failed. */
bool pw_gpu_offer_again(pw_segment_offer *o, const pw_buffer *buffer);

/* Prepares to show the buffer by a stand-in, which must have been taken, and have no message. False: the buffer does
 * not lie in one allocation that the driver opens to other processes. */
bool pw_gpu_show(int number, const pw_buffer *buffer);
/* Lets the stand-in stand for the buffer's objects. To be called once after each pw_gpu_show. */
pw_status pw_gpu_show_begin(int number);
/* Begins and ends a series of pw_gpu_show_begin of this thread, in which the program does nothing. */
void pw_gpu_show_together(bool on);
/* MPI has sent the message, or never got it. Gives the stand-in back, too. */
void pw_gpu_show_end(int number);

#endif
