/*
 * PACKWRIGHT_TRACE=FILE: at the end, one file with every type that was committed, in the datatype language
 * (docs/ddt.md) with counts as comments. A relative FILE is meant from where the program began, wherever it ends. Types
 * are distinguished by the hash of their canonical form, over all ranks. Types that Packwright does not understand are
 * left out. It is written from the records of statistics (stats.h), by who writes these.
 */
#ifndef PW_RUNTIME_TRACE_H
#define PW_RUNTIME_TRACE_H

#include "runtime/mpi/stats/report.h"

bool pw_trace_is_on(void);
/* Writes the file, whole or not at all. */
void pw_trace_write(const pw_report *report, const char *path);

#endif
