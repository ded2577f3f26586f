/*
 * What one-sided transfers cost. Not as messages do: there is no peer that does its half, and what the MPI below makes
 * of the window and of the target's layout decides. The figures are of docs/mpi.md.
 */
#ifndef PW_RUNTIME_RMA_COST_H
#define PW_RUNTIME_RMA_COST_H

#include <stdbool.h>
#include <stdint.h>

/* A put or get between a non-contiguous origin and a contiguous target. */
typedef struct pw_rma_transfer {
    bool get;
    bool direct; /* the window is memory that the MPI has allocated, which on one node is shared */
    int64_t bytes, blocks;
} pw_rma_transfer;

/* Whether to pack the origin. */
bool pw_rma_pays(const pw_rma_transfer *t);

#endif
