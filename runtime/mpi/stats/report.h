/*
 * What this process has to report, as data (JSON), which the packwright command merges with those of other processes
 * and makes tables and pages of (tools/report); and where it comes from and goes to, by the file that defines it. Times
 * are nanoseconds; numbers that are 0 are left out.
 */
#ifndef PW_RUNTIME_STATS_REPORT_H
#define PW_RUNTIME_STATS_REPORT_H

#include "base/json.h"

/* Writes what this process did, which began so many nanoseconds ago; behind that of other ranks, with a comma. */
void pw_report_put_process(FILE *out, int rank, int64_t elapsed);
/* Writes what all processes share, up to their list: the program, its MPI, the date, and where estimates come from. */
void pw_report_put_run(FILE *out);

/* ---- built.c ----------------------------------------------------------------------------------------------------- */

/*
 * How the program made its types, by layout: the type as it was built, where it was committed, and the names that it
 * had when it was learned. They are noted then, so that reports have them after the type is freed. Nothing is noted
 * unless a report is asked for.
 */

enum { PW_BUILT_TEXT = 320 };

struct pw_built;

/* Writes what an entry has noted of its types (pw_entry.built). */
void pw_built_put(pw_json *json, const struct pw_built *it);
/* Writes where calls are, of which these are the addresses of returns: the files that they were loaded from, and where
 * in them. NULL: no further one is known. */
void pw_built_put_places(pw_json *json, const void *const *returns, int n);

/* ---- unfreed.c --------------------------------------------------------------------------------------------------- */

/*
 * Writes which types the program has committed and not freed when MPI is about to end, by how they were built and where
 * they were committed. Types are kept apart only where reports are asked for (runtime/mpi/types/origin.h). There are
 * none if the program frees types in ways that this library does not see.
 */
void pw_unfreed_put(pw_json *json);

/* ---- show.c ------------------------------------------------------------------------------------------------------ */

/* Has the packwright command beside this library make a form of the data, by an option of `packwright report`, and
 * write it to a file, or to stderr if `file` is NULL. Returns false if it has not: there is no such command, or it
 * fails, or takes too long. */
bool pw_show(const char *data, size_t size, const char *option, const char *file);

#endif
