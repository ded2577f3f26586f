/*
 * The predefined types that programs send. Types are otherwise registered when the MPI below has accepted them in a
 * call; a buffer in GPU memory must not reach an MPI that would crash on it, not even once.
 */
#ifndef PW_RUNTIME_PREDEFINED_H
#define PW_RUNTIME_PREDEFINED_H

#include "runtime/mpi/mpi_compat.h"

/* Calls fn for each that this MPI has. */
void pw_predefined_each(void (*fn)(MPI_Datatype type));

#endif
