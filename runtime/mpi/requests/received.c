/*
 * How many bytes came, by a status, and whether they are legal: a message may have to be a multiple of the smallest
 * basic element, as this MPI checks it. Only what came is unpacked.
 */
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

/* MPICH checks all messages up to this length. From 4.3 on, whether it checks longer ones depends on how they arrive.
 */
enum { MOST_CHECKED = 8192 };

int pw_received_grain(const pw_entry *entry)
{
    return PW_MPI_IS_OPEN_MPI || !entry->layout ? 0 : atomic_load_explicit(&entry->grain, memory_order_relaxed);
}

int pw_received_unpack(pw_staging *s, int grain, const MPI_Status *status)
{
    int64_t bytes = pw_received_bytes(status), rest = 0;
    int rc;

    if (grain > 1 && bytes > 0 && bytes <= MOST_CHECKED)
        rest = bytes % grain;
    rc = pw_mpi_error(pw_staging_unpack(s, bytes - rest));
    return rc == MPI_SUCCESS && rest ? MPI_ERR_TRUNCATE : rc;
}
