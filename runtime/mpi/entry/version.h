/* Which version of which MPI this process has. */
#ifndef PW_RUNTIME_VERSION_H
#define PW_RUNTIME_VERSION_H

#include <stdbool.h>

/* What stands before the version in the text of MPI_Get_library_version. */
#define PW_VERSION_MPICH "MPICH Version:"
#define PW_VERSION_OPEN_MPI "Open MPI v"

/* Returns the version behind `name` as major * 1000 + minor; 0: this is another MPI, or it does not say. */
int pw_version_behind(const char *name);

/* True if this MPI may give an empty status to the call that completes a persistent request which
 * MPI_Request_get_status has reported. */
extern bool pw_mpi_forgets_status;

/* Finds which MPI this is, where one library meets several (PW_MPI_IS_OPEN_MPI), and what it forgets. Called once, with
 * an MPI present, before anything depends on it. */
void pw_version_find(void);

#endif
