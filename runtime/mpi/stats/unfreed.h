/*
 * Types that the program has committed and not freed when MPI is about to end, by how they were built and where they
 * were committed. Types are kept apart only where reports are asked for (runtime/mpi/types/origin.h).
 */
#ifndef PW_RUNTIME_STATS_UNFREED_H
#define PW_RUNTIME_STATS_UNFREED_H

#include "runtime/mpi/stats/record.h"

/* Returns the rows of this process, malloc'ed, of which `built`, `made[0]`, `ranks` and `unfreed` are set, and how many
 * they are. NULL: there are none, or memory is short, or the program frees types in ways that this library does not
 * see. */
pw_stats_record *pw_unfreed_take(int64_t *n);
/* Merges rows of one text and place, in place, those with most types first; returns how many are left. */
int64_t pw_unfreed_merge(pw_stats_record *rows, int64_t n);

#endif
