/*
 * Neighbourhoods of Cartesian, graph and distributed graph topologies: how many neighbours, which of them are this
 * process, and their ranks. All of it is asked of MPI when a communicator is first used, in the order in which MPI
 * numbers the blocks.
 */
#include "runtime/mpi/collective/communicator.h"

#include <stdlib.h>
#include <string.h>

/* Lists the blocks whose neighbour is this process. Returns how many there are; no more than PW_NEIGHBOURS_SELF are
 * listed. */
static int list_self(const int *neighbours, int n, int rank, int *list)
{
    int found = 0;

    for (int i = 0; i < n; i++)
        if (neighbours[i] == rank && found++ < PW_NEIGHBOURS_SELF)
            list[found - 1] = i;
    return found;
}

static void find_self(const int *sources, const int *destinations, int rank, pw_neighbours *out)
{
    int in = list_self(sources, out->in, rank, out->self_in);

    if (in == list_self(destinations, out->out, rank, out->self_out) && in <= PW_NEIGHBOURS_SELF)
        out->self = in;
}

/* Lists the two neighbours in each dimension of a grid: the one before and the one behind. */
static bool list_grid(MPI_Comm comm, int dims, int *all)
{
    for (int d = 0; d < dims; d++)
        if (PMPI_Cart_shift(comm, d, 1, &all[2 * d], &all[2 * d + 1]) != MPI_SUCCESS)
            return false;
    return true;
}

static bool of_grid(MPI_Comm comm, pw_neighbours *out)
{
    int dims, rank, all[PW_NEIGHBOURS_ABSENT];

    if (PMPI_Cartdim_get(comm, &dims) != MPI_SUCCESS || dims > PW_NEIGHBOURS_ABSENT / 2 ||
        PMPI_Comm_rank(comm, &rank) != MPI_SUCCESS || !list_grid(comm, dims, all))
        return false;
    for (int i = 0; i < 2 * dims; i++) {
        out->absent[i] = all[i] == MPI_PROC_NULL;
        out->some_absent |= out->absent[i];
    }
    out->in = out->out = 2 * dims;
    find_self(all, all, rank, out);
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

/* The blocks to oneself of a graph with few edges. Weights are asked for since the graph may have some. */
static void find_self_of_edges(MPI_Comm comm, pw_neighbours *out)
{
    enum { FEW = 64 };
    int rank, sources[FEW], destinations[FEW], weights_in[FEW], weights_out[FEW];

    if (out->in <= FEW && out->out <= FEW && PMPI_Comm_rank(comm, &rank) == MPI_SUCCESS &&
        PMPI_Dist_graph_neighbors(comm, out->in, sources, weights_in, out->out, destinations, weights_out) ==
            MPI_SUCCESS)
        find_self(sources, destinations, rank, out);
}

static bool of_edges(MPI_Comm comm, pw_neighbours *out)
{
    int weighted;

    if (PMPI_Dist_graph_neighbors_count(comm, &out->in, &out->out, &weighted) != MPI_SUCCESS)
        return false;
    out->topology = PW_TOPOLOGY_GRAPH;
    find_self_of_edges(comm, out);
    return true;
}

bool pw_neighbours_of(MPI_Comm comm, pw_neighbours *out)
{
    int kind;

    out->some_absent = false;
    out->topology = PW_TOPOLOGY_GRID;
    out->self = 0;
    if (PMPI_Topo_test(comm, &kind) != MPI_SUCCESS)
        return false;
    switch (kind) {
    case MPI_CART: return of_grid(comm, out);
    case MPI_GRAPH: return of_graph(comm, out);
    case MPI_DIST_GRAPH: return of_edges(comm, out);
    default: return false;
    }
}

/* Weights are asked for since the graph may have some. */
static bool list_edges(MPI_Comm comm, const pw_neighbours *n, int *from, int *to)
{
    int *weights = malloc(((size_t)n->in + (size_t)n->out + 1) * sizeof *weights);
    bool done =
        weights && PMPI_Dist_graph_neighbors(comm, n->in, from, weights, n->out, to, weights + n->in) == MPI_SUCCESS;

    free(weights);
    return done;
}

bool pw_neighbour_ranks(MPI_Comm comm, const pw_neighbours *neighbours, int *from, int *to)
{
    int kind, rank;
    bool done = false;

    if (PMPI_Topo_test(comm, &kind) != MPI_SUCCESS || PMPI_Comm_rank(comm, &rank) != MPI_SUCCESS)
        return false;
    if (kind == MPI_DIST_GRAPH)
        return list_edges(comm, neighbours, from, to);
    if (kind == MPI_CART)
        done = list_grid(comm, neighbours->in / 2, from);
    else if (kind == MPI_GRAPH)
        done = PMPI_Graph_neighbors(comm, rank, neighbours->in, from) == MPI_SUCCESS;
    if (done)
        memcpy(to, from, (size_t)neighbours->in * sizeof *to);
    return done;
}
