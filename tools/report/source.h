/* From places in programs to lines of their source, by addr2line, which runs as a process of its own. */
#ifndef PW_RUNTIME_STATS_SOURCE_H
#define PW_RUNTIME_STATS_SOURCE_H

#include "runtime/mpi/stats/record.h"

/* Fills in `line` of all known places. Without addr2line, without debug information and after some seconds a place
 * stays an address in a file. Calls of an MPI's Fortran binding tell nothing of the program, and are forgotten. */
void pw_source_look_up(pw_stats_record *records, int64_t n);

#endif
