/*
 * Preloaded into a sample, spoils the last byte that every MPI_Unpack and MPI_Recv writes on rank 0: the sample's
 * own verification must notice.
 */
#include <mpi.h>

int MPI_Unpack(const void *inbuf, int insize, int *position, void *outbuf, int outcount, MPI_Datatype type,
               MPI_Comm comm);
int MPI_Recv(void *buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Status *status);

static void spoil(void *buf, int count, MPI_Datatype type)
{
    MPI_Aint true_lb, true_extent, lb, extent;
    int rank;

    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank || !count)
        return;
    PMPI_Type_get_extent(type, &lb, &extent);
    PMPI_Type_get_true_extent(type, &true_lb, &true_extent);
    ((unsigned char *)buf)[(count - 1) * extent + true_lb + true_extent - 1] ^= 1;
}

int MPI_Unpack(const void *inbuf, int insize, int *position, void *outbuf, int outcount, MPI_Datatype type,
               MPI_Comm comm)
{
    int status = PMPI_Unpack(inbuf, insize, position, outbuf, outcount, type, comm);

    spoil(outbuf, outcount, type);
    return status;
}

int MPI_Recv(void *buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Status *status)
{
    int result = PMPI_Recv(buf, count, type, source, tag, comm, status);

    spoil(buf, count, type);
    return result;
}
