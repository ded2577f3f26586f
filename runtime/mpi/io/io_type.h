/*
 * Types that ROMIO writes otherwise than the typemap says. Files outlive programs, and not all that read and write them
 * have us: what an MPI makes of a type is left as it is.
 */
#ifndef PW_RUNTIME_IO_TYPE_H
#define PW_RUNTIME_IO_TYPE_H

#include "runtime/mpi/mpi_compat.h"

/* Whether the file would hold the packed bytes of the type. Looks into the type each time, some hundred nanoseconds a
 * constructor. */
bool pw_io_type_is_plain(MPI_Datatype type);

#endif
