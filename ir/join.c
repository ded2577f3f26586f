/*
 * The walk over both trees in packed order.
 *
 * A pair of nodes of equal size is joined by the first of these that holds:
 *
 *     bytes        with bytes       a block
 *     a sequence   with anything    the other side is cut at the members' ends
 *     a loop       with bytes       the loop; the bytes step by the size of its child
 *     a loop       with a loop      equal steps: one loop. One step divides the other: the finer loop is split in two.
 *                                   Else: a loop over the steps' common multiple, and parts of both inside
 *
 * What is left, lists of blocks foremost, is written out: blocks of both sides, cut at each other's ends, within the
 * bounds of join_leaf.c. Blocks inside of the same loops are gathered and become one leaf; each leaf under its loops is
 * a region. Nothing depends on the order of regions, for both ends of every byte are written down.
 */
#include "base/gcd.h"
#include "ir/join_internal.h"

enum {
    FEW_BLOCKS = 16,      /* blocks of both sides that are written out rather than looped over */
    FEW_MEMBERS = 16,     /* blocks or iterations that may be taken one by one, as members of a sequence */
    SHORT_LIST = 1 << 12, /* blocks that are written out rather than taken so */
    LONG_SEQ = 256,       /* members with which a sequence is rather written out */
    STEPS_MAX = 1 << 13   /* pairs of nodes in one join */
};

static pw_status join(pw_joiner *j, pw_body *body, pw_pair p);

/* ---- loops ----------------------------------------------------------------------------------------- */

/* One side of a loop: iterations `stride` apart, or at `offs`. */
typedef struct turns {
    int64_t n, stride;
    const int64_t *offs; /* NULL: by stride */
    const pw_node *child;
} turns;

static bool is_loop(const pw_node *n)
{
    return n->kind == PW_STREAM || n->kind == PW_INDEX;
}

static turns turns_of(const pw_node *n)
{
    if (n->kind == PW_STREAM)
        return (turns){.n = n->stream.count, .stride = n->stream.stride, .child = n->stream.child};
    return (turns){.n = n->index.n, .offs = n->index.offs, .child = n->index.child};
}

/* A loop over what one side does in each iteration and the other, too. */
static pw_status join_turns(pw_joiner *j, const pw_body *body, const pw_pair *p, const turns *t)
{
    pw_body *below = pw_arena_copy(j->builder.arena, body, sizeof *body);
    const pw_table *tables[2] = {NULL, NULL};
    pw_pair inner;
    pw_status status;

    if (body->ndims == PW_JOIN_LOOPS)
        return PW_ERR_UNSUPPORTED;
    for (int i = 0; i < 2 && below; i++) {
        pw_table *table = t[i].offs ? pw_arena_alloc(j->builder.arena, sizeof *table) : NULL;

        if (t[i].offs && !table)
            return PW_ERR_NOMEM;
        if (table)
            *table = pw_table_borrow(t[i].n, t[i].offs);
        tables[i] = table;
        below->off[i] = pw_wrap_add(body->off[i], p->side[i].off);
        inner.side[i] = (pw_placed){t[i].child, 0};
    }
    if (!below || !t[0].child || !t[1].child)
        return below ? j->builder.status : PW_ERR_NOMEM;
    below->ends = (pw_ends){0};
    below->dims[below->ndims++] = (pw_dim){.count = t[0].n,
                                           .mem_stride = tables[0] ? 0 : t[0].stride,
                                           .packed_stride = tables[1] ? 0 : t[1].stride,
                                           .table = tables[0],
                                           .packed_table = tables[1]};
    status = join(j, below, inner);
    if (status == PW_OK)
        return pw_join_flush(j, below);
    pw_ends_free(&below->ends);
    return status;
}

/* Splits a stream into n groups of iterations. */
static turns groups_of(pw_builder *b, const turns *t, int64_t n)
{
    int64_t each = t->n / n;

    return (turns){
        .n = n, .stride = pw_wrap_mul(each, t->stride), .child = pw_build_stream(b, each, t->stride, t->child)};
}

/* ---- pairs ----------------------------------------------------------------------------------------- */

/* A loop on side `s`, bytes on the other. */
static pw_status join_loop_bytes(pw_joiner *j, pw_body *body, const pw_pair *p, int s)
{
    turns t[2];

    t[s] = turns_of(p->side[s].node);
    t[!s] = (turns){.n = t[s].n, .stride = t[s].child->size, .child = pw_build_bytes(&j->builder, t[s].child->size, 1)};
    return join_turns(j, body, p, t);
}

/* Members one after the other; the other side is cut at their ends. */
static pw_status join_members(pw_joiner *j, pw_body *body, const pw_pair *p, int s, int64_t n,
                              pw_placed (*member)(pw_builder *b, const pw_node *node, int64_t i))
{
    pw_status status = PW_OK;
    int64_t at = 0;

    for (int64_t i = 0; i < n && status == PW_OK; i++) {
        pw_placed m = member(&j->builder, p->side[s].node, i);
        pw_pair part;

        if (!m.node)
            return j->builder.status;
        part.side[s] = (pw_placed){m.node, pw_wrap_add(m.off, p->side[s].off)};
        part.side[!s] = pw_placed_part(&j->builder, p->side[!s], at, at + m.node->size);
        at += m.node->size;
        status = join(j, body, part);
    }
    return status;
}

static pw_placed seq_member(pw_builder *b, const pw_node *node, int64_t i)
{
    (void)b;
    return (pw_placed){node->seq.children[i], node->seq.offs[i]};
}

static pw_placed block_member(pw_builder *b, const pw_node *node, int64_t i)
{
    return (pw_placed){pw_build_bytes(b, node->blocks_list.lens[i], 1), node->blocks_list.offs[i]};
}

static pw_placed turn_member(pw_builder *b, const pw_node *node, int64_t i)
{
    turns t = turns_of(node);

    (void)b;
    return (pw_placed){t.child, t.offs ? t.offs[i] : pw_wrap_mul(i, t.stride)};
}

/* One side in few parts, with bytes or a long loop on the other. */
static pw_status join_one_by_one(pw_joiner *j, pw_body *body, const pw_pair *p)
{
    for (int s = 0; s < 2; s++) {
        const pw_node *n = p->side[s].node;

        if (n->kind == PW_BLOCKS && n->blocks_list.n <= FEW_MEMBERS)
            return join_members(j, body, p, s, n->blocks_list.n, block_member);
        if (is_loop(n) && turns_of(n).n <= FEW_MEMBERS)
            return join_members(j, body, p, s, turns_of(n).n, turn_member);
    }
    return PW_ERR_UNSUPPORTED;
}

static pw_status join_loops(pw_joiner *j, pw_body *body, const pw_pair *p)
{
    turns t[2] = {turns_of(p->side[0].node), turns_of(p->side[1].node)};
    int64_t step[2] = {t[0].child->size, t[1].child->size};
    int64_t common = (int64_t)pw_gcd((uint64_t)t[0].n, (uint64_t)t[1].n);

    /* n0 * step0 = n1 * step1, so a loop over `common` groups is the coarsest that both have. */
    if (step[0] == step[1])
        return join_turns(j, body, p, t);
    if (common == 1 || (t[0].offs && t[0].n != common) || (t[1].offs && t[1].n != common))
        return PW_ERR_UNSUPPORTED;
    for (int s = 0; s < 2; s++)
        if (t[s].n != common)
            t[s] = groups_of(&j->builder, &t[s], common);
    return join_turns(j, body, p, t);
}

static bool is_list(const pw_node *n)
{
    return n->kind == PW_INDEX || n->kind == PW_BLOCKS || n->kind == PW_SEQ;
}

static pw_status join_structured(pw_joiner *j, pw_body *body, const pw_pair *p)
{
    const pw_node *a = p->side[0].node, *b = p->side[1].node;

    if ((a->kind == PW_SEQ && a->seq.n > LONG_SEQ) || (b->kind == PW_SEQ && b->seq.n > LONG_SEQ))
        return PW_ERR_UNSUPPORTED;
    if (a->kind == PW_SEQ)
        return join_members(j, body, p, 0, a->seq.n, seq_member);
    if (b->kind == PW_SEQ)
        return join_members(j, body, p, 1, b->seq.n, seq_member);
    if (is_loop(a) && is_loop(b))
        return join_loops(j, body, p);
    if (is_loop(a) && b->kind == PW_BYTES)
        return join_loop_bytes(j, body, p, 0);
    if (is_loop(b) && a->kind == PW_BYTES)
        return join_loop_bytes(j, body, p, 1);
    return PW_ERR_UNSUPPORTED;
}

/* ---- undoing ----------------------------------------------------------------------------------------- */

/* How far the join was when it began with a pair. */
typedef struct moment {
    int nregions;
    int64_t n, last_length; /* of the body's blocks, and of the last of them */
} moment;

static moment here(const pw_joiner *j, const pw_body *body)
{
    int64_t n = body->ends.n;

    return (moment){j->nregions, n, n > 0 ? body->ends.lens[n - 1] : 0};
}

static void go_back(pw_joiner *j, pw_body *body, moment m)
{
    j->nregions = m.nregions;
    body->ends.n = m.n;
    if (m.n > 0)
        body->ends.lens[m.n - 1] = m.last_length;
}

static int64_t blocks_of(const pw_pair *p)
{
    int64_t a = p->side[0].node->blocks, b = p->side[1].node->blocks, sum;

    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

static pw_status join(pw_joiner *j, pw_body *body, pw_pair p)
{
    const pw_node *a, *b;
    moment before = here(j, body);
    pw_status status;

    if (++j->steps > STEPS_MAX)
        return PW_ERR_UNSUPPORTED;
    for (int s = 0; s < 2; s++) {
        p.side[s] = pw_placed_peel(&j->builder, p.side[s]);
        if (!p.side[s].node)
            return j->builder.status;
    }
    a = p.side[0].node;
    b = p.side[1].node;
    if (a->size == 0)
        return PW_OK;
    if (a->kind == PW_BYTES && b->kind == PW_BYTES)
        return pw_ends_add(&body->ends, p.side[0].off, p.side[1].off, a->size) ? PW_OK : PW_ERR_NOMEM;
    if ((is_list(a) || is_list(b)) && blocks_of(&p) <= FEW_BLOCKS)
        return pw_join_expand(j, body, &p);
    status = join_structured(j, body, &p);
    if (status != PW_ERR_UNSUPPORTED)
        return status;
    go_back(j, body, before);
    if (blocks_of(&p) > SHORT_LIST) {
        status = join_one_by_one(j, body, &p);
        if (status != PW_ERR_UNSUPPORTED)
            return status;
        go_back(j, body, before);
    }
    return pw_join_expand(j, body, &p);
}

/* ---- objects ------------------------------------------------------------------------------------------- */

/* What objects of a type are repetitions of: bytes, if objects adjoin; the iterations of a loop that the next object
 * continues; else whole objects. */
typedef struct unit {
    pw_placed what;
    int64_t extent;
} unit;

static unit find_unit(pw_builder *b, const pw_type *type)
{
    unit u = {pw_placed_peel(b, (pw_placed){type->root, 0}), type->extent};

    while (u.what.node && u.what.node->kind == PW_STREAM &&
           u.extent == pw_wrap_mul(u.what.node->stream.count, u.what.node->stream.stride)) {
        u.extent = u.what.node->stream.stride;
        u.what.node = u.what.node->stream.child;
        u.what = pw_placed_peel(b, u.what);
    }
    if (u.what.node && u.what.node->kind == PW_BYTES && u.what.node->size == u.extent) {
        u.extent = 1;
        u.what.node = pw_build_bytes(b, 1, 1);
    }
    return u;
}

static pw_placed repeat(pw_builder *b, const unit *u, int64_t n)
{
    if (u->what.node->kind == PW_BYTES && u->extent == u->what.node->size)
        return (pw_placed){pw_build_bytes(b, n * u->extent, 1), u->what.off};
    return (pw_placed){n == 1 ? u->what.node : pw_build_stream(b, n, u->extent, u->what.node), u->what.off};
}

static pw_status make_nest(pw_joiner *j, const pw_pair *object, const int64_t *extents, pw_nest **out)
{
    const pw_placed *a = &object->side[0], *b = &object->side[1];
    const pw_nest whole = {.size = a->node->size,
                           .extent = extents[0],
                           .lo = pw_wrap_add(a->node->lo, a->off),
                           .hi = pw_wrap_add(a->node->hi, a->off),
                           .joined = true,
                           .packed_extent = extents[1],
                           .packed_lo = pw_wrap_add(b->node->lo, b->off),
                           .packed_hi = pw_wrap_add(b->node->hi, b->off)};

    return pw_nest_create(j->builder.arena, &whole, j->regions, j->nregions, out);
}

static pw_status join_objects(pw_joiner *j, const pw_type *const *types, pw_nest **out)
{
    unit u[2] = {find_unit(&j->builder, types[0]), find_unit(&j->builder, types[1])};
    int64_t sizes[2], extents[2];
    pw_body *body = pw_arena_alloc(j->builder.arena, sizeof *body);
    pw_pair object;
    uint64_t common;
    pw_status status;

    if (j->builder.status != PW_OK || !body)
        return body ? j->builder.status : PW_ERR_NOMEM;
    for (int s = 0; s < 2; s++)
        sizes[s] = u[s].what.node->size;
    common = pw_gcd((uint64_t)sizes[0], (uint64_t)sizes[1]);
    for (int s = 0; s < 2; s++) {
        int64_t n = sizes[!s] / (int64_t)common, bytes;

        if (__builtin_mul_overflow(n, sizes[s], &bytes) || __builtin_mul_overflow(n, u[s].extent, &extents[s]))
            return PW_ERR_UNSUPPORTED;
        object.side[s] = repeat(&j->builder, &u[s], n);
    }
    if (j->builder.status != PW_OK)
        return j->builder.status;
    status = join(j, body, object);
    if (status == PW_OK)
        status = pw_join_flush(j, body);
    pw_ends_free(&body->ends);
    return status == PW_OK ? make_nest(j, &object, extents, out) : status;
}

pw_status pw_join_trees(const pw_type *a, const pw_type *b, pw_nest **out, pw_diag *diag)
{
    const pw_type *types[2] = {a, b};
    pw_arena *arena = pw_arena_create();
    pw_joiner *j = arena ? pw_arena_alloc(arena, sizeof *j) : NULL;
    pw_status status = PW_ERR_NOMEM;

    if (a->root->size == 0 || b->root->size == 0) {
        pw_arena_destroy(arena);
        return pw_diag_set(diag, PW_ERR_UNSUPPORTED, "a layout without bytes joins no other");
    }
    if (j) {
        j->builder.arena = arena;
        status = join_objects(j, types, out);
    }
    if (status == PW_OK)
        return PW_OK;
    pw_arena_destroy(arena);
    if (status == PW_ERR_OVERFLOW || status == PW_ERR_UNSUPPORTED)
        return pw_diag_set(diag, PW_ERR_UNSUPPORTED, "the layouts fit in too many pieces to join them");
    return pw_diag_set(diag, status, "join: %s", pw_status_text(status));
}
