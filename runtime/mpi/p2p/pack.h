/* MPI_Pack and MPI_Unpack of contiguous objects in host memory. Bytes and positions are those of the MPI calls. */
#ifndef PW_RUNTIME_PACK_H
#define PW_RUNTIME_PACK_H

#include "runtime/mpi/entry/gate.h"
#include "runtime/mpi/mpi_compat.h"
#include "runtime/mpi/types/entry.h"

/* Carry out a call with the entry of a contiguous type, which pw_registry_leaves has found, if its arguments are
 * ordinary, and advance the position: PW_DONE with the call's result. Otherwise PW_PASS: MPI must get the call. Thread
 * safe. */
pw_verdict pw_Pack_contiguous(const void *inbuf, MPI_Count incount, const pw_entry *entry, void *outbuf,
                              MPI_Count outsize, MPI_Count *position, MPI_Comm comm, int *rc);
pw_verdict pw_Unpack_contiguous(const void *inbuf, MPI_Count insize, MPI_Count *position, void *outbuf,
                                MPI_Count outcount, const pw_entry *entry, MPI_Comm comm, int *rc);

#endif
