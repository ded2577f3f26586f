/*
 * Messages that are packed while they leave. MPIs send a long contiguous message to another node by few calls that
 * write to a socket (runtime/mpi/entry/socket_send.c), which take the bytes straight from the memory that MPI got. So
 * MPI gets a stand-in, a block of lazy memory (lazy.h), and what such a call wants to send is packed piece by piece:
 * the system sends one piece while the next one is packed. Whoever else reads the stand-in gets the message packed, as
 * far as lazy memory serves. The receiver sees no difference.
 *
 * Not every message leaves in this way. The first ones of a channel (direct.h) are packed as ever, and only watched;
 * when two have left whole through stream sockets, messages of that length and longer ones are packed while they leave.
 * One that did not leave so ends that, as with direct messages.
 *
 * All functions are thread safe.
 */
#ifndef PW_RUNTIME_LEAVING_H
#define PW_RUNTIME_LEAVING_H

#include "runtime/engine/layout/layout.h"

/* A message that is packed while it leaves, or watched. It belongs to whoever has taken it. */
typedef struct pw_leaving pw_leaving;

enum {
    PW_LEAVING_LEAST = 512 << 10, /* shorter messages are sent as soon as they are packed */
    PW_LEAVING_PIECE = 64 << 10   /* so many bytes are packed together: a fast cache holds them until they are sent */
};

/* Takes a stand-in for a message of `bytes` bytes on this channel (direct.h). NULL: the message is to be packed before
 * MPI gets it. */
pw_leaving *pw_leaving_take(uint64_t channel, int64_t bytes);
void *pw_leaving_data(const pw_leaving *l);
/* Lets the stand-in stand for objects of `layout` at `memory`. The caller holds a reference to the layout. */
void pw_leaving_begin(pw_leaving *l, pw_layout *layout, const void *memory);
/* Watches how a packed message at `data` leaves. NULL: it is not worth it now. */
pw_leaving *pw_leaving_watch(uint64_t channel, const void *data, int64_t bytes);
bool pw_leaving_is_watched(const pw_leaving *l);
/* Ends either when MPI is through with the message. Returns whether it left whole through sockets. NULL is allowed. */
bool pw_leaving_end(pw_leaving *l);

/* ---- for the code that sends ------------------------------------------------------------------------------------- */

/* Whether there is any message. This and the next function may be called anywhere, also in signal handlers. */
bool pw_leaving_is_any(void);
/* Returns the message with the byte at `from`. NULL: none. */
pw_leaving *pw_leaving_at(const void *from);
/* Packs bytes that are wanted from `from` on to `piece`, at most PW_LEAVING_PIECE of them, and returns how many;
 * `bytes` are wanted. Not for a message that is watched. */
int64_t pw_leaving_pack(const pw_leaving *l, const void *from, int64_t bytes, void *piece);
/* Gives the stand-in its bytes, for a call that cannot send piece by piece. */
void pw_leaving_make(pw_leaving *l);
/* A stream socket has taken `bytes` bytes of the message. */
void pw_leaving_sent(pw_leaving *l, int64_t bytes);

#endif
