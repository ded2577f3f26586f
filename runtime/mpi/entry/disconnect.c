/*
 * Takes the place of ucp_disconnect_nb, which MPICH calls in MPI_Finalize for each rank of the world. UCX then waits
 * until that rank has acknowledged what was sent to it over TCP. A rank acknowledges while it calls UCX. MPICH 3.4 to
 * 4.1 (ch4:ucx) next waits in a barrier of the launcher, without calling UCX. So if a rank gets there before another
 * one begins to disconnect from it, the other one waits forever. That happens natively, too, where ranks on several
 * nodes come to MPI_Finalize one after another, as after an MPI_Gather.
 *
 * Where all messages have been received, the launcher's barrier alone suffices: MPICH destroys connections behind it.
 * MPICH 4.2 has its barrier before it disconnects, and does not wait for ranks that have ended.
 */
#include "runtime/mpi/entry/disconnect.h"

#include "runtime/mpi/entry/locate.h"
#include "runtime/mpi/entry/version.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FIRST_VERSION = 3004, LAST_VERSION = 4001, UCS_ERR_UNSUPPORTED = -22 };

static _Atomic bool at_once;

void pw_disconnect_at_once(void)
{
    int version = pw_version_behind(PW_VERSION_MPICH);

    if (version >= FIRST_VERSION && version <= LAST_VERSION)
        atomic_store(&at_once, true);
}

void *ucp_disconnect_nb(void *endpoint);

/* As ucp/api/ucp.h declares it, in all versions: the result is a request, a status as a pointer, or NULL for "done". */
__attribute__((visibility("default"))) void *ucp_disconnect_nb(void *endpoint)
{
    void *(*next)(void *) = NULL;
    Dl_info info;

    if (atomic_load(&at_once))
        return NULL;
    if (dladdr(__builtin_return_address(0), &info) && info.dli_fname)
        next = (void *(*)(void *))(uintptr_t)pw_locate_behind(info.dli_fname, "ucp_disconnect_nb");
    return next && next != ucp_disconnect_nb ? next(endpoint) : (void *)(intptr_t)UCS_ERR_UNSUPPORTED;
}
