/*
 * Prepares a committed type, so that no message has to learn it or do without its kernel. This function is what the
 * interposer exports for libpackwright-mpi (runtime/mpi/library/commit_all.c), which finds them as weak symbols. They
 * do nothing where the interposer leaves all calls to MPI. Thread safe.
 */
#ifndef PW_RUNTIME_STRATEGY_PREPARE_H
#define PW_RUNTIME_STRATEGY_PREPARE_H

#include <mpi.h>

/* Learns the type, and compiles its kernel in this thread. */
__attribute__((visibility("default"))) void packwright_prepare_type(MPI_Datatype type);

#endif
