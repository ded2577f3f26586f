/* Communicators for trials of collectives: groups and their reverse, two groups, topologies of many kinds. */
#ifndef PW_TESTS_INTERPOSER_COLLECTIVE_GROUPS_H
#define PW_TESTS_INTERPOSER_COLLECTIVE_GROUPS_H

#include "tests/mpi/collective/trial.h"

/* "ranks": without topology; "between": two groups; "neighbours". Called by all ranks, as everything here. */
void groups_make(const char *what);
/* So many trials of each call that the groups are good for, by seeds from `first` on; `only` not 0: just that one. */
void groups_try(int trials, uint64_t first, uint64_t only);
void groups_free(void);

#endif
