/* A tool as profilers are: takes some calls, goes on to their PMPI_ forms, and tells at the end how often they came. */
#include <mpi.h>
#include <stdio.h>

static int sends, receives;

int MPI_Isend(const void *buf, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request)
{
    sends++;
    return PMPI_Isend(buf, count, type, to, tag, comm, request);
}

int MPI_Irecv(void *buf, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request *request)
{
    receives++;
    return PMPI_Irecv(buf, count, type, from, tag, comm, request);
}

int MPI_Waitall(int n, MPI_Request *requests, MPI_Status *statuses)
{
    return PMPI_Waitall(n, requests, statuses);
}

int MPI_Type_commit(MPI_Datatype *type)
{
    return PMPI_Type_commit(type);
}

int MPI_Finalize(void)
{
    fprintf(stderr, "tool: %d sends, %d receives\n", sends, receives);
    return PMPI_Finalize();
}
