/* Arrays on the heap that grow by one entry at a time. */
#ifndef PW_BASE_GROW_H
#define PW_BASE_GROW_H

#include <stdint.h>
#include <stdlib.h>

/*
 * Makes room for one more entry in an array of n entries of `bytes` bytes each. *room is how many entries fit; an array
 * begins as NULL with room for 0. Returns the array, which may have moved. NULL: out of memory, and the array and *room
 * are as they were.
 */
static inline void *pw_grow(void *array, int64_t n, int64_t *room, size_t bytes)
{
    int64_t more = *room ? 2 * *room : 64;
    void *grown;

    if (n < *room)
        return array;
    grown = realloc(array, (size_t)more * bytes);
    if (grown)
        *room = more;
    return grown;
}

#endif
