/*
 * PACKWRIGHT_STATS=1: at the end, one report on stderr of what happened to each layout. Layouts of several ranks are
 * merged by the hash of their canonical form. Nothing here runs unless statistics are on.
 */
#ifndef PW_RUNTIME_STATS_H
#define PW_RUNTIME_STATS_H

/*
 * Collective over MPI_COMM_WORLD; call before MPI_Finalize proper. Rank 0 prints sums over all ranks. Every rank of the
 * world must call it: PACKWRIGHT_STATS is for all ranks or for none (`packwright run` sees to it). Ranks with
 * PACKWRIGHT_DISABLE=1 take part with nothing to tell.
 */
void pw_stats_report_world(void);

/* Of this process alone, where there is no world: after sessions. */
void pw_stats_report_process(void);

#endif
