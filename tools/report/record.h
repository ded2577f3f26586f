/* What was done with one layout: records of ranks (runtime/mpi/stats/report.c), merged. */
#ifndef PW_TOOLS_REPORT_RECORD_H
#define PW_TOOLS_REPORT_RECORD_H

#include "tools/report/choice.h"

/* X(name): what is summed over ranks, by the names in their data. Uses of the layout as the engine counts them, and the
 * bytes of its transfers (moved); ranks with the layout, and those that compiled or loaded its kernel, or could not;
 * types with the layout that were committed. */
#define PW_STATS_SUMS(X) \
    X(packs)             \
    X(unpacks)           \
    X(bytes)             \
    X(nanoseconds)       \
    X(tier1_calls)       \
    X(shared)            \
    X(from_gpu)          \
    X(moved)             \
    X(ranks)             \
    X(compiled)          \
    X(loaded)            \
    X(failed)            \
    X(gpu_compiled)      \
    X(gpu_loaded)        \
    X(commits)

typedef struct pw_stats_record {
    pw_hash hash; /* of the canonical type */
    int64_t size;
#define X(name) int64_t name;
    PW_STATS_SUMS(X)
#undef X
    int64_t used[PW_STATS_BELONGINGS][PW_STRATEGY_COUNT][PW_STATS_BOTH]; /* transfers */
    int64_t least, most;         /* the least and the longest time that a rank packed */
    int64_t slowest;             /* the rank that packed longest */
    int64_t compile_ns, load_ns; /* the longest time that any rank took */
    int64_t unfreed;             /* of what is not freed: types */
    const char *name;            /* the names of its types; "": they have none */
    const char *built;           /* a type with the layout as the program built it; "": not known */
    const char *ddt;             /* the canonical type in the datatype language */
    pw_data made;                /* the first place where types with the layout were committed; NULL: none is known */
} pw_stats_record;

/* Reads what one rank has of a layout. */
void pw_stats_read(pw_stats_record *record, pw_data type, int64_t rank);
/* Merges records of equal hash, and orders by the time of packing, then by the bytes of transfers. */
void pw_stats_merge(pw_stats_list *records);

/* Transfers with the layout of one kind, both ways. */
int64_t pw_stats_transfers(const pw_stats_record *record, int of);
/* Accesses to windows and files. */
int64_t pw_stats_accesses(const pw_stats_record *record);
/* The strategy that most transfers took; PW_STRATEGY_COUNT: there are none. */
int pw_stats_most_used(const pw_stats_record *record);

#endif
