/*
 * Whether packed messages go from the sender's segment to the receiver's buffer without a copy by MPI (sharing). First
 * guesses of what packing costs depend on it. No rank can know it in advance: the peer must be on this node and run
 * Packwright, and the MPI below must read memory of other processes. So a process that may have peers on its node
 * assumes it, and trials find out what it costs where that is wrong.
 *
 * All functions are thread safe.
 */
#ifndef PW_RUNTIME_SHARING_H
#define PW_RUNTIME_SHARING_H

#include <stdbool.h>

/* Called at start. A process that its launcher has put alone on a node does not assume sharing. */
void pw_sharing_start(void);

/* Whether costs should assume sharing. */
bool pw_sharing_is_likely(void);

/* Whether the system does not let processes of the node read each other's memory. An MPI that tries to read a long
 * packed message, which is contiguous to it, would then fail, where it would not try with a derived type: Open MPI
 * prints a line and copies, MPICH ends the program. Known from the first read that was refused, or from what this
 * process allows other processes; it assumes that they are like itself. */
bool pw_sharing_is_refused(void);
/* Records that the system has refused a read of another process's memory. */
void pw_sharing_note_refusal(void);

#endif
