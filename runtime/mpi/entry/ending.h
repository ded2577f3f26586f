/*
 * Notices the end of MPI when no wrapped call announces it: some language bindings (mpi_f08 of MPICH) call
 * PMPI_Finalize. MPI begins that call by deleting the attributes of MPI_COMM_SELF, and still works then (MPI 4.0
 * section 11.2.4).
 */
#ifndef PW_RUNTIME_ENDING_H
#define PW_RUNTIME_ENDING_H

#include <stdbool.h>

/* Sets the attribute of MPI_COMM_SELF whose deletion announces the end of MPI, once MPI_COMM_WORLD is initialised.
 * Repeated calls cost little. The caller holds the registry's learning lock. */
void pw_ending_watch(void);

/*
 * Returns whether the end of MPI would be noticed if it came now. It would not where this library was built for an MPI
 * without sessions, the MPI of the process has them, and MPI_COMM_WORLD is not initialised. Then no object of MPI's may
 * be kept, since MPI may delete it unnoticed.
 */
bool pw_ending_is_seen(void);

/* Called when MPI deletes the attribute. runtime/mpi/start/hooks_start.c defines it. */
void pw_ending_world_ends(void);

#endif
