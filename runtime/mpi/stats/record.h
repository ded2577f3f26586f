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
    pw_hash hash; /* canonical */
    int64_t size;
    int64_t packs, unpacks, bytes, nanoseconds, tier1_calls, streamed, shared, from_gpu;
    int64_t used[PW_STRATEGY_COUNT][2];
    int64_t ranks, compiled, loaded, failed; /* ranks that have the layout; of these, how the kernel came */
    int64_t compile_ns, load_ns;             /* longest of any rank */
    int64_t gpu_compiled, gpu_loaded;        /* ranks; how the kernel for GPUs came */
    char text[PW_STATS_TEXT];                /* canonical type on one line, elided */
} pw_stats_record;

/* Merges records of equal hash, in place, and orders by bytes moved; returns how many are left. */
int64_t pw_stats_merge(pw_stats_record *records, int64_t n);

/* The report as text, malloc'ed, with what was chosen for each layout (merged), and of all ranks the types that were
 * not worth learning. NULL: out of memory. */
char *pw_stats_text(const pw_stats_record *records, int64_t n, const pw_stats_choice *choices, int64_t nchoices,
                    const pw_note_totals *noted, int nranks);

#endif
