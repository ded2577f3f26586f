#include "frontend/ddt/generate.h"

#include <stdlib.h>

/* SplitMix64 (Steele, Lea and Flood, 2014). */
static uint64_t next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* Uniform in [0, n), without bias: draws from the incomplete last interval are thrown away. */
static int64_t below(uint64_t *state, int64_t n)
{
    uint64_t limit = UINT64_MAX - UINT64_MAX % (uint64_t)n, x;

    do
        x = next(state);
    while (x >= limit);
    return (int64_t)(x % (uint64_t)n);
}

pw_status pw_generate_range(int64_t start, int64_t step, int64_t n, int64_t *out)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t offset;

        if (__builtin_mul_overflow(i, step, &offset) || __builtin_add_overflow(start, offset, &out[i]))
            return PW_ERR_OVERFLOW;
    }
    return PW_OK;
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* Knuth's selection sampling: for dense draws. */
static void sample_dense(int64_t n, int64_t of, uint64_t *state, int64_t *out)
{
    int64_t taken = 0;

    for (int64_t i = 0; taken < n; i++)
        if (below(state, of - i) < n - taken)
            out[taken++] = i;
}

/* Draws, sorts and drops doubles until there are enough: for sparse draws, where doubles are few. */
static void sample_sparse(int64_t n, int64_t of, uint64_t *state, int64_t *out)
{
    int64_t have = 0;

    while (have < n) {
        int64_t kept = 0;

        for (int64_t i = have; i < n; i++)
            out[i] = below(state, of);
        qsort(out, (size_t)n, sizeof *out, compare);
        for (int64_t i = 0; i < n; i++)
            if (i == 0 || out[i] != out[i - 1])
                out[kept++] = out[i];
        have = kept;
    }
}

pw_status pw_generate_sample(int64_t n, int64_t of, uint64_t seed, int64_t *out)
{
    if (n > of)
        return PW_ERR_INVALID;
    if (of / 4 <= n)
        sample_dense(n, of, &seed, out);
    else
        sample_sparse(n, of, &seed, out);
    return PW_OK;
}

void pw_generate_shuffle(int64_t n, uint64_t seed, int64_t *out)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t j = below(&seed, i + 1);

        out[i] = out[j];
        out[j] = i;
    }
}
