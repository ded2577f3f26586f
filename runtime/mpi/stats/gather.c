/*
 * Purpose: arrays of all ranks brought to rank 0. Data: none of its own. Invariant: all ranks agree that there is room
 * before data moves, so none waits for one that has given up.
 */
#include "runtime/mpi/stats/gather.h"

#include <limits.h>
#include <stdlib.h>

bool pw_gather_open(MPI_Comm *comm, int *rank, int *nranks)
{
    /* MPI_Comm_split, unlike MPI_Comm_dup, copies no attributes, so none of the application's callbacks run. */
    PMPI_Comm_rank(MPI_COMM_WORLD, rank);
    if (PMPI_Comm_split(MPI_COMM_WORLD, 0, *rank, comm) != MPI_SUCCESS)
        return false;
    PMPI_Comm_set_errhandler(*comm, MPI_ERRORS_RETURN);
    PMPI_Comm_size(*comm, nranks);
    return true;
}

/* Makes room for the items of all ranks at rank 0, which keeps its own in front. Sets displs to where the items of each
 * rank begin. */
static bool make_room(void **data, size_t item_bytes, const int *counts, int *displs, int nranks, int64_t *total)
{
    void *grown;

    *total = 0;
    for (int i = 0; i < nranks; i++) {
        displs[i] = (int)*total;
        *total += counts[i];
        if (*total > INT_MAX)
            return false;
    }
    grown = realloc(*data, (size_t)(*total + 1) * item_bytes);
    if (grown)
        *data = grown;
    return grown != NULL;
}

bool pw_gather(void **data, int64_t *n, size_t item_bytes, MPI_Comm comm)
{
    int rank, nranks, mine = *n <= INT_MAX ? (int)*n : -1, ok;
    int64_t total = 0;
    int *counts, *displs;
    MPI_Datatype item;

    PMPI_Comm_rank(comm, &rank);
    PMPI_Comm_size(comm, &nranks);
    /* Only rank 0 needs the counts. If it lacks memory for them, all ranks find out before the data moves. */
    counts = rank == 0 ? calloc((size_t)nranks * 2, sizeof *counts) : NULL;
    displs = counts ? counts + nranks : NULL;
    PMPI_Type_contiguous((int)item_bytes, MPI_BYTE, &item);
    PMPI_Type_commit(&item);
    ok = (rank != 0 || counts) && mine >= 0;
    PMPI_Allreduce(MPI_IN_PLACE, &ok, 1, MPI_INT, MPI_MIN, comm);
    if (ok)
        PMPI_Gather(&mine, 1, MPI_INT, counts, 1, MPI_INT, 0, comm);
    if (ok && rank == 0)
        ok = make_room(data, item_bytes, counts, displs, nranks, &total);
    PMPI_Bcast(&ok, 1, MPI_INT, 0, comm);
    if (ok) {
        ok = PMPI_Gatherv(rank == 0 ? MPI_IN_PLACE : *data, mine, item, *data, counts, displs, item, 0, comm) ==
             MPI_SUCCESS;
        if (rank == 0 && ok)
            *n = total;
    }
    PMPI_Type_free(&item);
    free(counts);
    return ok;
}
