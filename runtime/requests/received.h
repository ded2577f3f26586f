/* What a status says of the message that came. */
#ifndef PW_RUNTIME_RECEIVED_H
#define PW_RUNTIME_RECEIVED_H

#include "runtime/mpi_compat.h"

/* Bytes that have arrived, for a receive of MPI_BYTE; -1 when MPI cannot tell. */
int64_t pw_received_bytes(const MPI_Status *status);

#endif
