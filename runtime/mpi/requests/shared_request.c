#include "runtime/mpi/requests/internal.h"

#ifdef OPEN_MPI

#include <dlfcn.h>

const void *pw_shared_request;

void pw_shared_request_find(void)
{
    pw_shared_request = dlsym(RTLD_DEFAULT, "ompi_request_empty");
}

#else

void pw_shared_request_find(void)
{
}

#endif
