#include "runtime/mpi/collective/communicator.h"

/* Finds two neighbours in each dimension of a grid: the one before and the one behind. */
static bool of_grid(MPI_Comm comm, pw_neighbours *out)
{
    int dims, before, behind;

    if (PMPI_Cartdim_get(comm, &dims) != MPI_SUCCESS || dims > PW_NEIGHBOURS_ABSENT / 2)
        return false;
    for (int d = 0; d < dims; d++) {
        if (PMPI_Cart_shift(comm, d, 1, &before, &behind) != MPI_SUCCESS)
            return false;
        out->absent[2 * d] = before == MPI_PROC_NULL;
        out->absent[2 * d + 1] = behind == MPI_PROC_NULL;
        out->some_absent |= out->absent[2 * d] || out->absent[2 * d + 1];
    }
    out->in = out->out = 2 * dims;
    return true;
}

static bool of_graph(MPI_Comm comm, pw_neighbours *out)
{
    int rank;

    if (PMPI_Comm_rank(comm, &rank) != MPI_SUCCESS || PMPI_Graph_neighbors_count(comm, rank, &out->in) != MPI_SUCCESS)
        return false;
    out->out = out->in;
    return true;
}

bool pw_neighbours_of(MPI_Comm comm, pw_neighbours *out)
{
    int kind, weighted;

    out->some_absent = false;
    if (PMPI_Topo_test(comm, &kind) != MPI_SUCCESS)
        return false;
    switch (kind) {
    case MPI_CART: return of_grid(comm, out);
    case MPI_GRAPH: return of_graph(comm, out);
    case MPI_DIST_GRAPH: return PMPI_Dist_graph_neighbors_count(comm, &out->in, &out->out, &weighted) == MPI_SUCCESS;
    default: return false;
    }
}
