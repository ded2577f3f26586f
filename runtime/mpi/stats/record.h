/* One layout's statistics as they travel between ranks of one job (same binary, same representation), and merged. */
#ifndef PW_RUNTIME_STATS_RECORD_H
#define PW_RUNTIME_STATS_RECORD_H

#include "base/hash.h"
#include "jit-cache/cache.h"
#include "runtime/mpi/stats/choice.h"
#include "runtime/mpi/types/entry.h"

enum { PW_STATS_DDT = 320, PW_STATS_NAME = 64, PW_STATS_PLACES = 3 };

/* Where in the program a type was committed. All zeros: not known. */
typedef struct pw_stats_place {
    char module[200]; /* the program or a library of its */
    uint64_t offset;  /* of the call there */
} pw_stats_place;

typedef struct pw_stats_record {
    pw_hash hash; /* of the canonical type */
    int64_t size;
    int64_t packs, unpacks, bytes, nanoseconds, tier1_calls, streamed, shared, from_gpu;
    int64_t used[PW_TRANSFERS][PW_STRATEGY_COUNT][2], moved; /* as in pw_entry_choices */
    int64_t least, most;                                     /* the least and the longest time that a rank packed */
    int64_t slowest;                                         /* the rank that packed longest */
    int64_t ranks, compiled, loaded, failed;                 /* ranks with the layout; those that got its kernel so */
    int64_t compile_ns, load_ns;                             /* the longest time that any rank took */
    int64_t gpu_compiled, gpu_loaded;                        /* ranks that compiled or loaded the kernel for GPUs */
    int64_t unfreed;                                         /* of unfreed.h: types that were not freed */
    char name[PW_STATS_NAME];                                /* the names of its types; "": they have none */
    char built[PW_STATS_DDT];             /* a type with the layout as the program built it; "": not known */
    char ddt[PW_STATS_DDT];               /* the canonical type in the datatype language, shortened */
    pw_stats_place made[PW_STATS_PLACES]; /* where types with the layout were committed */
} pw_stats_record;

/* Merges records of equal hash, in place, and orders by the time of packing, then by the bytes of transfers; returns
 * how many are left. */
int64_t pw_stats_merge(pw_stats_record *records, int64_t n);

/* Transfers with the layout of one kind, both ways. */
int64_t pw_stats_transfers(const pw_stats_record *record, pw_transfer_kind of);
/* Accesses to windows and files. */
int64_t pw_stats_accesses(const pw_stats_record *record);
/* The word for transfers of one kind and direction: "sends", "writes". */
const char *pw_stats_transfer_word(pw_transfer_kind of, int direction);
/* The strategy that most transfers took; PW_STRATEGY_COUNT: there are none. */
int pw_stats_most_used(const pw_stats_record *record);

#endif
