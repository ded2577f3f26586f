/*
 * MPI_Pack and MPI_Unpack of what is plain: contiguous objects, or few that are short, in host memory. Programs pack
 * headers value by value, and MPI's own way to a copy of a few bytes is longer than this one. Bytes and positions are
 * those of the MPI calls.
 */
#ifndef PW_RUNTIME_PACK_H
#define PW_RUNTIME_PACK_H

#include "runtime/mpi/entry/gate.h"
#include "runtime/mpi/mpi_compat.h"

#include <stdbool.h>
#include <stdint.h>

/* The last communicator for which MPI has packed or unpacked in this thread. */
typedef struct pw_pack_comm {
    bool any;
    MPI_Comm comm;
} pw_pack_comm;

extern PW_HIDDEN _Thread_local pw_pack_comm pw_pack_last_comm;

/* Carry out a call whose arguments MPI would certainly accept, in a communicator that it has accepted. Return the bytes
 * by which the position advances. 0: nothing is done. Thread safe. */
int64_t pw_Pack_plain(const void *inbuf, MPI_Count incount, MPI_Datatype type, void *outbuf, MPI_Count outsize,
                      MPI_Count position, MPI_Comm comm);
int64_t pw_Unpack_plain(const void *inbuf, MPI_Count insize, MPI_Count position, void *outbuf, MPI_Count outcount,
                        MPI_Datatype type, MPI_Comm comm);

/* Passes on what MPI has returned for a call that was left to it. */
static inline int pw_pack_left(MPI_Comm comm, int rc)
{
    if (rc == MPI_SUCCESS)
        pw_pack_last_comm = (pw_pack_comm){true, comm};
    return rc;
}

#endif
