/*
 * Noticing MPI_Finalize when the call itself passes us by: some language bindings (mpi_f08 of MPICH) call
 * PMPI_Finalize. MPI deletes the attributes of MPI_COMM_SELF first of all in it, while MPI still works (MPI 4.0
 * section 11.2.4).
 */
#ifndef PW_RUNTIME_ENDING_H
#define PW_RUNTIME_ENDING_H

#include <stdbool.h>

/* Sets the attribute once the world is initialised; cheap to call again. Under the registry's learning lock. */
void pw_ending_watch(void);

/*
 * Would the end of what MPI is used for just now be noticed? Not if this library was built for an MPI without sessions,
 * and the one of the process has them: then only the world's. Nothing may be kept of MPI's that it might take away
 * unnoticed.
 */
bool pw_ending_is_seen(void);

#endif
