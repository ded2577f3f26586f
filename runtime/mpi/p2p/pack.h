/* MPI_Pack and MPI_Unpack of contiguous objects in host memory. Bytes and positions are those of the MPI calls. */
#ifndef PW_RUNTIME_PACK_H
#define PW_RUNTIME_PACK_H

#include "runtime/mpi/entry/gate.h"
#include "runtime/mpi/mpi_compat.h"

/* Carry out a call with a type that pw_registry_leaves to MPI, if the type is known as contiguous and its arguments are
 * ordinary, and advance the position: PW_DONE with the call's result. Otherwise PW_PASS: MPI must get the call. Thread
 * safe. */
pw_verdict pw_Pack_contiguous(const void *inbuf, MPI_Count incount, MPI_Datatype datatype, void *outbuf,
                              MPI_Count outsize, MPI_Count *position, MPI_Comm comm, int *rc);
pw_verdict pw_Unpack_contiguous(const void *inbuf, MPI_Count insize, MPI_Count *position, void *outbuf,
                                MPI_Count outcount, MPI_Datatype datatype, MPI_Comm comm, int *rc);

#endif
