#include "tools/measure/rank.h"

#include "base/env.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Environment variables that launchers set for their ranks. Open MPI's launcher also starts MPICHs that were built for
 * PMIx, so --mpi overrides what is found here. */
static const struct {
    const char *variable, *mpi;
} launchers[] = {{"OMPI_COMM_WORLD_SIZE", "openmpi"}, {"PMI_SIZE", "mpich"}, {"PMI_RANK", "mpich"}};

const char *pw_measure_launcher(void)
{
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++)
        if (pw_env_foreign(launchers[i].variable))
            return launchers[i].mpi;
    return NULL;
}

static bool is_beside(const char *mpi, char *out, size_t size)
{
    ssize_t n = readlink("/proc/self/exe", out, size - 1);
    char *slash;

    out[n > 0 ? n : 0] = '\0';
    slash = strrchr(out, '/');
    if (!slash)
        return false;
    snprintf(slash, size - (size_t)(slash - out), "/packwright-measure-%s", mpi);
    return !access(out, X_OK);
}

bool pw_measure_program(const char *mpi, char *out, size_t size)
{
    return is_beside(mpi, out, size) || is_beside("mpi-abi", out, size) || is_beside(mpi, out, size);
}
