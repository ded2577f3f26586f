/* The tool below Packwright for some collectives, one of each shape. */
#include "tests/mpi/support/count_collectives.h"

#ifdef OPEN_MPI
/* These references are weak, since the tool is also loaded into processes without MPI, and references to data are bound
 * at load. */
#pragma weak ompi_mpi_datatype_null
#endif

_Atomic long count_collectives, count_gapped, count_mixed;
_Atomic(MPI_Datatype) count_second_type;

static int has_gaps(MPI_Datatype type)
{
    MPI_Aint lb, extent;
    int size;

    if (type == MPI_DATATYPE_NULL) /* asking for its size would call the error handler */
        return 0;
    PMPI_Type_size(type, &size);
    PMPI_Type_get_true_extent(type, &lb, &extent);
    return extent != size;
}

static void note(int gaps)
{
    count_collectives++;
    count_gapped += gaps != 0;
}

/* Whether a block that has objects has gaps. */
static int any_gaps(const int *counts, const MPI_Datatype *types, int n)
{
    for (int i = 0; i < n; i++)
        if (counts[i] > 0 && has_gaps(types[i]))
            return 1;
    return 0;
}

/* Returns the number of blocks of an all-to-all: between two groups, one for each rank of the other. */
static int blocks_of(MPI_Comm comm)
{
    int inter, n;

    PMPI_Comm_test_inter(comm, &inter);
    if (inter)
        PMPI_Comm_remote_size(comm, &n);
    else
        PMPI_Comm_size(comm, &n);
    return n;
}

int MPI_Bcast(void *buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm)
{
    note(has_gaps(datatype));
    return PMPI_Bcast(buffer, count, datatype, root, comm);
}

int MPI_Allgatherv(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, const int *recvcounts,
                   const int *displs, MPI_Datatype recvtype, MPI_Comm comm)
{
    note(has_gaps(sendtype) || has_gaps(recvtype));
    return PMPI_Allgatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm);
}

int MPI_Ialltoall(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount,
                  MPI_Datatype recvtype, MPI_Comm comm, MPI_Request *request)
{
    note(has_gaps(sendtype) || has_gaps(recvtype));
    return PMPI_Ialltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, request);
}

int MPI_Alltoallw(const void *sendbuf, const int *sendcounts, const int *sdispls, const MPI_Datatype *sendtypes,
                  void *recvbuf, const int *recvcounts, const int *rdispls, const MPI_Datatype *recvtypes,
                  MPI_Comm comm)
{
    int n = blocks_of(comm), sent = any_gaps(sendcounts, sendtypes, n), received = any_gaps(recvcounts, recvtypes, n);

    note(sent || received);
    count_mixed += sent != received;
    return PMPI_Alltoallw(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm);
}

/* Returns the dimensions of a grid, whose ranks have two neighbours in each. 0: the communicator has no grid. */
static int dims_of(MPI_Comm comm)
{
    int kind, dims = 0;

    PMPI_Topo_test(comm, &kind);
    if (kind == MPI_CART)
        PMPI_Cartdim_get(comm, &dims);
    return dims;
}

/* Returns whether a type has gaps, among the types for neighbours that exist; 0 for communicators without a grid. */
static int any_gaps_between_neighbours(const MPI_Datatype *types, MPI_Comm comm)
{
    int dims = dims_of(comm), gaps = 0, ends[2];

    for (int d = 0; d < dims; d++) {
        PMPI_Cart_shift(comm, d, 1, &ends[0], &ends[1]);
        for (int k = 0; k < 2; k++)
            gaps |= ends[k] != MPI_PROC_NULL && has_gaps(types[2 * d + k]);
    }
    return gaps;
}

int MPI_Neighbor_alltoallw(const void *sendbuf, const int *sendcounts, const MPI_Aint *sdispls,
                           const MPI_Datatype *sendtypes, void *recvbuf, const int *recvcounts, const MPI_Aint *rdispls,
                           const MPI_Datatype *recvtypes, MPI_Comm comm)
{
    if (dims_of(comm) > 0)
        count_second_type = sendtypes[1];
    note(any_gaps_between_neighbours(sendtypes, comm) || any_gaps_between_neighbours(recvtypes, comm));
    return PMPI_Neighbor_alltoallw(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes,
                                   comm);
}
