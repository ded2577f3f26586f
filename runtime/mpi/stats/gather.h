/* Bringing what all ranks of the world have to say to rank 0, at the end of MPI. */
#ifndef PW_RUNTIME_GATHER_H
#define PW_RUNTIME_GATHER_H

#include "runtime/mpi/mpi_compat.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A communicator of the whole world for our own messages; collective. False: MPI has failed. */
bool pw_gather_open(MPI_Comm *comm, int *rank, int *nranks);

/*
 * Collective. On rank 0 the list of *n items at *data (malloc'ed, or NULL) grows to that of all ranks, in the order of
 * ranks; the others' stay. False, on every rank, when a list is too long or memory or MPI has failed; then the lists
 * are as they were.
 */
bool pw_gather(void **data, int64_t *n, size_t item_bytes, MPI_Comm comm);

#endif
