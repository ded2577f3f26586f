/*
 * Requests that stand for no operation in particular: MPIs hand out one already complete request for everything that
 * was done when the call returned, as short sends mostly are.
 */
#ifndef PW_RUNTIME_SHARED_REQUEST_H
#define PW_RUNTIME_SHARED_REQUEST_H

#include "runtime/mpi/mpi_compat.h"

#ifdef OPEN_MPI

/* Open MPI's; NULL before pw_shared_request_find, or if it cannot be found: then none is recognised. */
extern const void *pw_shared_request;

static inline bool pw_request_is_shared(MPI_Request request)
{
    return (const void *)request == pw_shared_request && pw_shared_request;
}

#elif defined(MPICH_NAME)

/* MPICH's handles say in their two highest bits how they came to be; 1 is "predefined". */
static inline bool pw_request_is_shared(MPI_Request request)
{
    return sizeof request == sizeof(int) && ((uintptr_t)request & 0xc0000000u) == 0x40000000u;
}

#else

static inline bool pw_request_is_shared(MPI_Request request)
{
    (void)request;
    return false;
}

#endif

/* Once, when the MPI is known. */
void pw_shared_request_find(void);

#endif
