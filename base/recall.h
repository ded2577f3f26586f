/*
 * What a thread remembers of calls: that the next ones like them need no look at their arguments. A call is found by a
 * key, by the place of a buffer, and by its count. What is remembered holds as long as the epoch stays. The
 * caller has the tables, each of 1 << PW_RECALL_BITS calls, which begin as zeroes and belong to one thread.
 */
#ifndef PW_BASE_RECALL_H
#define PW_BASE_RECALL_H

#include "base/epoch.h"

#include <stddef.h>
#include <stdint.h>

enum {
    PW_RECALL_BITS = 6,   /* log2 of the calls in a table */
    PW_RECALL_REGION = 21 /* log2 of the bytes of a place */
};

typedef struct pw_recall {
    _Alignas(64) uint64_t key;
    uint64_t from;        /* the first address of the place */
    uint64_t least, more; /* the least count, and by how much others may exceed it */
    unsigned epoch;
    void *by; /* what the caller wants to know of such calls */
} pw_recall;

/* Returns the first of two places in a table where a call may be remembered. */
PW_INLINE pw_recall *pw_recall_pair(pw_recall *table, uint64_t key, const void *buf)
{
    uint32_t mixed = ((uint32_t)key + (uint32_t)((uintptr_t)buf >> PW_RECALL_REGION)) * UINT32_C(0x9e3779b1);
    pw_recall *at = &table[2 * (size_t)(mixed >> (33 - PW_RECALL_BITS))];

    __asm__("" : "+r"(at)); /* so that the address is computed once */
    return at;
}

/* Remembers a call in the second place only if the first one has another call of this epoch. */
static inline void pw_recall_keep(pw_recall *table, pw_recall call, const void *buf)
{
    pw_recall *at = pw_recall_pair(table, call.key, buf);

    at[at->key != call.key && at->epoch == call.epoch] = call;
}

/* Returns the first address of the place of buffers whose lowest byte lies in the same region as buf[lowest] does. */
static inline uint64_t pw_recall_from(const void *buf, int64_t lowest)
{
    uint64_t region = ((uintptr_t)buf + (uint64_t)lowest) >> PW_RECALL_REGION;

    return (region << PW_RECALL_REGION) - (uint64_t)lowest;
}

/* Returns what is remembered of calls like this one. NULL: nothing is, and all else must be looked at. */
PW_INLINE pw_recall *pw_recall_find(pw_recall *table, uint64_t key, const void *buf, int64_t count)
{
    pw_recall *at = pw_recall_pair(table, key, buf);

    if (PW_UNLIKELY(at->key != key)) {
        at++;
        __asm__("" : "+r"(at)); /* so that the first place needs no copy of its address */
    }
    return at->key == key && ((uintptr_t)buf - at->from) >> PW_RECALL_REGION == 0 &&
                   (uint64_t)count - at->least <= at->more && pw_epoch_now() == at->epoch
               ? at
               : NULL;
}

#endif
