/*
 * Fortran bindings that reach their MPI by its PMPI_ names, where no interposer sees them: all of Open MPI's, and those
 * of MPICH's mpi_f08 for calls without a buffer, MPI_Waitall among them.
 *
 * Handles, sentinels, statuses and LOGICALs are the bindings' business and remain so: only where their calls lead to is
 * changed. In the linkage tables of the binding libraries, the entry of each PMPI_X for which this library exports
 * MPI_X is made to point there, as if the bindings had been written to call MPI_X. Nothing else of the process is
 * touched.
 */
#ifndef PW_RUNTIME_FORTRAN_H
#define PW_RUNTIME_FORTRAN_H

#include <stdbool.h>

/*
 * Takes in the binding libraries that were mapped since the last call; costs one look at the loader's counter when
 * there are none. False: there is one whose tables cannot be read or written, so that some calls of a Fortran
 * program would arrive here and others would not. Thread safe.
 */
bool pw_fortran_redirect(void);

#endif
