/*
 * Messages that the MPI below delivers only to a receiver of the right kind.
 *
 * MPICH delivers a long message from contiguous memory in pieces that may end inside a basic element; a native receive
 * into a derived type then fails with MPI_ERR_TRUNCATE, unless all elements have one size, to whose multiples pieces
 * are cut (4.0.2 to 4.3.2, between ranks of one node). A staging buffer is contiguous memory. So a sender stages such a
 * message only if the receiver is known to stage it, too: on jobs where PACKWRIGHT_ALL_RANKS says so.
 *
 * Open MPI (4.1, 5.0) mistreats a message to oneself that is longer than the receive posted for it, where it takes a
 * side for contiguous: a short contiguous message is cut off without an error, and a longer one is written behind a
 * contiguous receive buffer. With derived types it reports MPI_ERR_TRUNCATE. So Packwright leaves both sides of such
 * messages to Open MPI.
 */
#ifndef PW_RUNTIME_MPICH_SPLIT_H
#define PW_RUNTIME_MPICH_SPLIT_H

#include "runtime/mpi/strategy/strategy.h"

/* Messages of at most so many bytes are never cut; half of the shortest piece seen. */
enum { PW_SPLIT_WHOLE = 2048 };

/* Reads PACKWRIGHT_ALL_RANKS, and which MPI this is. */
void pw_split_start(void);

/* Returns whether received messages may have to be staged. */
bool pw_split_is_staged(void);

/* Returns which of these hold: CUT_THERE, so the message is left to MPI, and CUT_HERE, so it is staged, and not on the
 * short path of native messages. */
unsigned pw_split_conditions(const pw_message *m);
/* Returns whether the message must be left to MPI because Open MPI might not find out that a message from this rank to
 * itself is too long. `peer` is the source, unless role is PW_SEND. For a receive from MPI_ANY_SOURCE the source is not
 * known. */
bool pw_split_is_own(pw_role role, const struct pw_entry *entry, const void *buf, MPI_Count count, int peer,
                     MPI_Comm comm);

#endif
