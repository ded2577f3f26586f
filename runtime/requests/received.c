#include "runtime/requests/received.h"

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
