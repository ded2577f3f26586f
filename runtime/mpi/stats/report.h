/* What was done in a run, as one struct, and as data (JSON), of which tools/report makes tables and pages; and where it
 * comes from and goes to, by the file that defines it. */
#ifndef PW_RUNTIME_STATS_REPORT_H
#define PW_RUNTIME_STATS_REPORT_H

#include "runtime/mpi/stats/record.h"
#include "runtime/mpi/types/noted.h"

/* What one rank did, over all its types. */
typedef struct pw_stats_rank {
    int64_t rank;
    int64_t elapsed;                   /* nanoseconds from the first MPI call to MPI_Finalize */
    int64_t nanoseconds, calls, bytes; /* of packing and unpacking */
    int64_t messages, accesses;        /* transfers between ranks, and to windows and files */
    pw_stats_saved saved;
    pw_note_totals noted; /* types that were not worth learning */
    char host[64];
} pw_stats_rank;

typedef struct pw_report {
    const pw_stats_record *records; /* merged */
    const pw_stats_choice *choices; /* merged */
    const pw_stats_rank *ranks;     /* in order */
    const pw_stats_record *unfreed; /* types that were not freed, merged (unfreed.h) */
    int64_t n, nchoices, nranks, nunfreed;
    pw_stats_rank sum; /* over all ranks; `elapsed` is the longest */
    char program[128], mpi[128], date[32];
    char estimates[64]; /* where estimates come from: "defaults", or a model and the day when it was measured */
} pw_report;

/* Fills in the sums, and what the report says of this process: the program, its MPI and the date. */
void pw_report_complete(pw_report *report);

/* Returns the report as data (JSON), malloc'ed. NULL: out of memory. */
char *pw_report_data(const pw_report *report, size_t *size);

/* ---- built.c ----------------------------------------------------------------------------------------------------- */

/*
 * How the program made its types, by layout: the type as it was built, where it was committed, and the names that
 * MPI_Type_set_name gave. They are noted while a type lives, so that reports have them after it is freed. Nothing is
 * noted unless a report is asked for.
 */

/* Begins to watch which types are learned. */
void pw_built_start(void);
/* Fills in `built`, `made`, `name` and `commits` of a record by its hash. */
void pw_built_take(pw_stats_record *record);
/* Finds the file that the address of a return was loaded from, and where in it the call is. */
void pw_built_locate(const void *address, pw_stats_place *out);
/* Forgets all types. */
void pw_built_close(void);

/* ---- unfreed.c --------------------------------------------------------------------------------------------------- */

/*
 * Types that the program has committed and not freed when MPI is about to end, by how they were built and where they
 * were committed. Types are kept apart only where reports are asked for (runtime/mpi/types/origin.h).
 */

/* Adds the rows of this process, of which `built`, `made[0]`, `ranks` and `unfreed` are set. There are none if the
 * program frees types in ways that this library does not see. */
void pw_unfreed_take(pw_stats_list *rows);
/* Merges rows of one text and place, those with most types first. */
void pw_unfreed_merge(pw_stats_list *rows);

/* ---- trace.c ----------------------------------------------------------------------------------------------------- */

/*
 * Writes PACKWRIGHT_TRACE, whole or not at all: one file with every type that was committed, in the datatype language
 * (docs/ddt.md) with counts as comments. A relative name is meant from where the program began, wherever it ends. Types
 * are distinguished by the hash of their canonical form, over all ranks. Types that Packwright does not understand are
 * left out.
 */
void pw_trace_write(const pw_report *report, const char *path);

/* ---- show.c ------------------------------------------------------------------------------------------------------ */

/* Has the packwright command beside this library print the table of a report, in full if `all`, on this process's
 * stderr. Returns false if it has not: there is no such command, or it fails, or takes too long. */
bool pw_show(const char *data, size_t size, bool all);

#endif
