/*
 * Purpose: the hooks of calls that free a communicator, where each part of the runtime forgets what it has kept of it.
 * Data: none. Invariant: all of that is forgotten before MPI gets the call, since MPI may then give the handle to
 * another communicator.
 */
#include "runtime/exchange/direct.h"
#include "runtime/mpi/collective/communicator.h"
#include "runtime/mpi/requests/kept.h"
#include "runtime/mpi/requests/loopback.h"
#include "runtime/mpi/requests/pending.h"

#include "hooks.h"

pw_verdict pw_hook_Comm_free(MPI_Comm *comm, int *rc)
{
    (void)rc;
    if (!comm || *comm == MPI_COMM_NULL)
        return PW_PASS;
    pw_pending_forget_comm(*comm);
    pw_kept_forget(*comm);
    pw_direct_forget_channels();
    pw_loopback_forget(*comm);
    pw_communicator_let_go(*comm);
    return PW_PASS;
}

/* MPI returns when all operations on the communicator are over, including those whose request the program has freed. */
pw_verdict pw_hook_Comm_disconnect(MPI_Comm *comm, int *rc)
{
    if (comm && *comm != MPI_COMM_NULL)
        pw_pending_sweep(true, *comm);
    return pw_hook_Comm_free(comm, rc);
}
