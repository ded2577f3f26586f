/* pw_status -> MPI error class: the only place where the two meet. */
#ifndef PW_RUNTIME_ERRORS_H
#define PW_RUNTIME_ERRORS_H

#include "base/status.h"
#include "runtime/mpi/mpi_compat.h"

/* The MPI error class that describes `status` best; MPI_SUCCESS for PW_OK. */
int pw_mpi_error(pw_status status);

/* Reports a failure of ours as one of the call on `comm`: calls its error handler, and returns what the call is to
 * return if that returns. MPI_SUCCESS, and no handler, for PW_OK. */
int pw_mpi_fail(MPI_Comm comm, pw_status status);

#endif
