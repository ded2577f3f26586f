/*
 * The one place of the runtime that knows which MPI it is compiled against. Sources are compiled once per MPI ABI:
 * handles may be ints or pointers, and predefined ones need not be constants, so they are compared and never switched
 * on. The MPI standard's ABI is that of several MPIs: which one a process has is asked at run time.
 */
#ifndef PW_RUNTIME_MPI_COMPAT_H
#define PW_RUNTIME_MPI_COMPAT_H

#include "frontend/mpi/handles.h"
#include "frontend/mpi/weak.h"

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define PW_MPI_SINCE(major, minor) (MPI_VERSION > (major) || (MPI_VERSION == (major) && MPI_SUBVERSION >= (minor)))

/* True if this MPI has the calls of that version, other than those that take an MPI_Count. Open MPI 5.0 reports version
 * 3.1 and has the calls of 4.0. */
#if defined(OPEN_MPI) && OMPI_MAJOR_VERSION >= 5 && !PW_MPI_SINCE(4, 0)
#define PW_MPI_HAS(major, minor) ((major) < 4 || ((major) == 4 && (minor) == 0))
#else
#define PW_MPI_HAS(major, minor) PW_MPI_SINCE(major, minor)
#endif

/* 1 if this MPI has the calls that take an MPI_Count (the _c forms). */
#if PW_MPI_SINCE(4, 0)
#define PW_MPI_LARGE 1
#else
#define PW_MPI_LARGE 0
#endif

/* 1 if this is the MPI standard's ABI, by its own mpi.h. MPIs that have it next to an ABI of their own name themselves
 * in the mpi.h of the latter. */
#if defined(MPI_ABI_VERSION) && !defined(OPEN_MPI) && !defined(MPICH_NAME)
#define PW_MPI_STANDARD_ABI 1
#else
#define PW_MPI_STANDARD_ABI 0
#endif

/* True if the MPI below is Open MPI. In the standard's ABI known after the self-test (entry/locate.h), which asks. */
#if PW_MPI_STANDARD_ABI
extern bool pw_mpi_is_open_mpi, pw_mpi_is_mpich; /* entry/version.c */
#define PW_MPI_IS_OPEN_MPI pw_mpi_is_open_mpi
#elif defined(OPEN_MPI)
#define PW_MPI_IS_OPEN_MPI true
#else
#define PW_MPI_IS_OPEN_MPI false
#endif

/* Returns whether there is an MPI_COMM_WORLD. Sessions may begin before it and outlive it. */
static inline bool pw_mpi_has_world(void)
{
    int initialised = 0, finalised = 0;

    PMPI_Initialized(&initialised);
    PMPI_Finalized(&finalised);
    return initialised && !finalised;
}

/* Returns whether several threads may call MPI at once. Yes, too, if MPI does not say. */
static inline bool pw_mpi_has_threads(void)
{
    int provided;

    return PMPI_Query_thread(&provided) != MPI_SUCCESS || provided == MPI_THREAD_MULTIPLE;
}

/* MPICH's objects begin with its handle of them, a number. A program's handle is that number in MPICH's own ABI, and
 * the object's address in the standard's. */

/* Returns the datatype whose object MPI gives to UCX as the context of a datatype (ucp_dt_create_generic). */
static inline MPI_Datatype pw_type_of_context(void *context)
{
    if (PW_MPI_STANDARD_ABI || PW_MPI_IS_OPEN_MPI)
        return (MPI_Datatype)(uintptr_t)context;
    return (MPI_Datatype)(uintptr_t)*(const unsigned *)context;
}

/* Returns the number of a request of MPICH; 0: this MPI has no such numbers. */
static inline unsigned pw_mpich_request(MPI_Request request)
{
#if PW_MPI_STANDARD_ABI
    return pw_mpi_is_mpich ? *(const unsigned *)request : 0;
#else
    return PW_MPI_IS_OPEN_MPI ? 0 : (unsigned)(uintptr_t)request;
#endif
}

/* Intel MPI's mpi.h (2021.18) lacks the const of the lists of requests in the calls of MPI 4.1. */
#ifdef I_MPI_VERSION
#define PW_MPI_CONST_REQUESTS
#else
#define PW_MPI_CONST_REQUESTS const
#endif

/* Functions that return a handle as the key of a table; 0 stands for none. */
#define PW_KEY_OF(name, handle_type)                \
    static inline uint64_t name(handle_type handle) \
    {                                               \
        uint64_t key = 0;                           \
                                                    \
        memcpy(&key, &handle, sizeof handle);       \
        return key;                                 \
    }

PW_KEY_OF(pw_type_key, MPI_Datatype)
PW_KEY_OF(pw_communicator_key, MPI_Comm)
PW_KEY_OF(pw_request_key, MPI_Request)
PW_KEY_OF(pw_win_key, MPI_Win)
PW_KEY_OF(pw_file_key, MPI_File)

/* Copy callbacks for keyvals that copy nothing. They replace MPI_COMM_NULL_COPY_FN and its like, which are symbols in
 * Open MPI: with them, this library could not be loaded into a process without MPI. */
#define PW_COPY_NOTHING(name, handle_type)                                                                  \
    static inline int name(handle_type handle, int keyval, void *extra, void *value, void *copy, int *flag) \
    {                                                                                                       \
        (void)handle, (void)keyval, (void)extra, (void)value, (void)copy;                                   \
        *flag = 0;                                                                                          \
        return MPI_SUCCESS;                                                                                 \
    }

PW_COPY_NOTHING(pw_type_copy_nothing, MPI_Datatype)
PW_COPY_NOTHING(pw_communicator_copy_nothing, MPI_Comm)
PW_COPY_NOTHING(pw_win_copy_nothing, MPI_Win)

#endif
