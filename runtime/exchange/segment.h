/*
 * The segment: memory of this process for packed messages that leave this rank, which other processes of the node can
 * map. It is an anonymous file, so nothing remains however the process ends. A process that may read this process's
 * memory (the permission that process_vm_readv needs) finds the file among the open files in /proc/PID/fd (peers.h).
 *
 * The file begins with a header (directory.h). Behind it lie pieces, each of which holds blocks of one size. The owner
 * maps a piece when it first needs it, another process when it first reads a message in it. A piece is as long as all
 * earlier pieces of its block size together, from 64 KiB to 32 MiB or one block: so the segment takes at most twice the
 * addresses that were in use at once. A block gets all of its pages when it is taken, so that writing to it cannot
 * fail; when it is given back, its pages go back to the system. The file is sparse, and no longer than RLIMIT_FSIZE
 * allows. Core dumps leave it out.
 *
 * GPUs of other processes may keep a block pinned with the pages that it had (runtime/exchange/gpu/foreign.h). So
 * the block's offer counts how often it has lost its pages. The offer also says how long the message in the block is: a
 * process that MPI asks for the first bytes then knows that it can read all of it.
 *
 * Memory of a GPU beside a block, its replica, may hold the same message, and other processes may open it
 * (runtime/exchange/gpu/replica.h). The offer identifies the replica, and says whether it holds the message.
 *
 * All functions are thread safe. A child process of fork does not have the segment.
 */
#ifndef PW_RUNTIME_SEGMENT_H
#define PW_RUNTIME_SEGMENT_H

#include "runtime/exchange/directory.h"

#include <stddef.h>

/* Creates the segment or opens it again, unless PACKWRIGHT_SHARED or PACKWRIGHT_DISABLE forbids it. On failure there is
 * no segment, and pw_segment_take returns NULL. */
void pw_segment_open(void);
/* Closes the segment: other processes no longer read in it. Blocks stay valid. */
void pw_segment_close(void);
/* Closes it in a process that has ended MPI in order. */
void pw_segment_end(void);

bool pw_segment_is_open(void);
/* The header of this process's segment, for what is written there by others than segment.c (board.h). NULL: there is no
 * segment, or the process is a child of its owner. */
pw_segment_header *pw_segment_own_header(void);
/* Whether another process would read replicas. */
bool pw_segment_wants_replicas(void);

/* Takes the shortest block that has `bytes` bytes, up to 256 MiB, with the pages of these. It is aligned to a page, or
 * to 2 MiB if it is that long. NULL: there is no segment, it is full, or a limit of the process or the system's memory
 * is reached. */
void *pw_segment_take(size_t bytes);
/* Takes a block as pw_segment_take does, of more than 4 KiB and of lazy memory (lazy.h), which no GPU of this process
 * uses. Other processes find its offer, and read the replica; whoever wants the bytes themselves asks the system. */
void *pw_segment_take_lazy(size_t bytes);
/* Takes a block as pw_segment_take_lazy does, of memory that may serve the threads of this process only. */
void *pw_segment_take_stand_in(size_t bytes);

/* The offer of the block that begins at `data`, whose user may set its replica (`exported`) until the block is given
 * back. NULL: no block does, or it is one of 4 KiB, whose messages are not noted. */
pw_segment_offer *pw_segment_offer_at(const void *data);
/* Offers a message of `bytes` bytes that is packed to `data`, where it stays until MPI has sent it. Must be called for
 * every message in a block of more than 4 KiB: otherwise other processes would use the length of the message before.
 * `late`: others may read it late (late.h). Does nothing where there is no offer. */
void pw_segment_note(const void *data, size_t bytes, pw_offer_form form, bool late);
/* Does the same in an offer that the caller has found. */
void pw_segment_fill(pw_segment_offer *offer, size_t bytes, pw_offer_form form, bool late);
/* Takes a block back, which no GPU of this process may use any longer. False: the memory is not a block of the segment.
 * In a child of fork, whose copy of a pool may hold blocks of its parent, it does nothing and returns true. */
bool pw_segment_give(void *block);

#endif
