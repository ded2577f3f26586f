/*
 * Which place of an array the next entry gets, where old entries give way: a free one, else the one that was used least
 * recently and that nobody uses now. A place is a struct that begins with its pw_lru, and is all zeros while it is
 * free.
 */
#ifndef PW_BASE_LRU_H
#define PW_BASE_LRU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct pw_lru {
    uint64_t used; /* by the clock of the array, which counts uses; 0: the place is free */
    int users;     /* that have not ended their use */
} pw_lru;

static inline void pw_lru_take(pw_lru *it, uint64_t *clock)
{
    it->users++;
    it->used = ++*clock;
}

/* Returns such a place of `n` places of `size` bytes; if `occupied` says so, no free one. NULL: there is none. */
static inline void *pw_lru_find(void *places, int n, size_t size, bool occupied)
{
    pw_lru *oldest = NULL;

    for (char *at = places, *end = at + (size_t)n * size; at < end; at += size) {
        pw_lru *it = (pw_lru *)(void *)at;

        if (it->users == 0 && it->used >= occupied && (!oldest || it->used < oldest->used))
            oldest = it;
    }
    return oldest;
}

#endif
