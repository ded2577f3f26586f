/*
 * Which MPI of which version the process has, asked once at start. With the standard ABI the MPI itself is asked;
 * otherwise this library knows the kind from the mpi.h that it was built with.
 */
#include "runtime/mpi/entry/version.h"

#include "runtime/mpi/mpi_compat.h"

#include <stdio.h>
#include <string.h>

#if PW_MPI_STANDARD_ABI
bool pw_mpi_is_open_mpi, pw_mpi_is_mpich;
#endif
bool pw_mpi_forgets_status;

/* Tests have seen 4.2.3, 4.3.2, 5.0.0 and 5.0.2 forget, and 4.0.2 and 4.1.3 not. */
void pw_version_find(void)
{
    int mpich = pw_version_behind(PW_VERSION_MPICH);

#if PW_MPI_STANDARD_ABI
    pw_mpi_is_open_mpi = pw_version_behind(PW_VERSION_OPEN_MPI) > 0;
    pw_mpi_is_mpich = mpich > 0;
#endif
    pw_mpi_forgets_status = !PW_MPI_IS_OPEN_MPI && (mpich == 0 || mpich >= 4002);
}

int pw_version_behind(const char *name)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    const char *at;
    int length, major, minor;

    if (PMPI_Get_library_version(text, &length) != MPI_SUCCESS)
        return 0;
    at = strstr(text, name);
    return at && sscanf(at + strlen(name), " %d.%d", &major, &minor) == 2 ? major * 1000 + minor : 0;
}
