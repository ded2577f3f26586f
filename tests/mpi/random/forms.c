#include "forms.h"

#include "frontend/combiner.h"
#include "frontend/mpi/decode.h"
#include "passes/passes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXPANDED_BLOCKS = 1024 }; /* as in passes/expand.c */

typedef struct reason {
    char *text;
    size_t size;
} reason;

static bool fail(const reason *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static bool fail(const reason *r, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(r->text, r->size, fmt, ap);
    va_end(ap);
    return false;
}

/* Goes along the naive typemap while the tree is walked. */
typedef struct cursor {
    const pw_naive_map *map;
    int64_t entry, within; /* the next byte expected */
    int64_t at;            /* packed bytes seen */
} cursor;

static bool follow(void *arg, int64_t off, int64_t n)
{
    cursor *c = arg;
    while (n > 0) {
        if (c->entry == c->map->n)
            return false;
        const pw_naive_entry *e = &c->map->entries[c->entry];
        int64_t some = e->bytes - c->within < n ? e->bytes - c->within : n;
        if (off != e->off + c->within)
            return false;
        off += some;
        n -= some;
        c->at += some;
        c->within += some;
        if (c->within == e->bytes) {
            c->entry++;
            c->within = 0;
        }
    }
    return true;
}

static bool same_map(const char *form, const pw_type *type, const pw_random_mpi *t, const reason *r)
{
    const pw_naive_map *map = &t->map;
    cursor c = {.map = map};
    if (type->root->size != map->size)
        return fail(r, "%s: %lld bytes, not %lld", form, (long long)type->root->size, (long long)map->size);
    if (!pw_walk(type->root, 0, follow, &c) || c.at != map->size)
        return fail(r, "%s: packed byte %lld comes from elsewhere", form, (long long)c.at);
    if (type->root->lo != map->lo || type->root->hi != map->hi)
        return fail(r, "%s: true bounds [%lld, %lld), not [%lld, %lld)", form, (long long)type->root->lo,
                    (long long)type->root->hi, (long long)map->lo, (long long)map->hi);
    if (type->extent != t->extent)
        return fail(r, "%s: extent %lld, not %lld", form, (long long)type->extent, (long long)t->extent);
    return true;
}

static bool well_formed(const char *form, const pw_type *type, const reason *r)
{
    pw_diag diag = {0};
    return pw_verify(type, &diag) == PW_OK || fail(r, "%s: the verifier says: %s", form, diag.text);
}

static bool canonicalise(const char *form, const pw_type *in, pw_arena *arena, pw_type *out, const reason *r)
{
    pw_diag diag = {0};
    pw_pass_options options = {.verify = true};
    return pw_canonicalise(in, arena, out, &options, &diag) == PW_OK || fail(r, "canonicalise %s: %s", form, diag.text);
}

/* Cuts the typemap's runs into pieces, so that lists are long and blocks touch. `offs` NULL: only counts. */
static int64_t cut_runs(const pw_naive_map *map, int64_t *offs, int64_t *lens)
{
    int64_t n = 0;
    for (int64_t i = 0; i < map->n; i++) {
        int64_t piece = map->entries[i].bytes / (1 + i % 4) + 1;
        for (int64_t at = 0; at < map->entries[i].bytes; at += piece, n++) {
            int64_t left = map->entries[i].bytes - at;
            if (!offs)
                continue;
            offs[n] = map->entries[i].off + at;
            lens[n] = left < piece ? left : piece;
        }
    }
    return n;
}

/* The same bytes in the same order by another construction: one list of bytes. */
static bool build_flat(const pw_random_mpi *t, pw_arena *arena, pw_type *out, const reason *r)
{
    pw_builder b = {.arena = arena};
    int64_t n = cut_runs(&t->map, NULL, NULL);
    int64_t *offs = malloc((size_t)(2 * n + 1) * sizeof *offs), *lens = offs + n;
    cut_runs(&t->map, offs, lens);
    pw_dt list = pw_dt_hindexed(&b, n, lens, offs, pw_dt_basic(&b, 1, 1));
    *out = pw_dt_finish(pw_dt_resized(&b, t->lb, t->extent, list));
    free(offs);
    return b.status == PW_OK || fail(r, "flat list: %s", pw_status_text(b.status));
}

static bool same_text(const pw_type *a, const pw_type *b, const reason *r)
{
    char *x = pw_print(a, 0), *y = pw_print(b, 0);
    bool same = x && y && strcmp(x, y) == 0;
    if (!same)
        fail(r, "two canonical forms of one typemap:\n%.900s\nand, from a flat list,\n%.900s", x, y);
    free(x);
    free(y);
    return same;
}

bool pw_forms_check(const pw_random_mpi *t, pw_arena *arena, pw_type *raw, char *what, size_t what_size)
{
    const reason r = {what, what_size};
    pw_type canonical, flat, flat_canonical;
    pw_diag diag = {0};
    if (pw_mpi_decode(t->type, arena, raw, &diag) != PW_OK)
        return fail(&r, "decode: %s", diag.text);
    if (raw->lb != t->lb)
        return fail(&r, "decode: lb %lld, not %lld", (long long)raw->lb, (long long)t->lb);
    if (!well_formed("decoded", raw, &r) || !same_map("decoded", raw, t, &r))
        return false;
    if (!canonicalise("decoded", raw, arena, &canonical, &r) || !same_map("canonical", &canonical, t, &r))
        return false;
    if (!build_flat(t, arena, &flat, &r) || !canonicalise("flat list", &flat, arena, &flat_canonical, &r))
        return false;
    /* Longer types are canonicalised without writing them out, and may keep traces of how they were built. */
    if (raw->root->blocks > EXPANDED_BLOCKS || flat.root->blocks > EXPANDED_BLOCKS)
        return same_map("flat list", &flat_canonical, t, &r);
    if (!same_text(&canonical, &flat_canonical, &r))
        return false;
    return pw_hash_equal(pw_type_hash(&canonical), pw_type_hash(&flat_canonical)) || fail(&r, "equal text, other hash");
}
