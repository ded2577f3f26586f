/* Whether the MPI is Intel's, whose faults tests leave out. Asked at run time: programs that were built for another MPI
 * of the same ABI meet it, too. */
#ifndef PW_TESTS_INTEL_MPI_H
#define PW_TESTS_INTEL_MPI_H

#include <mpi.h>
#include <stdbool.h>
#include <string.h>

static inline bool test_is_intel_mpi(void)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;

    return PMPI_Get_library_version(text, &length) == MPI_SUCCESS && !strncmp(text, "Intel", strlen("Intel"));
}

#endif
