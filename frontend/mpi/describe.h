/* A datatype as the program built it, as text for people. */
#ifndef PW_FRONTEND_MPI_DESCRIBE_H
#define PW_FRONTEND_MPI_DESCRIBE_H

#include <mpi.h>
#include <stddef.h>

/*
 * Writes a derived type in the short form of the datatype language (docs/ddt.md), constructor by constructor as MPI
 * remembers them: "sub(8 8 | 8 2 | 0 6)[double]". Long lists are shortened, and a text that does not fit ends with
 * dots, so the result need not parse. "" if MPI says nothing of the type. `size` > 4.
 */
void pw_mpi_describe(MPI_Datatype type, char *out, size_t size);

#endif
