/* What a status says of the message that came. */
#ifndef PW_RUNTIME_RECEIVED_H
#define PW_RUNTIME_RECEIVED_H

#include "runtime/mpi/mpi_compat.h"

struct pw_entry;
struct pw_stage;

/* Bytes that have arrived, for a receive of MPI_BYTE; -1 when MPI cannot tell. */
int64_t pw_received_bytes(const MPI_Status *status);

/*
 * What a message should be a whole number of, which is received into a stage of this entry: else it ends inside a basic
 * element, and so is not what was posted. MPICH notices this in messages that it unpacks itself, if they are not
 * contiguous. 0: who would tell? Ask before MPI is called: the entry may die then.
 */
int pw_received_grain(const struct pw_entry *entry);
/* Unpacks what has arrived, whole grains of it if there is one. An MPI error code, of which nobody has been told. */
int pw_received_unpack(struct pw_stage *s, int grain, const MPI_Status *status);

#endif
