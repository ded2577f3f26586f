/*
 * How the program made its types, by layout, for reports: the type as it was built, where it was committed, and the
 * names that MPI_Type_set_name gave. They are noted while a type lives, so that reports have them after it is freed.
 * Nothing is noted unless a report is asked for.
 */
#ifndef PW_RUNTIME_STATS_BUILT_H
#define PW_RUNTIME_STATS_BUILT_H

#include "base/hash.h"
#include "runtime/mpi/stats/record.h"

/* Begins to watch which types are learned. */
void pw_built_start(void);
/* Fills in `built`, `made`, `name` and `commits` of a record by its hash. */
void pw_built_take(pw_stats_record *record);
/* Finds the file that the address of a return was loaded from, and where in it the call is. */
void pw_built_locate(const void *address, pw_stats_place *out);
/* Forgets all types. */
void pw_built_close(void);

#endif
