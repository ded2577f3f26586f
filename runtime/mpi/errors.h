/* Turns a pw_status into an MPI error class; no other file does that. */
#ifndef PW_RUNTIME_ERRORS_H
#define PW_RUNTIME_ERRORS_H

#include "base/status.h"
#include "runtime/mpi/mpi_compat.h"

/* Returns the MPI error class that describes `status` best; MPI_SUCCESS for PW_OK. */
int pw_mpi_error(pw_status status);

/* Reports a failure of the runtime as a failure of the call on `comm`: calls the error handler of `comm`, and returns
 * the error code for the call to return if the handler comes back. For PW_OK it calls no handler and returns
 * MPI_SUCCESS. */
int pw_mpi_fail(MPI_Comm comm, pw_status status);

#endif
