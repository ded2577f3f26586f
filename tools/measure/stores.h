/*
 * The price of a store to a line of a message that another core has read, whose caches must give the line up first.
 */
#ifndef PW_TOOLS_MEASURE_STORES_H
#define PW_TOOLS_MEASURE_STORES_H

#include <mpi.h>

enum { PW_MEASURE_STORED = 32 << 10, PW_MEASURE_LINE = 64 };

/* What such a line takes, in nanoseconds, tells whether the two cores share a cache: it took 7 on a Zen 4 where they
 * do, and 27 where they do not. */
enum { PW_MEASURE_FAR_NS = 12 };

/* Measures `n` times, and sets ns[i] to the nanoseconds for a line. Collective over the rank and its partner, which may
 * be MPI_PROC_NULL. */
void pw_measure_stores(MPI_Comm comm, int partner, double *ns, int n);

#endif
