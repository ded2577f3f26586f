#include "frontend/mpi/handles.h"

#include <pthread.h>

#ifdef OPEN_MPI

#include <dlfcn.h>

#define X(symbol) void *pw_##symbol;
PW_MPI_HANDLES(X)
#undef X

bool pw_mpi_handles_find(void)
{
    static const struct {
        const char *symbol;
        void **handle;
    } rows[] = {
#define X(symbol) {#symbol, &pw_##symbol},
        PW_MPI_HANDLES(X)
#undef X
    };

    /* The global scope's first definition and not the MPI's own: a program that is linked at a fixed address has a copy
     * of its own of each that it names, and that is the one which everybody uses. */
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        *rows[i].handle = dlsym(RTLD_DEFAULT, rows[i].symbol);
    return pw_ompi_mpi_comm_world != NULL;
}

__attribute__((constructor)) static void find_at_load(void)
{
    pw_mpi_handles_find();
}

#else

bool pw_mpi_handles_find(void)
{
    return true;
}

#endif

static bool found;

static void find_once(void)
{
    found = pw_mpi_handles_find();
}

bool pw_mpi_handles_found(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, find_once);
    return found;
}
