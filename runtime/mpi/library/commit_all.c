/*
 * PACKWRIGHT_Type_commit_all: what all ranks carry out alike is here, whether they have the interposer or not; what is
 * to be prepared in a process the interposer does, if it is there (runtime/mpi/strategy/prepare.h).
 */
#include "frontend/mpi/handles.h"
#include "frontend/mpi/weak.h"
#include "runtime/mpi/strategy/prepare.h"

#include <packwright/packwright-mpi.h>

#include <pthread.h>
#include <unistd.h>

#pragma weak packwright_prepare_type
#pragma weak packwright_prepare_peer
/* The program's own calls, which the interposer sees: it notes the type, and sends what it has deferred before this
 * rank waits for others. */
#pragma weak MPI_Type_commit
#pragma weak MPI_Comm_split_type
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

static int prepare_with(MPI_Comm node, int peer, MPI_Datatype type)
{
    int own = (int)getpid(), theirs;
    int rc = PMPI_Sendrecv(&own, 1, MPI_INT, peer, 0, &theirs, 1, MPI_INT, peer, 0, node, MPI_STATUS_IGNORE);

    if (rc == MPI_SUCCESS && packwright_prepare_peer)
        packwright_prepare_peer(type, theirs);
    return rc;
}

/* Each rank meets each other one: in round i those two whose ranks sum up to i, or to i and the number of ranks. No
 * rank needs memory that it might not get while the others wait for it. */
static int prepare_for_peers(MPI_Comm node, MPI_Datatype type)
{
    int rank, size, rc = PMPI_Comm_rank(node, &rank);

    if (rc == MPI_SUCCESS)
        rc = PMPI_Comm_size(node, &size);
    for (int i = 0; rc == MPI_SUCCESS && i < size; i++) {
        int peer = (i - rank + size) % size;

        if (peer != rank)
            rc = prepare_with(node, peer, type);
    }
    return rc;
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

/* PMPI_Comm_free, since the interposer forgets what it knows of all channels when the program frees a communicator. */
static int prepare_node(MPI_Comm comm, MPI_Datatype type)
{
    MPI_Comm node;
    int rc = MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);

    if (rc != MPI_SUCCESS)
        return rc;
    rc = prepare_for_peers(node, type);
    if (rc == MPI_SUCCESS && type != MPI_DATATYPE_NULL)
        rc = rehearse(node, type);
    PMPI_Comm_free(&node);
    return rc;
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
    if (committed == MPI_SUCCESS && packwright_prepare_type)
        packwright_prepare_type(*type);
    if (!between_groups)
        rc = prepare_node(comm, committed == MPI_SUCCESS ? *type : MPI_DATATYPE_NULL);
    return committed != MPI_SUCCESS ? committed : rc;
}
