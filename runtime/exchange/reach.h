/*
 * Memory of other processes that this process has opened, by whatever means: what is open stays open for the next
 * message. Each means is a row {open, close}. At most 256 ranges are open, of all rows together, and those that were
 * used least lately are closed first. A range whose owner has put other memory there since is closed, too. An owner
 * whose memory was refused as often as the row is patient is not tried again.
 *
 * All functions are thread safe.
 */
#ifndef PW_RUNTIME_REACH_H
#define PW_RUNTIME_REACH_H

#include "base/lru.h"

typedef struct pw_reach pw_reach;

/* A range of another process's memory. */
typedef struct pw_reached {
    pw_lru lru;
    const pw_reach *row; /* NULL: the place is free */
    const void *owner;   /* identifies the process: its segment */
    uint64_t version;    /* of the memory there; another number says that it is other memory now */
    uint64_t begin, bytes;
    void *context; /* the GPU context in which it is open; NULL: it is the whole process's */
    void *memory;  /* what the row wants to know of it */
    uint64_t at;   /* its address here; for a row of a GPU, in the GPU */
} pw_reached;

struct pw_reach {
    bool all_at_once; /* the version is the owner's, not that of one range */
    bool anywhere;    /* what is open in one context is open in all */
    int patience;     /* refusals in a row; 0: no end */
    uint64_t most;    /* bytes that are open at once; 0: no bound */
    /* Returns the address here, and may change the range's memory. 0: refused. Called under the lock, as `close`. */
    uint64_t (*open)(pw_reached *range, const void *arg);
    void (*close)(const pw_reached *range);
    bool (*lives)(const void *context); /* whether its context does; NULL: always */
};

/* Returns the range that has all of `wanted`, in its context; opens one if there is none, with `arg` for the row. The
 * caller gives it back. NULL: it is refused, or there is no room beside the ranges in use. */
pw_reached *pw_reach_take(const pw_reached *wanted, const void *arg);
void pw_reach_give(pw_reached *reached); /* NULL is allowed */
/* Whether memory of this owner would be tried. */
bool pw_reach_may(const pw_reach *row, const void *owner);
/* Closes all ranges of a row in a context, also those in use. If the context has ended with what is open in it, without
 * telling the row. */
void pw_reach_close(const pw_reach *row, const void *context, bool ended);

#endif
