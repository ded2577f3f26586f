/* One layout's statistics as they travel between ranks of one job (same binary, same representation), and merged. */
#ifndef PW_RUNTIME_STATS_RECORD_H
#define PW_RUNTIME_STATS_RECORD_H

#include "base/hash.h"
#include "jit-cache/cache.h"
#include "runtime/mpi/stats/choice.h"

enum { PW_STATS_DDT = 320, PW_STATS_NAME = 64 };

typedef struct pw_stats_record {
    pw_hash hash; /* of the canonical type */
    int64_t size;
    int64_t packs, unpacks, bytes, nanoseconds, tier1_calls, streamed, shared, from_gpu, while_coming, while_leaving;
    int64_t used[PW_STRATEGY_COUNT][2];
    pw_stats_times times;
    pw_stats_expected expected;              /* of this rank's messages; not merged */
    int64_t least, most;                     /* the least and the longest time that a rank took */
    int64_t slowest;                         /* the rank that took longest */
    int64_t ranks, compiled, loaded, failed; /* ranks with the layout; those that got its kernel so */
    int64_t compile_ns, load_ns;             /* the longest time that any rank took */
    int64_t gpu_compiled, gpu_loaded;        /* ranks that compiled or loaded the kernel for GPUs */
    char name[PW_STATS_NAME];                /* the names of its types; "": they have none */
    char ddt[PW_STATS_DDT];                  /* the canonical type in the datatype language, shortened */
} pw_stats_record;

/* Merges records of equal hash, in place, and orders by time, then by bytes moved; returns how many are left. */
int64_t pw_stats_merge(pw_stats_record *records, int64_t n);

/* Messages with the layout, sent and received. */
int64_t pw_stats_messages(const pw_stats_record *record);
/* The strategy that most of them took; PW_STRATEGY_COUNT: there are none. */
int pw_stats_most_used(const pw_stats_record *record);
/* Whether anything was done with the layout. */
bool pw_stats_was_used(const pw_stats_record *record);

#endif
