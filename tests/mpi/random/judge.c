#include "judge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void pw_judge_create(pw_judge *j, int64_t room)
{
    *j = (pw_judge){.room = room, .expected = malloc((size_t)room), .mask = malloc((size_t)room)};
    pw_watched_create(&j->memory, room);
    pw_watched_create(&j->packed, room);
}

void pw_judge_destroy(pw_judge *j)
{
    pw_watched_destroy(&j->memory);
    pw_watched_destroy(&j->packed);
    free(j->expected);
    free(j->mask);
}

bool pw_judge_fits(const pw_judge *j, const pw_random_mpi *t, int64_t count)
{
    int64_t lo, hi;
    pw_naive_span(&t->map, t->extent, count, &lo, &hi);
    return hi - lo <= j->room && t->map.size * count <= j->room;
}

/* One count of one type that is being checked. */
typedef struct trial {
    pw_judge *j;
    const pw_subject_type *t;
    const pw_naive_map *map;
    int64_t extent, count, total; /* total: packed bytes */
    int64_t lo, hi;
    bool overlaps;
    uint64_t seed;
    char *what;
    size_t what_size;
} trial;

/* Every check has its own stream of random numbers, so that it comes out the same whatever ran before it. */
static pw_rng rng_for(const trial *tr, uint64_t purpose)
{
    return (pw_rng){tr->seed * 31 + (uint64_t)tr->count * 1000003 + purpose * 7919};
}

static bool fail(const trial *tr, const pw_subject *s, const char *op, int64_t first, int64_t last, int64_t where)
{
    snprintf(tr->what, tr->what_size, "%s: %s of %lld objects, packed bytes [%lld, %lld): byte %lld is wrong", s->name,
             op, (long long)tr->count, (long long)first, (long long)last, (long long)where);
    return false;
}

/* Returns the address of the first of objects with random memory, and computes what packing them must give. */
static unsigned char *fresh_memory(const trial *tr, pw_rng *rng)
{
    return pw_watched_place(&tr->j->memory, rng, tr->hi - tr->lo) - tr->lo;
}

/* Sets 1 for every padding byte in the packed stream. */
static void mask_packed_padding(const trial *tr)
{
    unsigned char *m = tr->j->mask;
    for (int64_t i = 0; i < tr->count; i++)
        for (int64_t k = 0; k < tr->map->n; k++) {
            const pw_naive_entry *e = &tr->map->entries[k];
            memset(m, 0, (size_t)(e->bytes - e->padding));
            memset(m + e->bytes - e->padding, 1, (size_t)e->padding);
            m += e->bytes;
        }
}

/* Sets 1 where memory is part of the layout, or with `padding_only` where it is padding. */
static void mask_memory(const trial *tr, bool padding_only)
{
    unsigned char *origin = tr->j->mask - tr->lo;
    memset(tr->j->mask, 0, (size_t)(tr->hi - tr->lo));
    for (int64_t i = 0; i < tr->count; i++)
        for (int64_t k = 0; k < tr->map->n; k++) {
            const pw_naive_entry *e = &tr->map->entries[k];
            int64_t skip = padding_only ? e->bytes - e->padding : 0;
            memset(origin + i * tr->extent + e->off + skip, 1, (size_t)(e->bytes - skip));
        }
}

static bool judge_pack(const trial *tr, const pw_subject *s, const unsigned char *origin, pw_rng *rng)
{
    pw_judge *j = tr->j;
    int64_t where;
    unsigned char *packed = pw_watched_place(&j->packed, rng, tr->total);
    s->pack(tr->t, origin, tr->count, packed);
    memcpy(pw_watched_saved(&j->packed), j->expected, (size_t)tr->total);
    if (s->lazy_padding)
        mask_packed_padding(tr);
    if (pw_watched_differs(&j->packed, s->lazy_padding ? j->mask : NULL, &where))
        return fail(tr, s, "pack", 0, tr->total, where);
    if (pw_watched_differs(&j->memory, NULL, &where))
        return fail(tr, s, "pack changed its input", 0, tr->total, where);
    return true;
}

static void pick_range(const trial *tr, pw_rng *rng, int64_t *first, int64_t *last)
{
    int64_t a = pw_rng_range(rng, 0, tr->total), b = pw_rng_range(rng, 0, tr->total);
    if (pw_rng_one_in(rng, 3)) /* a short range */
        b = a + pw_rng_range(rng, 0, 40) < tr->total ? a + pw_rng_range(rng, 0, 40) : tr->total;
    b = b > tr->total ? tr->total : b;
    *first = a < b ? a : b;
    *last = a < b ? b : a;
}

static bool judge_pack_range(const trial *tr, const pw_subject *s, const unsigned char *origin, pw_rng *rng)
{
    pw_judge *j = tr->j;
    int64_t first, last, where;
    pick_range(tr, rng, &first, &last);
    unsigned char *packed = pw_watched_place(&j->packed, rng, last - first);
    s->pack_range(tr->t, origin, tr->count, first, last, packed);
    memcpy(pw_watched_saved(&j->packed), j->expected + first, (size_t)(last - first));
    if (pw_watched_differs(&j->packed, NULL, &where))
        return fail(tr, s, "pack of a range", first, last, where);
    return true;
}

/* Checks memory after unpacking. If bytes overlap there is no right answer, but outside the layout nothing may change.
 */
static bool memory_is_wrong(const trial *tr, const pw_subject *s, int64_t *where)
{
    bool masked = tr->overlaps || s->lazy_padding;
    if (masked)
        mask_memory(tr, !tr->overlaps);
    return pw_watched_differs(&tr->j->memory, masked ? tr->j->mask : NULL, where);
}

/* PREFIX: a message shorter than what was posted. */
enum unpack_kind { UNPACK_ALL, UNPACK_RANGE, UNPACK_PREFIX };

static bool judge_unpack(const trial *tr, const pw_subject *s, enum unpack_kind kind, pw_rng *rng)
{
    static const char *const names[] = {"unpack", "unpack of a range", "unpack of a prefix"};
    pw_judge *j = tr->j;
    int64_t first = 0, last = tr->total, where;
    if (kind != UNPACK_ALL)
        pick_range(tr, rng, &first, &last);
    if (kind == UNPACK_PREFIX)
        first = 0;
    unsigned char *origin = fresh_memory(tr, rng);
    const unsigned char *packed = pw_watched_place(&j->packed, rng, last - first);
    if (kind == UNPACK_ALL)
        s->unpack(tr->t, origin, tr->count, packed);
    else
        s->unpack_range(tr->t, origin, tr->count, first, last, packed);
    pw_naive_unpack_range(tr->map, tr->extent, tr->count, first, last, pw_watched_saved(&j->memory) - tr->lo, packed);
    if (memory_is_wrong(tr, s, &where))
        return fail(tr, s, names[kind], first, last, where);
    if (pw_watched_differs(&j->packed, NULL, &where))
        return fail(tr, s, "unpack changed its input", first, last, where);
    return true;
}

enum { RANGES = 3 };

static bool judge_subject(const trial *tr, const pw_subject *s, uint64_t purpose)
{
    pw_rng data = rng_for(tr, 0), rng = rng_for(tr, purpose);
    unsigned char *origin = fresh_memory(tr, &data);
    pw_naive_pack(tr->map, tr->extent, tr->count, origin, tr->j->expected);
    bool good = judge_pack(tr, s, origin, &rng);
    for (int i = 0; good && s->pack_range && i < RANGES; i++)
        good = judge_pack_range(tr, s, origin, &rng);
    good = good && judge_unpack(tr, s, UNPACK_ALL, &rng);
    for (int i = 0; good && s->unpack_range && i < RANGES; i++)
        good = judge_unpack(tr, s, UNPACK_RANGE, &rng);
    return good && (!s->unpack_range || judge_unpack(tr, s, UNPACK_PREFIX, &rng));
}

bool pw_judge_count(pw_judge *j, const pw_subject_type *t, int64_t count, uint64_t seed, char *what, size_t what_size)
{
    const pw_random_mpi *r = t->random;
    trial tr = {.j = j, .t = t, .map = &r->map, .extent = r->extent, .count = count, .total = count * r->map.size};
    tr.seed = seed;
    tr.what = what;
    tr.what_size = what_size;
    tr.overlaps = pw_naive_overlaps(&r->map, r->extent, count);
    pw_naive_span(&r->map, r->extent, count, &tr.lo, &tr.hi);
    j->bytes_judged += tr.total;

    int n;
    const pw_subject *subjects = pw_subjects(&n);
    for (int i = 0; i < n; i++)
        if (subjects[i].applies(t) && !judge_subject(&tr, &subjects[i], (uint64_t)i + 1))
            return false;
    return true;
}
