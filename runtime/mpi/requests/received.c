/* How many bytes came, by a status. Only what came is unpacked. */
#include "runtime/mpi/requests/received.h"

#include "runtime/mpi/errors.h"
#include "runtime/mpi/strategy/staging.h"
#include "runtime/mpi/types/registry.h"

int64_t pw_received_bytes(const MPI_Status *status)
{
#if PW_MPI_LARGE
    MPI_Count n = 0;

    if (PMPI_Get_count_c(status, MPI_BYTE, &n) != MPI_SUCCESS || n == MPI_UNDEFINED)
        return -1;
#else
    int n = 0;

    if (PMPI_Get_count(status, MPI_BYTE, &n) != MPI_SUCCESS || n == MPI_UNDEFINED)
        return -1;
#endif
    return n;
}

int pw_received_unpack(pw_staging *s, const MPI_Status *status)
{
    return pw_mpi_error(pw_staging_unpack(s, pw_received_bytes(status)));
}
