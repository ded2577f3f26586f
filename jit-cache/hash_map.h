/*
 * A map from 128-bit hashes to pointers. The hash is the identity: XXH3-128 does not collide by accident
 * (2^-88 for a million keys), so keys are not compared further. Not thread safe.
 */
#ifndef PW_JIT_CACHE_HASH_MAP_H
#define PW_JIT_CACHE_HASH_MAP_H

#include "base/hash.h"
#include "base/status.h"

typedef struct pw_hash_cell {
    pw_hash key;
    void *value; /* NULL: free */
} pw_hash_cell;

/* Zero-initialise. `capacity` is 0 or a power of two. */
typedef struct pw_hash_map {
    pw_hash_cell *cells;
    size_t capacity, used;
} pw_hash_map;

void *pw_hash_map_get(const pw_hash_map *map, pw_hash key); /* NULL when absent */
/* Adds or replaces; value is not NULL. PW_ERR_NOMEM leaves the map as it was. */
pw_status pw_hash_map_put(pw_hash_map *map, pw_hash key, void *value);
/* Returns the value of the key. Where it is absent and fewer than `most` are there, adds `bytes` zeros as its value.
 * NULL: there are as many, or memory is out. pw_hash_map_free frees such values with the map's cells. */
void *pw_hash_map_begin(pw_hash_map *map, pw_hash key, size_t bytes, size_t most);
void pw_hash_map_free(pw_hash_map *map);
void pw_hash_map_remove(pw_hash_map *map, pw_hash key); /* absent keys are ignored */
/* Frees the cells, not the values; the map is empty afterwards. */
void pw_hash_map_clear(pw_hash_map *map);

#endif
