/* What a status says about the message that was received. */
#ifndef PW_RUNTIME_RECEIVED_H
#define PW_RUNTIME_RECEIVED_H

#include "runtime/mpi/mpi_compat.h"

struct pw_entry;
struct pw_staging;

/* Returns how many bytes have arrived in a receive of MPI_BYTE; -1 if MPI cannot tell. */
int64_t pw_received_bytes(const MPI_Status *status);

/*
 * Returns the grain of a message that is received into a staging buffer of this entry: the number of bytes of which the
 * message should be a multiple. Otherwise it ends inside a basic element, and does not match the receive. MPICH reports
 * this for messages that it unpacks itself, if they are not contiguous. 0: the grain is not known, or MPI would not
 * report it. Must be called before MPI is: from then on the entry may be freed.
 */
int pw_received_grain(const struct pw_entry *entry);
/* Unpacks what has arrived, only whole grains if `grain` is not 0. Returns an MPI error code, which the caller reports.
 */
int pw_received_unpack(struct pw_staging *s, int grain, const MPI_Status *status);

#endif
