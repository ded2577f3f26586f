/* Ends of the join's walk: blocks with both ends, and the leaf that suits them. */
#include "ir/join_internal.h"

#include <stdlib.h>

enum {
    EXPAND_MAX = 1 << 16, /* blocks of two subtrees that are written out */
    SPEND_MAX = 1 << 18,  /* the same in one join */
    CUT_MAX = 4           /* equal blocks that a block of unequal ones may become, in the mean */
};

/* ---- blocks with both ends ------------------------------------------------------------------------- */

void pw_ends_free(pw_ends *e)
{
    free(e->offs[0]);
    free(e->offs[1]);
    free(e->lens);
    *e = (pw_ends){0};
}

static bool grow(pw_ends *e)
{
    int64_t cap = e->cap ? 2 * e->cap : 16;
    int64_t **arrays[] = {&e->offs[0], &e->offs[1], &e->lens};

    for (int i = 0; i < 3; i++) {
        int64_t *grown = realloc(*arrays[i], (size_t)cap * sizeof *grown);

        if (!grown)
            return false;
        *arrays[i] = grown;
    }
    e->cap = cap;
    return true;
}

bool pw_ends_add(pw_ends *e, int64_t a, int64_t b, int64_t bytes)
{
    int64_t last = e->n - 1;

    if (e->n > 0 && pw_wrap_add(e->offs[0][last], e->lens[last]) == a &&
        pw_wrap_add(e->offs[1][last], e->lens[last]) == b) {
        e->lens[last] += bytes;
        return true;
    }
    if (e->n == e->cap && !grow(e))
        return false;
    e->offs[0][e->n] = a;
    e->offs[1][e->n] = b;
    e->lens[e->n++] = bytes;
    return true;
}

/* ---- refinement ------------------------------------------------------------------------------------ */

/* The blocks of one side in packed order. */
typedef struct blocks {
    int64_t n, most;
    int64_t *offs, *lens;
} blocks;

static bool note_block(void *arg, int64_t off, int64_t bytes)
{
    blocks *b = arg;

    if (b->n > 0 && pw_wrap_add(b->offs[b->n - 1], b->lens[b->n - 1]) == off) {
        b->lens[b->n - 1] += bytes;
        return true;
    }
    b->offs[b->n] = off;
    b->lens[b->n++] = bytes;
    return b->n <= b->most;
}

static bool write_out(const pw_placed *p, blocks *b)
{
    size_t room = (size_t)p->node->blocks + 1;

    *b = (blocks){.most = p->node->blocks};
    b->offs = malloc(room * sizeof *b->offs);
    b->lens = malloc(room * sizeof *b->lens);
    return b->offs && b->lens && pw_walk(p->node, p->off, note_block, b);
}

/* Each block of one side is cut where a block of the other ends. */
static bool refine(pw_body *body, const blocks *a, const blocks *b)
{
    int64_t i = 0, k = 0, a_done = 0, b_done = 0;

    while (i < a->n && k < b->n) {
        int64_t a_left = a->lens[i] - a_done, b_left = b->lens[k] - b_done, n = a_left < b_left ? a_left : b_left;

        if (!pw_ends_add(&body->ends, pw_wrap_add(a->offs[i], a_done), pw_wrap_add(b->offs[k], b_done), n))
            return false;
        a_done += n;
        b_done += n;
        if (a_done == a->lens[i]) {
            i++;
            a_done = 0;
        }
        if (b_done == b->lens[k]) {
            k++;
            b_done = 0;
        }
    }
    return true;
}

pw_status pw_join_expand(pw_joiner *j, pw_body *body, const pw_pair *p)
{
    int64_t n = p->side[0].node->blocks, m = p->side[1].node->blocks;
    blocks a = {0}, b = {0};
    bool done;

    if (n > EXPAND_MAX || m > EXPAND_MAX || (j->spent += n + m) > SPEND_MAX)
        return PW_ERR_UNSUPPORTED;
    done = write_out(&p->side[0], &a) && write_out(&p->side[1], &b) && refine(body, &a, &b);
    free(a.offs);
    free(a.lens);
    free(b.offs);
    free(b.lens);
    return done ? PW_OK : PW_ERR_NOMEM;
}

/* ---- regions --------------------------------------------------------------------------------------- */

static pw_region *add_region(pw_joiner *j, const pw_body *body, pw_status *status)
{
    pw_region *r = &j->regions[j->nregions];

    *status = PW_ERR_UNSUPPORTED;
    if (j->nregions == PW_JOIN_REGIONS)
        return NULL;
    *r = (pw_region){.mem_off = body->off[0],
                     .packed_off = body->off[1],
                     .ndims = body->ndims,
                     .align = 1,
                     .packed_align = 1,
                     .word = 1};
    /* One more for the loop over objects, one for a loop over the leaf's blocks. */
    r->dims = pw_arena_array(j->builder.arena, (size_t)body->ndims + 2, sizeof *r->dims);
    *status = PW_ERR_NOMEM;
    if (!r->dims)
        return NULL;
    for (int i = 0; i < body->ndims; i++)
        r->dims[i] = body->dims[i];
    j->nregions++;
    *status = PW_OK;
    return r;
}

/* The first piece is at the region's own offset, so that regions that differ in their place only have one shape. */
static pw_status make_pieces(pw_joiner *j, pw_region *r, const pw_ends *e)
{
    r->pieces = pw_arena_array(j->builder.arena, (size_t)e->n, sizeof *r->pieces);
    if (!r->pieces)
        return PW_ERR_NOMEM;
    r->npieces = (int)e->n;
    r->mem_off = pw_wrap_add(r->mem_off, e->offs[0][0]);
    r->packed_off = pw_wrap_add(r->packed_off, e->offs[1][0]);
    for (int64_t i = 0; i < e->n; i++) {
        r->pieces[i] = (pw_piece){.mem_off = pw_wrap_add(e->offs[0][i], -e->offs[0][0]),
                                  .packed_off = pw_wrap_add(e->offs[1][i], -e->offs[1][0]),
                                  .bytes = e->lens[i]};
        r->leaf_size += e->lens[i];
    }
    return PW_OK;
}

static bool is_progression(int64_t n, const int64_t *v)
{
    for (int64_t i = 2; i < n; i++)
        if (pw_wrap_add(v[i], -v[i - 1]) != pw_wrap_add(v[1], -v[0]))
            return false;
    return true;
}

/* One side of a loop over n offsets, of which the first is the region's. */
static pw_status make_steps(pw_joiner *j, int64_t n, const int64_t *v, int64_t *off, int64_t *stride,
                            const pw_table **table)
{
    pw_table *t;

    if (is_progression(n, v)) {
        *off = pw_wrap_add(*off, v[0]);
        *stride = pw_wrap_add(v[1], -v[0]);
        return PW_OK;
    }
    t = pw_arena_alloc(j->builder.arena, sizeof *t);
    *table = t;
    return t ? pw_table_narrow(n, v, j->builder.arena, t) : PW_ERR_NOMEM;
}

/* Blocks of one length: a loop over them. */
static pw_status make_loop(pw_joiner *j, pw_region *r, const pw_ends *e)
{
    pw_dim *d = &r->dims[r->ndims++];
    pw_status status = make_steps(j, e->n, e->offs[0], &r->mem_off, &d->mem_stride, &d->table);

    d->count = e->n;
    if (status == PW_OK)
        status = make_steps(j, e->n, e->offs[1], &r->packed_off, &d->packed_stride, &d->packed_table);
    r->pieces = pw_arena_alloc(j->builder.arena, sizeof *r->pieces);
    if (!r->pieces)
        return PW_ERR_NOMEM;
    r->npieces = 1;
    r->pieces[0].bytes = r->leaf_size = e->lens[0];
    return status;
}

static pw_status make_list(pw_joiner *j, pw_region *r, const pw_ends *e)
{
    pw_block_list *list = pw_arena_alloc(j->builder.arena, sizeof *list);
    int64_t *starts = malloc(((size_t)e->n + 1) * sizeof *starts);
    const int64_t *offs = pw_build_list(&j->builder, e->n, e->offs[0]);
    const int64_t *packed = pw_build_list(&j->builder, e->n, e->offs[1]);
    pw_status status = list && starts && offs && packed ? PW_OK : PW_ERR_NOMEM;

    if (status == PW_OK) {
        starts[0] = 0;
        for (int64_t i = 0; i < e->n; i++)
            starts[i + 1] = starts[i] + e->lens[i];
        r->leaf_size = starts[e->n];
        *list = (pw_block_list){
            .n = e->n, .offs = pw_table_borrow(e->n, offs), .packed_offs = pw_table_borrow(e->n, packed)};
        r->blocks = list;
        status = pw_table_narrow(e->n + 1, starts, j->builder.arena, &list->starts);
    }
    free(starts);
    return status;
}

/* All blocks cut to `unit` bytes. */
static bool cut_ends(const pw_ends *e, int64_t unit, pw_ends *out)
{
    for (int64_t i = 0; i < e->n; i++) {
        for (int64_t at = 0; at < e->lens[i]; at += unit) {
            if (out->n == out->cap && !grow(out))
                return false;
            out->offs[0][out->n] = pw_wrap_add(e->offs[0][i], at);
            out->offs[1][out->n] = pw_wrap_add(e->offs[1][i], at);
            out->lens[out->n++] = unit;
        }
    }
    return true;
}

static pw_status make_leaf(pw_joiner *j, pw_body *body, pw_region *r)
{
    int64_t unit;
    pw_ends cut = {0};
    pw_status status = PW_ERR_NOMEM;

    if (body->ends.n <= PW_JOIN_PIECES)
        return make_pieces(j, r, &body->ends);
    unit = body->ndims < PW_JOIN_LOOPS ? pw_cut_length(body->ends.n, body->ends.lens, CUT_MAX) : 0;
    if (unit == 0)
        return make_list(j, r, &body->ends);
    if (cut_ends(&body->ends, unit, &cut))
        status = make_loop(j, r, &cut);
    pw_ends_free(&cut);
    return status;
}

pw_status pw_join_flush(pw_joiner *j, pw_body *body)
{
    pw_status status = PW_OK;
    pw_region *r;

    if (body->ends.n > 0) {
        r = add_region(j, body, &status);
        if (r)
            status = make_leaf(j, body, r);
    }
    pw_ends_free(&body->ends);
    return status;
}
