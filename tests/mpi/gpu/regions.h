/* A type of many regions: vectors of ints one behind the other, of which no two have a stride in common. */
#ifndef PW_TESTS_MPI_GPU_REGIONS_H
#define PW_TESTS_MPI_GPU_REGIONS_H

#include <mpi.h>

/* Makes and commits the type. *span: the bytes that one object needs, from address 0 on. */
MPI_Datatype regions_make(int n, MPI_Aint *span);

#endif
