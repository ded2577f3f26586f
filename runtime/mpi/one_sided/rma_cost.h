/*
 * What one-sided transfers cost. Not as messages do: there is no peer that does its half, and what the MPI below makes
 * of the window and of the target's layout decides. The figures are of docs/mpi.md.
 */
#ifndef PW_RUNTIME_RMA_COST_H
#define PW_RUNTIME_RMA_COST_H

#include <stdbool.h>
#include <stdint.h>

/* What of a transfer is to be staged. */
typedef enum pw_rma_part {
    PW_RMA_PUT,
    PW_RMA_GOT,
    PW_RMA_OPERAND,   /* of an accumulating call */
    PW_RMA_REPLACING, /* that of an accumulate with MPI_REPLACE */
    PW_RMA_RESULT     /* of an accumulating call that also gets */
} pw_rma_part;

/* One of a non-contiguous origin, the target being contiguous. */
typedef struct pw_rma_transfer {
    pw_rma_part part;
    bool direct; /* the window is memory that the MPI has allocated, which on one node is shared */
    int64_t bytes, blocks;
} pw_rma_transfer;

/* Whether to pack the origin. */
bool pw_rma_pays(const pw_rma_transfer *t);

#endif
