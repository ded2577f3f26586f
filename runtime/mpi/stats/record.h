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

/* X(name): what is summed over ranks. Uses of the layout as the engine counts them, and its transfers to itself (moved,
 * as in pw_entry_choices); ranks with the layout, and those that compiled or loaded its kernel, or could not; types
 * with the layout that were committed. */
#define PW_STATS_SUMS(X) \
    X(packs)             \
    X(unpacks)           \
    X(bytes)             \
    X(nanoseconds)       \
    X(tier1_calls)       \
    X(streamed)          \
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
    int64_t used[PW_TRANSFERS][PW_STRATEGY_COUNT][2]; /* as in pw_entry_choices */
    int64_t least, most;                              /* the least and the longest time that a rank packed */
    int64_t slowest;                                  /* the rank that packed longest */
    int64_t compile_ns, load_ns;                      /* the longest time that any rank took */
    int64_t unfreed;                                  /* of unfreed.h: types that were not freed */
    char name[PW_STATS_NAME];                         /* the names of its types; "": they have none */
    char built[PW_STATS_DDT];             /* a type with the layout as the program built it; "": not known */
    const char *ddt;                      /* the canonical type in the datatype language; set when ranks are gathered */
    pw_stats_place made[PW_STATS_PLACES]; /* where types with the layout were committed */
} pw_stats_record;

/* Merges records of equal hash, and orders by the time of packing, then by the bytes of transfers. */
void pw_stats_merge(pw_stats_list *records);

/* Transfers with the layout of one kind, both ways. */
int64_t pw_stats_transfers(const pw_stats_record *record, pw_transfer_kind of);
/* Accesses to windows and files. */
int64_t pw_stats_accesses(const pw_stats_record *record);
/* The word for transfers of one kind and direction: "sends", "writes". */
const char *pw_stats_transfer_word(pw_transfer_kind of, int direction);
/* The strategy that most transfers took; PW_STRATEGY_COUNT: there are none. */
int pw_stats_most_used(const pw_stats_record *record);

#endif
