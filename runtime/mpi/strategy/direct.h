/*
 * direct: MPI gets a stand-in for the packed message, and the receiver's Packwright moves the message from the sender's
 * own memory into the receiver's by one kernel (runtime/exchange/direct.h). The sender packs nothing. It serves
 * messages between two processes, with PACKWRIGHT_ONE_COPY=1. A receive by this strategy is one by `packed`, for
 * messages that `packed` would not be taken for.
 */
#ifndef PW_RUNTIME_STRATEGY_DIRECT_H
#define PW_RUNTIME_STRATEGY_DIRECT_H

#include "runtime/mpi/strategy/strategy.h"

/* MPICH reads no shorter messages in the sender's memory. */
enum { PW_DIRECT_LEAST = 32 << 10 };

/* Its name, for moves that are carried out elsewhere. */
extern const pw_strategy_id pw_direct_id;

void pw_direct_start(void);

/* Whether PACKWRIGHT_ONE_COPY allows the strategy for host memory. */
bool pw_direct_is_meant(void);

/* The shortest message that goes so, of a call that blocks. */
int64_t pw_direct_least(void);
/* Whether a described message may go so, by its other conditions (PW_IF_...). The first call may map the stand-ins. */
bool pw_direct_serves(const pw_message *m, unsigned set);
/* Whether nearly nothing but the message crosses a link from which it is read. */
bool pw_direct_is_whole(const pw_message *m);
/* Whether the model knows what the message costs on this GPU. */
bool pw_direct_is_modelled(const pw_message *m);

#endif
