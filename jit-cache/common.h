/*
 * Entries in memory that processes have in common, so that one of them reads a kernel from disk for all. Each key has a
 * slot: free, held by the process that is looking for the entry, or filled. Only entries are passed on; that there is
 * none is not, so every process looks for itself what no other has found.
 *
 * The memory starts as zeroes, and another process may have written anything there: what is taken is copied first, and
 * the copy is verified as a file would be.
 */
#ifndef PW_JIT_CACHE_COMMON_H
#define PW_JIT_CACHE_COMMON_H

#include "base/hash.h"

#include <stdbool.h>
#include <stddef.h>

enum { PW_COMMON_BYTES = 8 << 20 };

typedef struct pw_common pw_common;

/* Holds the key for this process, which then looks for the entry; false: it is there, or cannot be held. While another
 * process holds the key, this waits for a moment, and returns false then. */
bool pw_common_hold(pw_common *common, pw_hash key);
/* Gives a held key back. */
void pw_common_let_go(pw_common *common, pw_hash key);

/* Puts a verified entry there, unless it is there, another process holds its key, or there is no room. */
void pw_common_put(pw_common *common, pw_hash key, const void *entry, size_t size);
/* Copies the entry to memory of malloc, verified. Returns NULL if there is none, or none that is good. */
void *pw_common_get(pw_common *common, pw_hash key, size_t *size);

#endif
