/*
 * What happened to each layout, reported at the end by rank 0: on stderr (PACKWRIGHT_STATS) and in a file
 * (PACKWRIGHT_REPORT). Layouts of several ranks are merged by the hash of their canonical form. Nothing here runs
 * unless one of the two is set.
 */
#ifndef PW_RUNTIME_STATS_H
#define PW_RUNTIME_STATS_H

#include <stdbool.h>

/* Notes when the program began to use MPI, and says so if no report has the name that was given. */
void pw_stats_start(void);

/* Warns of a report or a trace that rank 0, which must call this, could not write if the run ended now. */
void pw_stats_check_files(void);

/*
 * Reports the sums over all ranks on rank 0. Collective over MPI_COMM_WORLD; must be called before MPI_Finalize proper.
 * Every rank of the world must call it: the variables are set for all ranks or for none (`packwright run` sees to it).
 * Ranks with PACKWRIGHT_DISABLE=1 take part with empty lists.
 */
void pw_stats_report_world(void);

/* Reports this process alone, where there is no world, as after sessions. The file's name then tells the process. */
void pw_stats_report_process(void);

/* Whether PACKWRIGHT_TRACE asks for a trace. */
bool pw_trace_is_on(void);

#endif
