#include "runtime/mpi/collective/collective.h"

#include <stdatomic.h>
#include <stdio.h>

/* Returns the version behind `name` in the text, as major * 1000 + minor; 0: the text is of another MPI. */
static int version_behind(const char *text, const char *name)
{
    const char *at = strstr(text, name);
    int major = 0, minor = 0;

    if (at && sscanf(at + strlen(name), " %d.%d", &major, &minor) == 2)
        return major * 1000 + minor;
    return 0;
}

static bool look(void)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length;

    if (PMPI_Get_library_version(text, &length) != MPI_SUCCESS)
        return false;
    return version_behind(text, "MPICH Version:") >= 4003 || version_behind(text, "Open MPI v") >= 5000;
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
