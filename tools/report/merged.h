/* The data of all processes of a run (runtime/mpi/stats/report.c), merged, and the forms of them that are files. */
#ifndef PW_TOOLS_REPORT_MERGED_H
#define PW_TOOLS_REPORT_MERGED_H

#include "tools/report/record.h"

enum { PW_REPORT_FORMAT = 3 }; /* of the merged data; grows when a name changes its meaning or goes */

/* What one rank did, over all its types. */
typedef struct pw_stats_rank {
    int64_t rank;
    int64_t elapsed;                   /* nanoseconds from the first MPI call to MPI_Finalize */
    int64_t nanoseconds, calls, bytes; /* of packing and unpacking */
    int64_t messages, accesses;        /* transfers between ranks, and to windows and files */
    pw_stats_saved saved;
    int64_t noted_types, noted_uses, noted_bytes; /* of types that were not worth learning */
    const char *host;
} pw_stats_rank;

typedef struct pw_report {
    pw_data run;           /* the program, its MPI, the date, and where estimates come from */
    pw_stats_list records; /* pw_stats_record */
    pw_stats_list choices; /* pw_stats_choice */
    pw_stats_list ranks;   /* pw_stats_rank, in order */
    pw_stats_list unfreed; /* pw_stats_record, of types that were not freed */
    pw_stats_rank sum;     /* over all ranks; `elapsed` is the longest */
} pw_report;

/* Returns whether these are the data of processes, which are to be merged. */
bool pw_report_is_raw(pw_data data);
/* Merges them. What memory does not suffice for is left out. The texts stay those of the data. */
void pw_report_merge(pw_report *report, pw_data data);
void pw_report_free(pw_report *report);

/* Writes the merged data (JSON), which are what a report is made of. */
void pw_report_put_data(FILE *out, const pw_report *report);

/* ---- trace.c ----------------------------------------------------------------------------------------------------- */

/* Writes every type that was committed in the datatype language (docs/ddt.md), with counts as comments. Types that
 * Packwright does not understand are left out. */
void pw_report_put_trace(FILE *out, const pw_report *report);

#endif
