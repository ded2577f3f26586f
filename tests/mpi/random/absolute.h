/* Types with absolute addresses, packed from and unpacked to MPI_BOTTOM. */
#ifndef PW_TESTS_MPI_RANDOM_ABSOLUTE_H
#define PW_TESTS_MPI_RANDOM_ABSOLUTE_H

#include "judge.h"

/* Moves one object of `t` to where the judge's memory is, through `engine`. MPI itself takes no part: MPICH 4.0 refuses
 * MPI_BOTTOM in MPI_Pack. Returns false with the reason in `what`. */
bool pw_absolute_check(pw_judge *j, const pw_random_mpi *t, pw_layout_engine *engine, uint64_t seed, char *what,
                       size_t what_size);

#endif
