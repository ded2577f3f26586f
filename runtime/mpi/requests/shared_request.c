/*
 * The request handle that Open MPI gives to operations that are over when their call returns. It is looked up once,
 * and NULL under other MPIs.
 */
#include "runtime/mpi/requests/internal.h"

#include <dlfcn.h>

const void *pw_shared_request;

void pw_shared_request_find(void)
{
    if (PW_MPI_IS_OPEN_MPI)
        pw_shared_request = dlsym(RTLD_DEFAULT, "ompi_request_empty");
}
