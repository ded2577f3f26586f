/*
 * Turns a pw_status into an MPI error class; no other file does that. What fails is reported through the
 * communicator's error handler, as MPI itself would do.
 */
#include "runtime/mpi/errors.h"

int pw_mpi_error(pw_status status)
{
    switch (status) {
    case PW_OK: return MPI_SUCCESS;
    case PW_ERR_NOMEM: return MPI_ERR_NO_MEM;
    case PW_ERR_INVALID: return MPI_ERR_ARG;
    case PW_ERR_OVERFLOW: return MPI_ERR_COUNT;
    case PW_ERR_UNSUPPORTED:
    case PW_ERR_NOT_FOUND: return MPI_ERR_UNSUPPORTED_OPERATION;
    case PW_ERR_IO: return MPI_ERR_IO;
    case PW_ERR_DENIED: return MPI_ERR_ACCESS;
    case PW_ERR_CORRUPT:
    case PW_ERR_COMPILE: return MPI_ERR_INTERN;
    case PW_ERR_MPI: return MPI_ERR_OTHER;
    }
    return MPI_ERR_UNKNOWN;
}

int pw_mpi_report(MPI_Comm comm, int error)
{
    if (error != MPI_SUCCESS)
        PMPI_Comm_call_errhandler(comm == MPI_COMM_NULL ? MPI_COMM_SELF : comm, error);
    return error;
}

int pw_mpi_fail(MPI_Comm comm, pw_status status)
{
    return pw_mpi_report(comm, pw_mpi_error(status));
}
