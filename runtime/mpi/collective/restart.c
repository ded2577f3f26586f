/*
 * Whether this MPI moves data when a persistent collective is started again. MPICH before 4.3 does not, so such calls
 * are left to it. The version is looked up once.
 */
#include "runtime/mpi/collective/collective.h"

#include "runtime/mpi/entry/version.h"

#include <stdatomic.h>

static bool look(void)
{
    return pw_version_behind(PW_VERSION_MPICH) >= 4003 || pw_version_behind(PW_VERSION_OPEN_MPI) >= 5000;
}

bool pw_collective_restarts(void)
{
    static _Atomic int known = -1;
    int restarts = atomic_load_explicit(&known, memory_order_relaxed);

    if (restarts < 0) {
        restarts = look();
        atomic_store_explicit(&known, restarts, memory_order_relaxed);
    }
    return restarts;
}
