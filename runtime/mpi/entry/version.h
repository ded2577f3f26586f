/* Which version of which MPI this process has. */
#ifndef PW_RUNTIME_VERSION_H
#define PW_RUNTIME_VERSION_H

/* What stands before the version in the text of MPI_Get_library_version. */
#define PW_VERSION_MPICH "MPICH Version:"
#define PW_VERSION_OPEN_MPI "Open MPI v"

/* Returns the version behind `name` as major * 1000 + minor; 0: this is another MPI, or it does not say. */
int pw_version_behind(const char *name);

#endif
