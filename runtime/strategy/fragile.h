/*
 * Messages that the MPI below delivers only to a receiver of the right kind.
 *
 * MPICH delivers a long message from contiguous memory in pieces that may end inside a basic element; a native receive
 * into a derived type then fails with MPI_ERR_TRUNCATE, unless all elements have one size, to whose multiples pieces
 * are cut (4.0.2 to 4.3.2, between ranks of one node). A stage is contiguous memory. So such a message is staged by its
 * sender only if the receiver is known to stage it, too, and that it does on jobs where PACKWRIGHT_ALL_RANKS says so.
 */
#ifndef PW_RUNTIME_FRAGILE_H
#define PW_RUNTIME_FRAGILE_H

#include "runtime/strategy/strategy.h"

/* Messages of at most so many bytes are never cut; half of the shortest piece seen. */
enum { PW_FRAGILE_WHOLE = 2048 };

/* Reads PACKWRIGHT_ALL_RANKS, and which MPI this is. */
void pw_fragile_start(void);

/* May messages that are received have to be staged? */
bool pw_fragile_is_staged(void);

/* May not be staged: its receiver may be native. */
bool pw_fragile_needs_native(const pw_message *m);
/* May not be native: its sender may have staged it. */
bool pw_fragile_needs_stage(const pw_message *m);

#endif
