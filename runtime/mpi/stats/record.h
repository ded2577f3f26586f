/* One layout's statistics as they travel between ranks of one job (same binary, same representation), merged, and
 * printed. */
#ifndef PW_RUNTIME_STATS_RECORD_H
#define PW_RUNTIME_STATS_RECORD_H

#include "base/hash.h"
#include "jit-cache/cache.h"
#include "runtime/mpi/stats/choice.h"
#include "runtime/mpi/types/noted.h"

enum { PW_STATS_TEXT = 192 };

typedef struct pw_stats_record {
    pw_hash hash; /* of the canonical type */
    int64_t size;
    int64_t packs, unpacks, bytes, nanoseconds, tier1_calls, streamed, shared, from_gpu;
    int64_t used[PW_STRATEGY_COUNT][2];
    int64_t ranks, compiled, loaded, failed; /* ranks with the layout; those that got its kernel so */
    int64_t compile_ns, load_ns;             /* the longest time that any rank took */
    int64_t gpu_compiled, gpu_loaded;        /* ranks that compiled or loaded the kernel for GPUs */
    char text[PW_STATS_TEXT];                /* the canonical type on one line, shortened */
} pw_stats_record;

/* Merges records of equal hash, in place, and orders by bytes moved; returns how many are left. */
int64_t pw_stats_merge(pw_stats_record *records, int64_t n);

/* Returns the report as text, malloc'ed: the records, what was chosen for each layout (merged), and the types of all
 * ranks that were not worth learning. NULL: out of memory. */
char *pw_stats_text(const pw_stats_record *records, int64_t n, const pw_stats_choice *choices, int64_t nchoices,
                    const pw_note_totals *noted, int nranks);

#endif
