/*
 * Types that the program has committed and not freed when MPI is about to end, by how they were built and where they
 * were committed. Types are kept apart only where reports are asked for (runtime/mpi/types/origin.h).
 */
#ifndef PW_RUNTIME_STATS_UNFREED_H
#define PW_RUNTIME_STATS_UNFREED_H

#include "runtime/mpi/stats/record.h"

/* Adds the rows of this process, of which `built`, `made[0]`, `ranks` and `unfreed` are set. There are none if the
 * program frees types in ways that this library does not see. */
void pw_unfreed_take(pw_stats_list *rows);
/* Merges rows of one text and place, those with most types first. */
void pw_unfreed_merge(pw_stats_list *rows);

#endif
