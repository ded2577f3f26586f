/*
 * PACKWRIGHT_TRACE=FILE: at the end, one file with every type that was committed, in the datatype language
 * (docs/ddt.md) with counts as comments. A relative FILE is meant from where the program began, wherever it ends. Types
 * are distinguished by the hash of their canonical form, over all ranks. Types that Packwright does not understand are
 * left out. The functions do nothing unless a trace is asked for.
 */
#ifndef PW_RUNTIME_TRACE_H
#define PW_RUNTIME_TRACE_H

#include <stdbool.h>

bool pw_trace_is_on(void);

/* Has the registry report types to the trace, if a trace is asked for. Must be called before any type is committed. */
void pw_trace_start(void);

/*
 * Writes the file on rank 0. Collective over MPI_COMM_WORLD; must be called before MPI_Finalize proper. Every rank must
 * call it, so PACKWRIGHT_TRACE is set for all ranks or for none. A run that ends without this call writes nothing.
 */
void pw_trace_write_world(void);
/* Writes the types of this process alone, where there is no world (after sessions), to FILE.<host>-<pid>-<number>. */
void pw_trace_write_process(void);

/* Releases the layouts. Must be called before their engine is destroyed. */
void pw_trace_close(void);

#endif
