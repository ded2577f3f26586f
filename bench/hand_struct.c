/* Hand-written member-by-member copies of arrays of structs. */
#include "bench/hand.h"

#include <string.h>

/* Copies `bytes` at `field` to or from the packed stream. Fields need not be aligned there. */
static inline __attribute__((always_inline)) char *move(char *p, void *field, size_t bytes, bool pack)
{
    if (pack)
        memcpy(p, field, bytes);
    else
        memcpy(field, p, bytes);
    return p + bytes;
}

static inline __attribute__((always_inline)) void simple(const hand_objects *o, char *p, bool pack)
{
    simple_particle *a = o->array;
    for (long i = 0; i < o->n; i++) {
        p = move(p, a[i].field, sizeof a[i].field, pack);
        p = move(p, &a[i].id, sizeof a[i].id, pack);
    }
}

static inline __attribute__((always_inline)) void forces(const hand_objects *o, char *p, bool pack)
{
    complex_particle *a = o->array;
    for (long i = 0; i < o->n; i++) {
        p = move(p, a[i].force_xyz, sizeof a[i].force_xyz, pack);
        p = move(p, &a[i].charge, sizeof a[i].charge, pack);
    }
}

static inline __attribute__((always_inline)) char *one_soup(soup *s, char *p, bool pack)
{
    p = move(p, s->tag, sizeof s->tag, pack);
    p = move(p, s->ids, sizeof s->ids, pack);
    p = move(p, s->x, sizeof s->x, pack);
    for (int i = 0; i < 3; i++)
        p = move(p, s->v + (ptrdiff_t)i * 4, 2 * sizeof s->v[0], pack);
    for (int i = 1; i <= 3; i++)
        p = move(p, s->grid[i] + 2, 4 * sizeof s->grid[0][0], pack);
    for (int i = 0; i < 2; i++) {
        p = move(p, &s->best[i].value, sizeof s->best[i].value, pack);
        p = move(p, &s->best[i].where, sizeof s->best[i].where, pack);
    }
    for (int i = 0; i < 12; i += 4)
        p = move(p, &s->sparse[i], sizeof s->sparse[i], pack);
    return p;
}

static inline __attribute__((always_inline)) void soups(const hand_objects *o, char *p, bool pack)
{
    soup *a = o->array;
    for (long i = 0; i < o->n; i++)
        p = one_soup(&a[i], p, pack);
}

#define HAND_BOTH(name, loops)                              \
    void hand_pack_##name(const void *args, void *packed)   \
    {                                                       \
        loops(args, packed, true);                          \
    }                                                       \
                                                            \
    void hand_unpack_##name(const void *args, void *packed) \
    {                                                       \
        loops(args, packed, false);                         \
    }

HAND_BOTH(simple, simple)
HAND_BOTH(forces, forces)
HAND_BOTH(soup, soups)
