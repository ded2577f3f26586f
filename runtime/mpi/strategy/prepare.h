/*
 * Prepares a committed type, so that no message has to learn it or do without its kernel. These functions are what the
 * interposer exports for libpackwright-mpi (runtime/mpi/library/commit_all.c), which finds them as weak symbols. They
 * do nothing where the interposer leaves all calls to MPI. Thread safe.
 */
#ifndef PW_RUNTIME_STRATEGY_PREPARE_H
#define PW_RUNTIME_STRATEGY_PREPARE_H

#include <mpi.h>

#include <stdbool.h>

/* Learns the type, compiles its kernel in this thread, and makes staging memory for one object. Returns the number of
 * its layout on the board of this process (runtime/exchange/board.h). -1: no other process is to read it. */
__attribute__((visibility("default"))) int packwright_prepare_type(MPI_Datatype type);

/* Maps the staging memory of another process of the node that messages of `type`, which is to be a prepared one, will
 * lie in, and enters the pages that it has written. Reads the layout with that number on its board, if it is not -1,
 * joins it to that of `type`, and compiles the kernel that copies from there in this thread. */
__attribute__((visibility("default"))) void packwright_prepare_peer(MPI_Datatype type, int pid, int number);

/* Whether the strategy `direct` is allowed, so that this process can take part in packwright_prove. */
__attribute__((visibility("default"))) bool packwright_can_prove(void);

/* Sends messages to and fro between this process and rank `peer` of `node`, which makes the same call: the program's
 * messages to the same process, rank `number` of `comm`, then need no proof (runtime/exchange/direct.h). Sends none
 * if both channels are proven. Returns MPI's error. */
__attribute__((visibility("default"))) int packwright_prove(MPI_Comm node, int peer, MPI_Comm comm, int number);

#endif
