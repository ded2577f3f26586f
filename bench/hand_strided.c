/* Hand-written loops over strided blocks. */
#include "bench/hand.h"

#include <string.h>

static inline __attribute__((always_inline)) char *blocks(const hand_lattice *l, char *base, char *p, bool pack)
{
    for (long i = 0; i < l->count; i++, p += l->block) {
        if (pack)
            memcpy(p, base + i * l->stride, (size_t)l->block);
        else
            memcpy(base + i * l->stride, p, (size_t)l->block);
    }
    return p;
}

static inline __attribute__((always_inline)) void lattice(const hand_lattice *l, char *p, bool pack)
{
    for (long a = 0; a < l->outer_count[0]; a++)
        for (long b = 0; b < l->outer_count[1]; b++)
            for (long c = 0; c < l->outer_count[2]; c++) {
                long at = a * l->outer_stride[0] + b * l->outer_stride[1] + c * l->outer_stride[2];
                p = blocks(l, l->base + at, p, pack);
            }
}

void hand_pack_lattice(const void *args, void *packed)
{
    lattice(args, packed, true);
}

void hand_unpack_lattice(const void *args, void *packed)
{
    lattice(args, packed, false);
}

#define HAND_ITEMS(type, width)                                    \
    void hand_pack_##type##width(const void *args, void *packed)   \
    {                                                              \
        const hand_items *t = args;                                \
        const type *a = t->array;                                  \
        type *restrict p = packed;                                 \
        for (long i = 0; i < t->n; i++)                            \
            for (int m = 0; m < (width); m++)                      \
                p[(width) * i + m] = a[i * t->stride + m];         \
    }                                                              \
                                                                   \
    void hand_unpack_##type##width(const void *args, void *packed) \
    {                                                              \
        const hand_items *t = args;                                \
        type *restrict a = t->array;                               \
        const type *p = packed;                                    \
        for (long i = 0; i < t->n; i++)                            \
            for (int m = 0; m < (width); m++)                      \
                a[i * t->stride + m] = p[(width) * i + m];         \
    }

HAND_ITEMS(double, 5)
HAND_ITEMS(float, 3)
