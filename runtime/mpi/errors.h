/* Turns a pw_status into an MPI error class; no other file does that. */
#ifndef PW_RUNTIME_ERRORS_H
#define PW_RUNTIME_ERRORS_H

#include "base/status.h"
#include "runtime/mpi/mpi_compat.h"

/* Returns the MPI error class that describes `status` best; MPI_SUCCESS for PW_OK. */
int pw_mpi_error(pw_status status);

/* Calls the error handler of `comm`, or for MPI_COMM_NULL that of MPI_COMM_SELF, and returns the error code, for the
 * call to return if the handler comes back. Does nothing else for MPI_SUCCESS. */
int pw_mpi_report(MPI_Comm comm, int error);
/* Does the same for a failure of the runtime. */
int pw_mpi_fail(MPI_Comm comm, pw_status status);

#endif
