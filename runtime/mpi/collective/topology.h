/* The neighbourhood of this process on a communicator with a topology (MPI 4.0 section 8.6). */
#ifndef PW_RUNTIME_TOPOLOGY_H
#define PW_RUNTIME_TOPOLOGY_H

#include "runtime/mpi/mpi_compat.h"

enum { PW_NEIGHBOURS_ABSENT = 64 };

typedef struct pw_neighbours {
    int in, out; /* blocks that are received and sent */
    bool some_absent;
    /* Beyond the border of a Cartesian grid neighbours are MPI_PROC_NULL: they have blocks, which nobody touches. Both
     * directions have the same neighbours then. */
    bool absent[PW_NEIGHBOURS_ABSENT];
} pw_neighbours;

/* `comm` is valid, and within one group. False: there is no topology, or one that is not handled. */
bool pw_neighbours_of(MPI_Comm comm, pw_neighbours *out);

#endif
