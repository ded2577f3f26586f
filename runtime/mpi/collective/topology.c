/*
 * Neighbourhoods of Cartesian, graph and distributed graph topologies: how many neighbours, which of them are this
 * process, and their ranks. All of it is asked of MPI when a communicator is first used, in the order in which MPI
 * numbers the blocks.
 */
#include "runtime/mpi/collective/communicator.h"

#include <stdlib.h>
#include <string.h>

/* Lists the first PW_NEIGHBOURS_SELF blocks whose neighbour is this process. Returns how many there are in all. */
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

/* Counts the blocks. */
static bool count(MPI_Comm comm, int kind, int rank, pw_neighbours *out)
{
    int dims, weighted;

    switch (kind) {
    case MPI_CART:
        if (PMPI_Cartdim_get(comm, &dims) != MPI_SUCCESS)
            return false;
        out->in = out->out = 2 * dims;
        return out->in <= PW_NEIGHBOURS_ABSENT;
    case MPI_GRAPH:
        if (PMPI_Graph_neighbors_count(comm, rank, &out->in) != MPI_SUCCESS)
            return false;
        out->out = out->in;
        return true;
    case MPI_DIST_GRAPH: return PMPI_Dist_graph_neighbors_count(comm, &out->in, &out->out, &weighted) == MPI_SUCCESS;
    default: return false;
    }
}

bool pw_neighbours_of(MPI_Comm comm, pw_neighbours *out)
{
    int kind, rank, from[PW_NEIGHBOURS_ABSENT], to[PW_NEIGHBOURS_ABSENT];

    *out = (pw_neighbours){.self = 0};
    if (PMPI_Topo_test(comm, &kind) != MPI_SUCCESS || PMPI_Comm_rank(comm, &rank) != MPI_SUCCESS ||
        !count(comm, kind, rank, out))
        return false;
    out->topology = kind == MPI_CART ? PW_TOPOLOGY_GRID : PW_TOPOLOGY_GRAPH;
    if (kind == MPI_GRAPH || out->in > PW_NEIGHBOURS_ABSENT || out->out > PW_NEIGHBOURS_ABSENT)
        return true;
    if (!pw_neighbour_ranks(comm, out, from, to))
        return kind != MPI_CART;
    for (int i = 0; kind == MPI_CART && i < out->in; i++) {
        out->absent[i] = from[i] == MPI_PROC_NULL;
        out->some_absent |= out->absent[i];
    }
    find_self(from, to, rank, out);
    return true;
}
