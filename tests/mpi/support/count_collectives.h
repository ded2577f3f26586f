/* What the tool below Packwright sees of collectives: calls, and those among them with a type that has gaps. */
#ifndef PW_TESTS_INTERPOSER_COUNT_COLLECTIVES_H
#define PW_TESTS_INTERPOSER_COUNT_COLLECTIVES_H

#include <mpi.h>

extern _Atomic long count_collectives, count_gapped;
/* The type of the second block in the last MPI_Neighbor_alltoallw on a grid. */
extern _Atomic(MPI_Datatype) count_second_type;

#endif
