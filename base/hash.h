/* 128-bit hashes (XXH3) and their text form. Not cryptographic: they find equals, they do not authenticate. */
#ifndef PW_BASE_HASH_H
#define PW_BASE_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct pw_hash {
    uint64_t lo, hi;
} pw_hash;

enum { PW_HASH_TEXT = 33 }; /* 32 hex digits and the NUL */

pw_hash pw_hash_bytes(const void *data, size_t bytes);
/* Order-sensitive combination. */
pw_hash pw_hash_mix(pw_hash a, pw_hash b);
void pw_hash_text(pw_hash h, char out[PW_HASH_TEXT]);

static inline bool pw_hash_equal(pw_hash a, pw_hash b)
{
    return a.lo == b.lo && a.hi == b.hi;
}

/* For sorting, as qsort wants it: an order, and no more is meant by it. */
static inline int pw_hash_compare(pw_hash a, pw_hash b)
{
    return a.hi != b.hi ? (a.hi > b.hi) - (a.hi < b.hi) : (a.lo > b.lo) - (a.lo < b.lo);
}

#endif
