/*
 * The price of a store to a line of a message that another core has read (docs/messages.md, "Where another core
 * reads"): what runtime/engine/memory/outbound.h times at run time.
 */
#ifndef PW_TOOLS_MEASURE_STORES_H
#define PW_TOOLS_MEASURE_STORES_H

#include <mpi.h>

enum { PW_MEASURE_STORED = 32 << 10, PW_MEASURE_LINE = 64 };

/* Measures `n` times, and sets ns[i] to the nanoseconds for a line. Collective over the rank and its partner, which may
 * be MPI_PROC_NULL. */
void pw_measure_stores(MPI_Comm comm, int partner, double *ns, int n);

#endif
