/* pw_status -> MPI error class: the only place where the two meet. */
#ifndef PW_RUNTIME_ERRORS_H
#define PW_RUNTIME_ERRORS_H

#include "base/status.h"

/* The MPI error class that describes `status` best; MPI_SUCCESS for PW_OK. */
int pw_mpi_error(pw_status status);

#endif
