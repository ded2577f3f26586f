/*
 * Late reads. A GPU of the receiver reads a message in the sender's memory by a launch that is still under way when the
 * receiver's MPI tells the sender's that the message is over. The sender waits for the end of the launch before the
 * memory is used again, so several messages are read at once.
 *
 * The offer of each message (directory.h) says whether its sender waits so. The reader names a *signal* there, a word
 * in its own segment that the launch sets, and the value that the word then reaches. So the sender learns of the end
 * though the reader's CPU does nothing. A reader that has ended reads nothing any more.
 *
 * A sender must see the reader's segment, which the system may refuse. So the first message is not read late: its
 * reader gives its process and the identity of its segment in the offer, and a sender that sees that segment watches
 * the process from then on.
 *
 * The blocks of an exchange are parts of one block of the segment, so each has a record in the header.
 *
 * All functions are thread safe; one message has one sender and one reader.
 */
#ifndef PW_RUNTIME_LATE_H
#define PW_RUNTIME_LATE_H

#include "runtime/exchange/directory.h"

/* ---- the sender's side ------------------------------------------------------------------------------------------- */

/* Begins a message. Without `allowed` nobody reads it late; otherwise the sender calls pw_late_await. */
void pw_late_begin(pw_segment_late *late, bool allowed);
/* To be called when MPI has sent the message: waits until a late read is over, or the reader has ended. */
void pw_late_await(pw_segment_late *late);

/* Lets the process that reads the part of a block that begins at `data` do so late, if there is a record left for it.
 * The sender calls pw_late_await_parts. */
void pw_late_begin_part(const void *data);
/* Does what pw_late_await does for all parts that begin in these bytes. */
void pw_late_await_parts(const void *data, int64_t bytes);

/* ---- the reader's side ------------------------------------------------------------------------------------------- */

/* Whether this message may be read late. If only the sender does not watch this process yet, asks it to. */
bool pw_late_may(const pw_segment_header *sender, pw_segment_late *late);
/* The record of the part that begins at this address of the sender. NULL: it has none. */
pw_segment_late *pw_late_part_at(pw_segment_header *sender, uint64_t address);
/* Tells the sender that the message is being read, until the signal of this process has reached the value. */
void pw_late_tell(pw_segment_late *late, uint32_t signal, uint64_t value);

#endif
