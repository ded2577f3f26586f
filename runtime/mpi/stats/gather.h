/* Gathers lists of all ranks of the world at rank 0, when MPI is about to end. */
#ifndef PW_RUNTIME_GATHER_H
#define PW_RUNTIME_GATHER_H

#include "runtime/mpi/mpi_compat.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Makes a communicator of the whole world for this library's own messages. Collective. False: MPI has failed. */
bool pw_gather_open(MPI_Comm *comm, int *rank, int *nranks);

/*
 * Gathers a list. Collective. On rank 0, the list of *n items at *data (malloc'ed, or NULL) grows to the lists of all
 * ranks, in the order of ranks; on other ranks it stays. Returns false on every rank if the list is too long for any,
 * or memory or MPI has failed; all lists are then as they were.
 */
bool pw_gather(void **data, int64_t *n, size_t item_bytes, MPI_Comm comm);

#endif
