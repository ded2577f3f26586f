/*
 * Deferred sends: nonblocking sends from GPU memory whose call returns while the GPU is still packing, or before it has
 * begun to. The program holds a persistent request of the MPI below, which the runtime starts when the message is
 * packed, and frees when it is complete (pw_pending.once).
 *
 * The sends of a process wait in one queue, and MPI starts them in the order of the calls, so messages do not overtake
 * each other. They are gathered, and packed by one launch when a call needs them. Messages that are shown to their
 * receivers, and not packed, are gathered, too: they wait for the program's work once.
 *
 * Calls that neither wait for another process nor send start what is packed, and the second one in a row has the rest
 * packed (pw_deferred_poll). The gate makes every other call start everything, before MPI is asked (pw_deferred_flush):
 * only then may a call wait, and only then are all requests of the program active. A send that is not deferred comes
 * after the queue for the same reason.
 *
 * A program that computes after a round of sends would delay the last of them until its next call. Programs repeat
 * themselves: when pauses have followed two rounds of n sends, the n-th send of the next round is packed and started,
 * with all before it, within its own call, until a send follows it without a pause. The runtime has no thread that
 * calls MPI, so the delay of a send of the first such rounds is bounded by the next call, as that of every long message
 * is with MPIs without a progress thread.
 *
 * Thread safe. One lock guards the queue; a thread holds it while MPI starts sends, which does not wait.
 */
#ifndef PW_RUNTIME_DEFERRED_H
#define PW_RUNTIME_DEFERRED_H

#include "runtime/mpi/requests/pending.h"
#include "runtime/mpi/strategy/staging.h"

typedef struct pw_deferred {
    pw_pending *pending;
    pw_staging *out;
    struct pw_deferred *next;
} pw_deferred;

/* Called once, when the next functions are known. */
void pw_deferred_start(void);

/* Whether a send that is staged so may be deferred: not if other libraries take calls that would have to start it. */
bool pw_deferred_can(const pw_staging *out);
/* Adds a send. Its operation is tracked, and `out` belongs to it. */
void pw_deferred_add(pw_deferred *d, pw_pending *p, pw_staging *out);

/* Starts the sends at the head of the queue that are packed. The second such call in a row begins to pack the rest. */
void pw_deferred_poll_slow(void);

static inline void pw_deferred_poll(void)
{
    if (pw_gate_has_deferred())
        pw_deferred_poll_slow();
}

/* MPI has ended: empties the queue. Its operations belong to the table (pw_pending_close). */
void pw_deferred_close(void);

#endif
