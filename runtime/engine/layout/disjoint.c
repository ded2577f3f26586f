/*
 * Whether two layouts touch different bytes, though they may lie in one array, as the faces of a box and its ghost
 * cells do. Bounds say nothing there: the face and the ghost cells alternate row by row.
 *
 * Each side is a list of combs: blocks of one length that loops repeat at strides. Two combs whose long strides all are
 * multiples of one number never meet if they do not meet in one period of it, when the loops of shorter strides are
 * taken for solid. That is tried for each stride as the shortest of the long ones.
 */
#include "base/gcd.h"
#include "runtime/engine/layout/layout.h"

enum { LOOPS = PW_NEST_MAX_DIMS + 1, MOST_COMBS = 256 /* pairs of combs that are compared */ };

typedef struct loop {
    int64_t reach; /* from the first to the last iteration; negative if the stride is */
    uint64_t stride;
} loop;

typedef struct comb {
    uint64_t at; /* the address of the first block; addresses wrap around as unsigned numbers do */
    int64_t bytes;
    int n;
    loop loops[LOOPS];
} comb;

/* One side of a copy. `layout` NULL: contiguous bytes. */
typedef struct side {
    const pw_layout *layout;
    uint64_t at;
    int64_t bytes;
} side;

static bool add_loop(comb *c, int64_t count, int64_t stride)
{
    int64_t reach;

    if (count <= 1 || stride == 0)
        return true;
    if (c->n == LOOPS || __builtin_mul_overflow(count - 1, stride, &reach))
        return false;
    c->loops[c->n++] = (loop){.reach = reach, .stride = stride < 0 ? -(uint64_t)stride : (uint64_t)stride};
    return true;
}

/* Makes a comb of one block. Loops that it has not are not cleared: that would take longer than most answers. */
static void begin(comb *c, uint64_t at, int64_t bytes)
{
    c->at = at;
    c->bytes = bytes;
    c->n = 0;
}

/* Makes a comb without blocks from the loops of a region. False: one of them has a table. */
static bool loops_of(const side *s, const pw_region *r, comb *c)
{
    int64_t objects = s->bytes / s->layout->size;

    begin(c, s->at + (uint64_t)r->mem_off, 0);
    if (s->layout->nest->object_outer && !add_loop(c, objects, s->layout->extent))
        return false;
    for (int i = 0; i < r->ndims; i++) {
        const pw_dim *d = &r->dims[i];

        if (d->table || !add_loop(c, d->is_object ? objects : d->count, d->mem_stride))
            return false;
    }
    return true;
}

/* Bounds of what loops of strides below `cut` do with one block. False: too long for a number. */
static bool window(const comb *c, uint64_t cut, uint64_t *lo, uint64_t *length)
{
    int64_t below = 0, above = c->bytes;

    for (int i = 0; i < c->n; i++) {
        const loop *l = &c->loops[i];

        if (l->stride < cut &&
            __builtin_add_overflow(l->reach < 0 ? below : above, l->reach, l->reach < 0 ? &below : &above))
            return false;
    }
    *lo = c->at + (uint64_t)below;
    *length = (uint64_t)above - (uint64_t)below;
    return true;
}

static uint64_t period(const comb *c, uint64_t cut, uint64_t so_far)
{
    for (int i = 0; i < c->n; i++)
        if (c->loops[i].stride >= cut)
            so_far = pw_gcd(so_far, c->loops[i].stride);
    return so_far;
}

static bool apart_from(const comb *a, const comb *b, uint64_t cut)
{
    uint64_t a_lo, a_length, b_lo, b_length, p = period(b, cut, period(a, cut, 0)), away;

    if (!window(a, cut, &a_lo, &a_length) || !window(b, cut, &b_lo, &b_length))
        return false;
    if (p == 0)
        return b_lo >= a_lo ? b_lo - a_lo >= a_length : a_lo - b_lo >= b_length;
    if (a_length > p || b_length > p)
        return false;
    away = b_lo >= a_lo ? (b_lo - a_lo) % p : (p - (a_lo - b_lo) % p) % p;
    return away >= a_length && away <= p - b_length;
}

static bool are_apart(const comb *a, const comb *b)
{
    if (apart_from(a, b, UINT64_MAX))
        return true;
    for (int i = 0; i < a->n; i++)
        if (apart_from(a, b, a->loops[i].stride))
            return true;
    for (int i = 0; i < b->n; i++)
        if (apart_from(a, b, b->loops[i].stride))
            return true;
    return false;
}

/* ---- all combs ------------------------------------------------------------------------------------------------- */

static int combs_of(const side *s)
{
    int n = 0;

    if (!s->layout)
        return 1;
    for (int i = 0; i < s->layout->nest->nregions; i++) {
        const pw_region *r = &s->layout->nest->regions[i];

        if (r->blocks || n > MOST_COMBS)
            return MOST_COMBS + 1;
        n += r->npieces;
    }
    return n;
}

/* The n-th comb. False: it has a loop of which nothing is known. */
static bool comb_at(const side *s, int n, comb *out)
{
    int i = 0;

    if (!s->layout) {
        begin(out, s->at, s->bytes);
        return true;
    }
    for (; n >= s->layout->nest->regions[i].npieces; i++)
        n -= s->layout->nest->regions[i].npieces;
    if (!loops_of(s, &s->layout->nest->regions[i], out))
        return false;
    out->at += (uint64_t)s->layout->nest->regions[i].pieces[n].mem_off;
    out->bytes = s->layout->nest->regions[i].pieces[n].bytes;
    return true;
}

static bool is_apart_from_all(const comb *c, const side *s, int n)
{
    comb other;

    for (int i = 0; i < n; i++)
        if (!comb_at(s, i, &other) || !are_apart(c, &other))
            return false;
    return true;
}

/* The bounds of all objects, as one comb. */
static bool bounds_of(const side *s, comb *out)
{
    if (!s->layout)
        return comb_at(s, 0, out);
    begin(out, s->at + (uint64_t)s->layout->nest->lo, s->layout->nest->hi - s->layout->nest->lo);
    return add_loop(out, s->bytes / s->layout->size, s->layout->extent);
}

bool pw_layout_are_disjoint(const pw_layout *a, const void *a_mem, const pw_layout *b, const void *b_mem, int64_t bytes)
{
    const side x = {a, (uintptr_t)a_mem, bytes}, y = {b, (uintptr_t)b_mem, bytes};
    int n, m;
    comb c, d;

    if (bytes == 0 || (bounds_of(&x, &c) && bounds_of(&y, &d) && apart_from(&c, &d, UINT64_MAX)))
        return true;
    n = combs_of(&x);
    m = combs_of(&y);
    if (n > MOST_COMBS || m > MOST_COMBS || n * m > MOST_COMBS)
        return false;
    for (int i = 0; i < n; i++)
        if (!comb_at(&x, i, &c) || !is_apart_from_all(&c, &y, m))
            return false;
    return true;
}
