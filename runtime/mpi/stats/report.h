/* What was done in a run, as one struct, and as data (JSON), of which tools/report makes tables and pages. */
#ifndef PW_RUNTIME_STATS_REPORT_H
#define PW_RUNTIME_STATS_REPORT_H

#include "base/status.h"
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

#endif
