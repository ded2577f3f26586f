/*
 * One-sided transfers: one course for all of them.
 *
 * A call is brought into one form, a pw_transfer, by its hook. Where it pays, its origin is exchanged for a stage: what
 * MPI reads there is packed in the call, what it writes there is unpacked when the operation is complete (rma_ops.h).
 * Target arguments are the caller's.
 *
 * Puts and gets see a stage as bytes, against the target's type: both MPIs move signatures byte by byte. Accumulating
 * calls work on basic elements, of which origin and target have the same (MPI 4.0 section 12.3.4): they see it as an
 * array of these. Those of one element are left to MPI, unless it cannot touch their buffers.
 */
#ifndef PW_RUNTIME_TRANSFER_H
#define PW_RUNTIME_TRANSFER_H

#include "runtime/mpi/entry/gate.h"
#include "runtime/mpi/mpi_compat.h"

/* A buffer at the origin; `buf` NULL and `count` 0 where a call has none. */
typedef struct pw_origin {
    void *buf; /* only read in `sent` */
    MPI_Count count;
    MPI_Datatype type;
} pw_origin;

/* The last two are of one predefined element. */
typedef enum pw_transfer_family {
    PW_PUT,
    PW_GET,
    PW_ACCUMULATE,
    PW_GET_ACCUMULATE,
    PW_FETCH_AND_OP,
    PW_COMPARE_AND_SWAP
} pw_transfer_family;

typedef struct pw_transfer pw_transfer;

struct pw_transfer {
    pw_transfer_family family;
    int (*next)(const pw_transfer *t); /* the next function, with the arguments that are here */
    pw_origin sent, compared, got;     /* what MPI reads at the origin, and what it writes there */
    int rank;
    MPI_Aint disp;
    MPI_Count count; /* of the target, as the type */
    MPI_Datatype type;
    MPI_Op op; /* of those that accumulate */
    MPI_Win win;
    bool with_request;
    MPI_Request *request; /* of these */
    bool large;
};

/* What a hook does. The transfer may be turned into its stand-in. */
pw_verdict pw_transfer_call(pw_transfer *t, int *rc);

#endif
