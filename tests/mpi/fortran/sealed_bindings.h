/* The functions that the test `sealed` calls in its stand-in for Fortran bindings. */
#ifndef PW_TESTS_MPI_FORTRAN_SEALED_BINDINGS_H
#define PW_TESTS_MPI_FORTRAN_SEALED_BINDINGS_H

#include <mpi.h>

typedef int sealed_commit_fn(MPI_Datatype *);

/* Returns where the library's PMPI_Type_commit leads to. */
sealed_commit_fn *sealed_commit_target(void);
int sealed_commit(MPI_Datatype *type);
/* A call that Packwright does not wrap. */
int sealed_size(MPI_Datatype type, int *size);

#endif
