/* The predefined types that programs send. They are never committed, and learned at their first use. */
#ifndef PW_RUNTIME_PREDEFINED_H
#define PW_RUNTIME_PREDEFINED_H

#include "runtime/mpi/mpi_compat.h"

/* Returns whether this is a handle of a predefined type, without asking MPI: it may be no handle at all. */
bool pw_predefined_is(MPI_Datatype type);

#endif
