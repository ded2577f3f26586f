/* Hand-written gathers and scatters by index list. */
#include "bench/hand.h"

#define HAND_GATHER(type, width)                                                                      \
    static type *gather_##type##width(const type *a, const int *list, int n, type *restrict p)        \
    {                                                                                                 \
        for (int i = 0; i < n; i++)                                                                   \
            for (int m = 0; m < (width); m++)                                                         \
                p[(width) * i + m] = a[(width) * list[i] + m];                                        \
        return p + (width) * n;                                                                       \
    }                                                                                                 \
                                                                                                      \
    static const type *scatter_##type##width(type *restrict a, const int *list, int n, const type *p) \
    {                                                                                                 \
        for (int i = 0; i < n; i++)                                                                   \
            for (int m = 0; m < (width); m++)                                                         \
                a[(width) * list[i] + m] = p[(width) * i + m];                                        \
        return p + (width) * n;                                                                       \
    }

HAND_GATHER(double, 1)
HAND_GATHER(double, 3)
HAND_GATHER(float, 1)
HAND_GATHER(float, 3)

void hand_pack_atoms(const void *args, void *packed)
{
    const hand_gather *g = args;
    double *p = packed;
    int last = g->narrays - 1;
    for (int i = 0; i < last; i++)
        p = gather_double1(g->array[i], g->list[i], g->n[i], p);
    gather_double3(g->array[last], g->list[last], g->n[last], p);
}

void hand_unpack_atoms(const void *args, void *packed)
{
    const hand_gather *g = args;
    const double *p = packed;
    int last = g->narrays - 1;
    for (int i = 0; i < last; i++)
        p = scatter_double1(g->array[i], g->list[i], g->n[i], p);
    scatter_double3(g->array[last], g->list[last], g->n[last], p);
}

#define HAND_FLOATS(width)                                                 \
    void hand_pack_gather##width(const void *args, void *packed)           \
    {                                                                      \
        const hand_gather *g = args;                                       \
        float *p = packed;                                                 \
        for (int i = 0; i < g->narrays; i++)                               \
            p = gather_float##width(g->array[i], g->list[i], g->n[i], p);  \
    }                                                                      \
                                                                           \
    void hand_unpack_gather##width(const void *args, void *packed)         \
    {                                                                      \
        const hand_gather *g = args;                                       \
        const float *p = packed;                                           \
        for (int i = 0; i < g->narrays; i++)                               \
            p = scatter_float##width(g->array[i], g->list[i], g->n[i], p); \
    }

HAND_FLOATS(1)
HAND_FLOATS(3)
