/* What a status says about the message that was received. */
#ifndef PW_RUNTIME_RECEIVED_H
#define PW_RUNTIME_RECEIVED_H

#include "runtime/mpi/mpi_compat.h"

struct pw_staging;

/* Returns how many bytes have arrived in a receive of MPI_BYTE; -1 if MPI cannot tell. */
int64_t pw_received_bytes(const MPI_Status *status);

/* Unpacks what has arrived. Returns an MPI error code, which the caller reports. */
int pw_received_unpack(struct pw_staging *s, const MPI_Status *status);

#endif
