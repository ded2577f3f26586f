/*
 * PACKWRIGHT_TRACE=FILE: at the end, one file with every type that was committed, in the datatype language
 * (docs/ddt.md) with counts as comments. A relative FILE is meant from where the program began, wherever it ends. Types
 * are told apart by the hash of their canonical form, over all ranks. Types that Packwright does not understand are not
 * in it. Nothing here does anything unless a trace is asked for.
 */
#ifndef PW_RUNTIME_TRACE_H
#define PW_RUNTIME_TRACE_H

#include <stdbool.h>

bool pw_trace_is_on(void);

/* Has the registry report types to the trace, if one is asked for. Before any type is committed. */
void pw_trace_start(void);

/*
 * Writes the file. Collective over MPI_COMM_WORLD, before MPI_Finalize proper: every rank must call it, so
 * PACKWRIGHT_TRACE is for all ranks or for none. Rank 0 writes; a run that never comes here writes nothing.
 */
void pw_trace_write_world(void);
/* Of this process alone, where there is no world (after sessions), to FILE.<host>-<pid>-<number>. */
void pw_trace_write_process(void);

/* Releases the layouts; before their engine goes. */
void pw_trace_close(void);

#endif
