/*
 * The segment: memory of this process that others on the node can map, for packed messages that leave this rank. It is
 * an anonymous file, so nothing stays behind however the process ends. A process that may read this one's memory
 * (process_vm_readv asks the same) finds it among the open files of /proc/PID/fd (peers.h).
 *
 * The file begins with a header (directory.h). Behind it lie pieces: each holds blocks of one size, is mapped by its
 * owner when it is first needed, and by others when they first read a message in it. A piece is as long as the pieces
 * of its size before it together, from 64 KiB to 32 MiB or one block: no more addresses are taken than twice what was
 * in use at once. A block gets its pages when it is taken, all of them, so that writing to it cannot fail; when it is
 * given back its pages go back to the system. The file is sparse, and no longer than RLIMIT_FSIZE allows. None of it is
 * written to core dumps.
 *
 * GPUs of other processes may keep a block pinned (runtime/engine/gpu/peer/foreign.h), with the pages that it had. So
 * its record counts how often it has lost them. The record also tells how long the message in the block is: a process
 * that is asked for the first bytes of it knows that it can read all of it.
 *
 * Beside a block there may be memory of a GPU that holds the same message, and that others may open
 * (runtime/engine/gpu/peer/replica.h). The record has what they need for it, and says whether the message that is in
 * the block is there, too.
 *
 * All functions are thread safe. A child process of fork does not have the segment.
 */
#ifndef PW_RUNTIME_SEGMENT_H
#define PW_RUNTIME_SEGMENT_H

#include "runtime/engine/node/directory.h"

#include <stddef.h>

/* Creates the segment, or opens it again, unless the environment says that there is to be none (PACKWRIGHT_SHARED,
 * _DISABLE). Where that cannot be, pw_segment_take gives nothing. */
void pw_segment_open(void);
/* Others look into it no longer. Blocks stay valid. */
void pw_segment_close(void);

bool pw_segment_is_open(void);
/* Has another process read a message here? */
bool pw_segment_is_read(void);
/* Would one read replicas? */
bool pw_segment_wants_replicas(void);

/* A block of `bytes` bytes, a power of two from 4 KiB to 256 MiB, aligned to a page, or to 2 MiB if it is that long.
 * NULL: there is no segment, it is full, or the limits of the process or the memory of the system do not allow it. */
void *pw_segment_take(size_t bytes);
/* A message of `bytes` bytes is being packed to `data`, and stays there until MPI says that it has been sent. Must be
 * called for every message in a block of more than 4 KiB: others would take the length of the one before for its. For
 * blocks of 4 KiB, and for what is not the beginning of a block, this does nothing. */
void pw_segment_note_message(const void *data, size_t bytes);
/* The same for a message that is in the block's replica, too. */
void pw_segment_note_replicated(const void *data, size_t bytes);
/* Sets the replica of the block that begins there, until the block is given back. False: there is no such block. */
bool pw_segment_add_replica(const void *block, const pw_segment_replica *replica);
/* Takes a block back. No GPU of this process may know of it any longer. False: it is not the
 * segment's. In a child of fork, which may hold blocks of its parent in its copy of a pool, it does nothing and says
 * true. */
bool pw_segment_give(void *block);

#endif
