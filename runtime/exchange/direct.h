/*
 * Messages that the receiver takes from the sender's own memory, the sender's side. MPI gets a stand-in, a block of
 * lazy memory of the segment (lazy.h). Its offer says where the message lies, how many objects it has, and which layout
 * of the board. The receiver's MPI asks for the bytes of the stand-in by process_vm_readv, and its Packwright moves
 * them from the memory of the offer (stand_in.h). The memory is the host's or a GPU's (runtime/exchange/gpu/shown.h).
 * Whoever else reads the stand-in gets the message packed, as far as lazy memory serves. MPI reports the send as
 * complete when the receiver has said that its read is over, so the program does not write to its buffer before.
 *
 * A channel is a communicator with a rank in it. Not every receiver reads in this way, and a sender learns it from
 * evidence alone. The first messages of a channel are packed to the stand-in's pages, so whoever reads them gets them;
 * the offer counts the bytes that were taken from the user's memory. Once two messages were taken whole, messages
 * of that length and longer ones have no pages. A message that was not taken whole, or whose stand-in was touched, ends
 * that: the channel gets 16 messages in the other ways, then twice as many each time, up to 4096, before it begins
 * anew. One that is shorter than all that were taken says nothing of these, since an MPI copies short messages itself:
 * only messages of up to its length go in the other ways.
 *
 * All functions are thread safe.
 */
#ifndef PW_RUNTIME_DIRECT_H
#define PW_RUNTIME_DIRECT_H

#include "runtime/engine/memory/view.h"
#include "runtime/exchange/directory.h"
#include "runtime/exchange/lazy.h"

enum {
    PW_SEGMENT_STAND_INS = 256,          /* as many messages as a receiver expects at a time (inbound.c) */
    PW_SEGMENT_STAND_IN_BYTES = 32 << 20 /* addresses of one: the longest message that it stands for */
};

/* Whether others may map the memory that the objects touch: a block of the heap, or any memory by XPMEM. */
bool pw_direct_is_mapped(const pw_buffer *objects);

/* Whether there are stand-ins. The first call maps one. */
bool pw_direct_is_possible(void);

/* The channel that has this number, which is not 0, until channels are forgotten. */
uint64_t pw_direct_channel(uint64_t number);
/* Whether anything was learned of any channel since channels were forgotten. */
bool pw_direct_knows_channels(void);
/* To be called before any number comes to mean another channel. What is noted of the channels from before, as by
 * messages that are still under way, says nothing of those that pw_direct_channel gives from now on. */
void pw_direct_forget_channels(void);

/* Whether the next message of a channel is to go its special way: on the sender's side that of stand-ins, on the
 * receiver's to be staged only because a stand-in may come. `note` records what became of one of so many bytes,
 * INT64_MAX if of all of them: `taken` if it went past the staging memory. After one that did not, messages go other
 * ways, as many as said above. Returns whether enough did so that messages of as many bytes need no pages. */
bool pw_channel_may(uint64_t channel, int64_t bytes);
bool pw_channel_note(uint64_t channel, int64_t bytes, bool taken);

/* The number by which messages of the channel that leave in lazy memory (gpu/lazy.h) are noted: no channel has it,
 * since all have bit 1, and it does not fall on the channel's place. */
static inline uint64_t pw_channel_apart(uint64_t channel)
{
    return channel ^ 2;
}

/* Takes a stand-in for messages of objects of the layout, NULL for plain bytes, of up to `bytes` bytes on this channel.
 * -1: this message is to go another way, as one whose layout has too long a text for others to read. */
int pw_direct_take(uint64_t channel, const pw_layout *layout, int64_t bytes);
void *pw_direct_data(int number);
/* Ends the stand-in's message and prepares it for one of as many bytes. False: that one is to go another way. */
bool pw_direct_again(int number, int64_t bytes);
/* A message that a stand-in stands for. */
typedef struct pw_direct_message {
    pw_buffer objects;
    const pw_segment_exported *exported; /* the allocation of GPU memory that has the objects; NULL: host memory */
    pw_lazy_maker *make;                 /* packs for readers of the stand-in; NULL: the CPU packs */
    void *arg;
} pw_direct_message;

/* Lets the stand-in stand for a message, in place of the one before. */
void pw_direct_begin(int number, const pw_direct_message *message);
/* Writes the offer of a stand-in, or one that no MPI knows. `text`: of the layout; `exported`: as in a message. */
void pw_direct_offer(pw_segment_offer *o, const pw_buffer *objects, const pw_segment_exported *exported,
                     const pw_segment_text *text);
/* To be called when MPI has sent the message: waits until a late read of it is over (late.h), and ends the message. */
void pw_direct_await(int number);
/* Ends the message, if there is one: nobody reads its memory any longer. */
void pw_direct_end(int number);
/* Ends the message, and gives the stand-in back. */
void pw_direct_give(int number);

#endif
