/* What the tool below Packwright sees of collectives: calls, those among them with a type that has gaps, and those of
 * MPI_Alltoallw that have some on one side only. */
#ifndef PW_TESTS_INTERPOSER_COUNT_COLLECTIVES_H
#define PW_TESTS_INTERPOSER_COUNT_COLLECTIVES_H

#include <mpi.h>

extern _Atomic long count_collectives, count_gapped, count_mixed;
/* The type of the second block in the last MPI_Neighbor_alltoallw on a grid. */
extern _Atomic(MPI_Datatype) count_second_type;

#endif
