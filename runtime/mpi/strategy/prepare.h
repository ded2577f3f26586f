/*
 * Prepares a committed type, so that no message has to learn it or do without its kernel. These functions are what the
 * interposer exports for libpackwright-mpi (runtime/mpi/library/commit_all.c), which finds them as weak symbols. Both
 * do nothing where the interposer leaves all calls to MPI. Thread safe.
 */
#ifndef PW_RUNTIME_STRATEGY_PREPARE_H
#define PW_RUNTIME_STRATEGY_PREPARE_H

#include <mpi.h>

/* Learns the type and compiles its kernel in this thread. Returns the number of its layout on the board of this process
 * (runtime/engine/node/board.h). -1: no other process is to read it. */
__attribute__((visibility("default"))) int packwright_prepare_type(MPI_Datatype type);

/* Reads a layout on the board of another process of the node, joins it to that of `type`, which is to be a prepared
 * one, and compiles the kernel that copies from there in this thread. */
__attribute__((visibility("default"))) void packwright_prepare_peer(MPI_Datatype type, int pid, int number);

#endif
