/*
 * Predefined handles of an MPI in which they are addresses of the library's data (Open MPI).
 *
 * Data symbols are bound when a library is loaded: the interposer could then not be loaded where there is no MPI, and
 * where an MPI comes later, in a scope of its own, it would keep their absence for ever. So the sources that become
 * part of it (PW_MPI_HANDLES_AT_RUN_TIME) mean by MPI_BYTE and the like a variable, which is filled when the library is
 * loaded and once more when an MPI has been found. A handle that is used and has no row here does not compile.
 *
 * In other MPIs handles are constants, and there is nothing to find.
 */
#ifndef PW_FRONTEND_MPI_HANDLES_H
#define PW_FRONTEND_MPI_HANDLES_H

#include <mpi.h>
#include <stdbool.h>

#ifdef OPEN_MPI

/* X(symbol), alphabetical */
#define PW_MPI_HANDLES(X)       \
    X(ompi_message_no_proc)     \
    X(ompi_message_null)        \
    X(ompi_mpi_aint)            \
    X(ompi_mpi_byte)            \
    X(ompi_mpi_char)            \
    X(ompi_mpi_comm_null)       \
    X(ompi_mpi_comm_self)       \
    X(ompi_mpi_comm_world)      \
    X(ompi_mpi_count)           \
    X(ompi_mpi_datatype_null)   \
    X(ompi_mpi_double_int)      \
    X(ompi_mpi_errhandler_null) \
    X(ompi_mpi_errors_return)   \
    X(ompi_mpi_file_null)       \
    X(ompi_mpi_float_int)       \
    X(ompi_mpi_group_null)      \
    X(ompi_mpi_info_null)       \
    X(ompi_mpi_int)             \
    X(ompi_mpi_int64_t)         \
    X(ompi_mpi_long_int)        \
    X(ompi_mpi_longdbl_int)     \
    X(ompi_mpi_op_max)          \
    X(ompi_mpi_op_min)          \
    X(ompi_mpi_op_no_op)        \
    X(ompi_mpi_op_null)         \
    X(ompi_mpi_op_replace)      \
    X(ompi_mpi_op_sum)          \
    X(ompi_mpi_packed)          \
    X(ompi_mpi_short_int)       \
    X(ompi_mpi_win_null)        \
    X(ompi_request_null)

#define X(symbol) extern void *pw_##symbol;
PW_MPI_HANDLES(X)
#undef X

#ifdef PW_MPI_HANDLES_AT_RUN_TIME
#undef OMPI_PREDEFINED_GLOBAL
#define OMPI_PREDEFINED_GLOBAL(type, global) ((type)pw_##global)
#endif

#endif

/* Looks for them in the global scope. False: there is no MPI in it. Not thread safe, but idempotent. */
bool pw_mpi_handles_find(void);
/* Looks once, and returns what was found then. Thread safe. */
bool pw_mpi_handles_found(void);

#endif
