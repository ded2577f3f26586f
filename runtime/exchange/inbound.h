/*
 * Expected messages: receives into staging memory whose message may be unpacked while it arrives. When MPI copies bytes
 * from memory of another process that this process has mapped (runtime/exchange/peers.h), these functions unpack
 * them straight into the user's buffer. That saves the copy into staging memory and the pass over it. A message whose
 * length is not known, or that comes in another order, is in the staging memory, to be unpacked from there.
 *
 * An MPI copies a long message piece by piece. The sender packs all of it before it calls its MPI, and does not write
 * there again before the last piece has been read. So the first piece makes this process unpack all of it, and the
 * other pieces are done. The sender says how long the message is (runtime/exchange/segment.h).
 *
 * Only what MPI writes and never reads is unpacked: point-to-point receives, and the blocks of exchanges, such as
 * MPI_Alltoallv, from which MPI sends nothing on. Other collectives do, so for them the bytes are only copied.
 *
 * A pw_inbound belongs to the caller that expects the message. Its pieces may arrive in any thread in which MPI works,
 * one after the other, and all of them before MPI reports the operation as complete. So no lock is needed.
 */
#ifndef PW_RUNTIME_INBOUND_H
#define PW_RUNTIME_INBOUND_H

#include "base/status.h"
#include "runtime/engine/layout/layout.h"
#include "runtime/exchange/peers.h"
#include "runtime/exchange/stand_in.h"

typedef struct pw_inbound pw_inbound;

/* Expects a message of at most `bytes` bytes into `data` for objects of `layout` at `buf`.
 * Without a layout the bytes are copied to `data` and stay there. This saves time, since memory that is not expected
 * must first be tested whether it can be written, which takes as long as the copy. NULL: too many messages are expected
 * already, so MPI copies this one. */
pw_inbound *pw_inbound_expect(void *data, int64_t bytes, pw_layout *layout, void *buf);
/*
 * As pw_inbound_expect, for a buffer that the CPU does not unpack. The taker's functions move a whole message: `unpack`
 * one of `bytes` bytes at `from` in a block of another process, `move` one that a stand-in stands for, which is not
 * longer than what is expected. If they return false, MPI copies the message, and whatever they have written is
 * overwritten. They may leave a late read (late.h) under way and set *late, for which `finish` waits; a taker that
 * never does so has no `finish`. They get a copy of the `arg_bytes` bytes at `arg`, and run in any thread in which MPI
 * works. The taker must live as long as the process. A block of an exchange (`is_block`) is as long as what the other
 * rank sends. It lies in memory with others, which pw_inbound_forget_blocks releases.
 */
typedef struct pw_inbound_taker {
    bool (*unpack)(const void *arg, const void *from, int64_t bytes, const pw_peer_block *block, void **late);
    bool (*move)(const void *arg, const pw_stand_in *from, void **late);
    pw_status (*finish)(void *late);
} pw_inbound_taker;
enum { PW_INBOUND_ARG = 128 };
pw_inbound *pw_inbound_expect_by(void *data, int64_t bytes, bool is_block, const pw_inbound_taker *take,
                                 const void *arg, size_t arg_bytes);
/* Ends the expectation of all that is expected in that memory. */
void pw_inbound_forget_blocks(const void *data, int64_t bytes);
/* The number of messages that are now expected by a taker. */
int pw_inbound_takers(void);
/* Expects the next message into the same memory. */
void pw_inbound_expect_again(pw_inbound *in);
/* Returns how many bytes are in the user's buffer, which are all or none. */
int64_t pw_inbound_in_place(const pw_inbound *in);
/* Waits for the late read that is under way, if there is one. A failure: what is in place is not the message. */
pw_status pw_inbound_finish(pw_inbound *in);
/* Ends the expectation, after a late read. NULL is allowed. */
void pw_inbound_forget(pw_inbound *in);

/* ---- for the code that copies ------------------------------------------------------------------------------------ */

/* Returns the expected message whose staging memory contains `to`. NULL: none. Signal handlers may call it, too. */
pw_inbound *pw_inbound_at(const void *to);
/* The number of bytes from `to` to the end of that memory. */
int64_t pw_inbound_room(const pw_inbound *in, const void *to);
/* Delivers `bytes` bytes that MPI wants to have at `to` and that can be read at `from`; pw_inbound_room bounds `bytes`.
 * `block` is the block of another process that they lie in; NULL: not known. `objects`: what the block stands for;
 * NULL: it has the bytes. False: they cannot be read, with the reason in errno. */
bool pw_inbound_arrive(pw_inbound *in, void *to, const void *from, int64_t bytes, const pw_peer_block *block,
                       pw_stand_in *objects);

#endif
