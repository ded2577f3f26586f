/*
 * Moves two pieces of a leaf in one pass. Two passes would go over the memory twice, and the processor prefetches
 * better for one walk than for two that share lines.
 */
#include "codegen/interp/internal.h"

/* X(first length, second length) for those of floats, doubles and small vectors of them. */
#define SECONDS(X, first) X(first, 4) X(first, 8) X(first, 12) X(first, 16) X(first, 24)
#define PAIRS(X) SECONDS(X, 4) SECONDS(X, 8) SECONDS(X, 12) SECONDS(X, 16) SECONDS(X, 24)

#define X(a, b)                                                            \
    static void pair_##a##_##b(const pw_grid *g, pw_addr dst, pw_addr src) \
    {                                                                      \
        const pw_addr d1 = (pw_addr)g->dst1, s1 = (pw_addr)g->src1;        \
                                                                           \
        for (int64_t i = 0; i < g->n0; i++) {                              \
            pw_addr d = g->dst + (pw_addr)i * (pw_addr)g->dst0;            \
            pw_addr s = g->src + (pw_addr)i * (pw_addr)g->src0;            \
            int64_t j = g->n1;                                             \
                                                                           \
            for (; j >= 2; j -= 2) {                                       \
                pw_copy_##a(d, s, a);                                      \
                pw_copy_##b(d + dst, s + src, b);                          \
                pw_copy_##a(d + d1, s + s1, a);                            \
                pw_copy_##b(d + d1 + dst, s + s1 + src, b);                \
                d += 2 * d1;                                               \
                s += 2 * s1;                                               \
            }                                                              \
            if (j > 0) {                                                   \
                pw_copy_##a(d, s, a);                                      \
                pw_copy_##b(d + dst, s + src, b);                          \
            }                                                              \
        }                                                                  \
    }
PAIRS(X)
#undef X

/* Returns the row and column of a length in the table. -1: it has none. */
static int place_of(int64_t n)
{
    switch (n) {
    case 4: return 0;
    case 8: return 1;
    case 12: return 2;
    case 16: return 3;
    case 24: return 4;
    default: return -1;
    }
}

bool pw_pair_has(int64_t first, int64_t second)
{
    return place_of(first) >= 0 && place_of(second) >= 0;
}

void pw_pair_copy(const pw_grid *first, const pw_grid *second)
{
    static void (*const kernels[])(const pw_grid *, pw_addr, pw_addr) = {
#define X(a, b) pair_##a##_##b,
        PAIRS(X)
#undef X
    };

    kernels[5 * place_of(first->width) + place_of(second->width)](first, second->dst - first->dst,
                                                                  second->src - first->src);
}
