/*
 * Dense types: for the type of a staged buffer, a committed type of the same size without gaps.
 *
 * MPI libraries choose the algorithms of collectives, and the segments of their pipelines, by counts and by the sizes
 * of types, on each rank for itself. A collective on a staging buffer therefore keeps the program's counts and only
 * exchanges each type for a dense type of the same size: whatever MPI derives from these numbers is the same as on
 * ranks that leave the call to MPI. The dense type of one byte is not MPI_BYTE for the same reason: it is a derived
 * type, as the program's is.
 *
 * Dense types live until MPI ends. Thread safe; looking up a dense type that exists takes no lock.
 */
#ifndef PW_RUNTIME_DENSE_TYPE_H
#define PW_RUNTIME_DENSE_TYPE_H

#include "runtime/mpi/mpi_compat.h"

/* Gets the dense type of `size` > 0 bytes. Returns false if MPI or memory fails, or if there are too many sizes. */
bool pw_dense_type_get(int64_t size, MPI_Datatype *out);

/* Frees all dense types, while MPI still works. The next pw_dense_type_get opens the table again. */
void pw_dense_type_leave(void);

#endif
