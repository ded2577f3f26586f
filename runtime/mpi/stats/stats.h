/*
 * PACKWRIGHT_STATS=1: at the end, one report on stderr of what happened to each layout. Layouts of several ranks are
 * merged by the hash of their canonical form. Nothing here runs unless statistics are on.
 */
#ifndef PW_RUNTIME_STATS_H
#define PW_RUNTIME_STATS_H

/*
 * Prints the sums over all ranks on rank 0. Collective over MPI_COMM_WORLD; must be called before MPI_Finalize proper.
 * Every rank of the world must call it: PACKWRIGHT_STATS is set for all ranks or for none (`packwright run` sees to
 * it). Ranks with PACKWRIGHT_DISABLE=1 take part with empty lists.
 */
void pw_stats_report_world(void);

/* Prints the report of this process alone, where there is no world, as after sessions. */
void pw_stats_report_process(void);

#endif
