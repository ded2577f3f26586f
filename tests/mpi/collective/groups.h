/* Communicators for trials of collectives: groups and their reverse, two groups, topologies of many kinds. */
#ifndef PW_TESTS_INTERPOSER_COLLECTIVE_GROUPS_H
#define PW_TESTS_INTERPOSER_COLLECTIVE_GROUPS_H

#include "tests/mpi/collective/trial.h"

/* Makes the communicators: "ranks", without topology; "between", two groups; "neighbours". All functions here are
 * called by all ranks. */
void groups_make(const char *what);
/* Runs `trials` trials of each call that these groups can make, by seeds from `first` on. `only` not 0: runs that seed
 * only. */
void groups_try(int trials, uint64_t first, uint64_t only);
void groups_free(void);

#endif
