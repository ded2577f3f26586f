/* SplitMix64: the random numbers of tests, the same on every machine for the same seed. */
#ifndef PW_TESTS_SUPPORT_RNG_H
#define PW_TESTS_SUPPORT_RNG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct pw_rng {
    uint64_t state;
} pw_rng;

static inline uint64_t pw_rng_next(pw_rng *rng)
{
    uint64_t z = rng->state += 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* In [lo, hi]; lo when the range is empty. */
static inline int64_t pw_rng_range(pw_rng *rng, int64_t lo, int64_t hi)
{
    if (hi <= lo)
        return lo;
    return lo + (int64_t)(pw_rng_next(rng) % ((uint64_t)hi - (uint64_t)lo + 1));
}

/* True once in n times. */
static inline bool pw_rng_one_in(pw_rng *rng, int64_t n)
{
    return pw_rng_next(rng) % (uint64_t)n == 0;
}

static inline void pw_rng_fill(pw_rng *rng, void *data, size_t bytes)
{
    unsigned char *p = data;

    for (size_t i = 0; i < bytes; i += 8) {
        uint64_t word = pw_rng_next(rng);
        for (size_t k = 0; k < 8 && i + k < bytes; k++, word >>= 8)
            p[i + k] = (unsigned char)word;
    }
}

#endif
