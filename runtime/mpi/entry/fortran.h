/*
 * Redirects Fortran bindings that call their MPI by its PMPI_ names, where no interposer sees the calls: all bindings
 * of Open MPI, and those of MPICH's mpi_f08 for calls without a buffer, such as MPI_Waitall.
 *
 * The bindings go on converting handles, sentinels, statuses and LOGICALs; only the target of their calls changes. In
 * the linkage tables of the binding libraries, the entry of each PMPI_X for which this library exports MPI_X is made to
 * point there, as if the bindings had been written to call MPI_X. Nothing else of the process changes.
 */
#ifndef PW_RUNTIME_FORTRAN_H
#define PW_RUNTIME_FORTRAN_H

#include <stdbool.h>

/*
 * Redirects the binding libraries that were mapped since the last call; without new libraries it only reads the
 * loader's counter. Returns false if the tables of some binding library cannot be read or written: some calls of a
 * Fortran program would then come to this library and others would not. Thread safe.
 */
bool pw_fortran_redirect(void);

#endif
