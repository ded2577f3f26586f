/*
 * PACKWRIGHT_Type_commit_all: what all ranks carry out alike is here, whether they have the interposer or not; what is
 * to be prepared in a process the interposer does, if it is there (runtime/mpi/strategy/prepare.h).
 */
#include "frontend/mpi/handles.h"
#include "frontend/mpi/weak.h"
#include "runtime/mpi/strategy/prepare.h"

#include <packwright/packwright-mpi.h>

#include <pthread.h>

#pragma weak packwright_prepare_type
/* The program's own calls, which the interposer sees. */
#pragma weak MPI_Type_commit
#pragma weak MPI_Send
#pragma weak MPI_Recv
#pragma weak MPI_Isend
#pragma weak MPI_Irecv
#pragma weak MPI_Waitall

static bool is_mpi_there;

static void look_for_mpi(void)
{
    is_mpi_there = pw_mpi_handles_find() && MPI_Type_commit;
}

/* Messages to nobody, since the first call of each function waits for pages of its code. */
static int rehearse(MPI_Comm comm, MPI_Datatype type)
{
    MPI_Request requests[2];
    MPI_Status statuses[2];
    int rc = MPI_Send(NULL, 0, type, MPI_PROC_NULL, 0, comm);

    if (rc == MPI_SUCCESS)
        rc = MPI_Recv(NULL, 0, type, MPI_PROC_NULL, 0, comm, statuses);
    if (rc == MPI_SUCCESS)
        rc = MPI_Irecv(NULL, 0, type, MPI_PROC_NULL, 0, comm, &requests[0]);
    if (rc == MPI_SUCCESS)
        rc = MPI_Isend(NULL, 0, type, MPI_PROC_NULL, 0, comm, &requests[1]);
    return rc == MPI_SUCCESS ? MPI_Waitall(2, requests, statuses) : rc;
}

int PACKWRIGHT_Type_commit_all(MPI_Comm comm, MPI_Datatype *type)
{
    static pthread_once_t looked = PTHREAD_ONCE_INIT;
    int between_groups, committed, rc;

    pthread_once(&looked, look_for_mpi);
    if (!is_mpi_there)
        return MPI_ERR_OTHER;
    rc = PMPI_Comm_test_inter(comm, &between_groups);
    if (rc != MPI_SUCCESS)
        return rc;
    committed = MPI_Type_commit(type);
    if (committed != MPI_SUCCESS)
        return committed;
    if (packwright_prepare_type)
        packwright_prepare_type(*type);
    return between_groups ? rc : rehearse(comm, *type);
}
