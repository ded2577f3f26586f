/*
 * PACKWRIGHT_Type_commit_all: commits, and has the interposer prepare the type if it is there
 * (runtime/mpi/strategy/prepare.h). Data: none. Invariant: without the interposer it is a commit.
 */
#include "frontend/mpi/handles.h"
#include "frontend/mpi/weak.h"
#include "runtime/mpi/strategy/prepare.h"

#include <packwright/packwright-mpi.h>

#pragma weak packwright_prepare_type
/* The program's own call, which the interposer sees. */
#pragma weak MPI_Type_commit

int PACKWRIGHT_Type_commit_all(MPI_Comm comm, MPI_Datatype *type)
{
    int between_groups, rc;

    if (!pw_mpi_handles_found() || !MPI_Type_commit)
        return MPI_ERR_OTHER;
    rc = PMPI_Comm_test_inter(comm, &between_groups); /* finds out whether `comm` is a communicator */
    if (rc == MPI_SUCCESS)
        rc = MPI_Type_commit(type);
    if (rc == MPI_SUCCESS && packwright_prepare_type)
        packwright_prepare_type(*type);
    return rc;
}
