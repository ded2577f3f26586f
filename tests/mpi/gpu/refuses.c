/* A tool between Packwright and the MPI, by which the next call that sends fails where a test says so. */
#include "tests/mpi/gpu/refuses.h"

bool refuses_next;

static int refused(void)
{
    int rc = refuses_next ? MPI_ERR_OTHER : MPI_SUCCESS;

    refuses_next = false;
    return rc;
}

int MPI_Send(const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm)
{
    int rc = refused();

    return rc ? rc : PMPI_Send(buf, count, type, dest, tag, comm);
}

int MPI_Start(MPI_Request *request)
{
    int rc = refused();

    return rc ? rc : PMPI_Start(request);
}

int MPI_Isend(const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm, MPI_Request *request)
{
    int rc = refused();

    return rc ? rc : PMPI_Isend(buf, count, type, dest, tag, comm, request);
}

int MPI_Sendrecv(const void *sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag, void *recvbuf,
                 int recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm, MPI_Status *status)
{
    int rc = refused();

    return rc ? rc
              : PMPI_Sendrecv(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source,
                              recvtag, comm, status);
}
