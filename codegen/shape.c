/*
 * Makes a shape from a nest, and arguments from a nest and its shape.
 *
 * One traversal visits every number and table of a nest in a fixed order and decides, by value and place, whether it is
 * baked. Creating a shape keeps the decisions; binding keeps the values. Both therefore agree by construction.
 *
 * What is baked, and what that buys (docs/codegen.md has the measurements):
 *  - lengths up to BAKE_BYTES: a block move becomes a few instructions instead of a loop;
 *  - counts up to BAKE_COUNT, from the innermost loop outwards while they multiply to at most BAKE_CHAIN: such loops
 *    are unrolled, and rows of tiny blocks become a single shuffle;
 *  - memory strides up to BAKE_STRIDE: several blocks share one vector, so the code depends on the stride; above that a
 *    stride in a register is as fast as one in the instruction;
 *  - packed strides only where they say "dense": they follow from baked counts, or equal the leaf. In a joined nest the
 *    packed side is memory, too, so its strides are baked like memory strides;
 *  - offsets of pieces (and of regions that are run per object) up to BAKE_OFFSET: displacement fields are free, and
 *    pieces near each other can share a vector. Absolute addresses are always arguments.
 */
#include "codegen/shape.h"

#include "codegen/shape_internal.h"
#include "codegen/target.h"

#include <stdatomic.h>

enum { BAKE_BYTES = 256, BAKE_COUNT = 16, BAKE_CHAIN = 64, BAKE_STRIDE = 128, BAKE_OFFSET = 4096 };

/* The slots given out so far, and their values. */
typedef struct shaper {
    pw_arena *arena;
    bool bake_all;
    bool failed; /* out of memory */
    int nparams, ntables;
    int64_t *params;
} shaper;

static void *take(shaper *s, int64_t n, size_t bytes)
{
    if (n == 0)
        return NULL;
    void *p = pw_arena_take_array(s->arena, (size_t)n, bytes);
    s->failed |= p == NULL;
    return p;
}

/* An upper bound of the arguments a nest can need. */
static int64_t most_params(const pw_nest *nest)
{
    int64_t params = 4;
    for (int r = 0; r < nest->nregions; r++) {
        const pw_region *region = &nest->regions[r];
        params += 10 + 7 * (int64_t)region->ndims + 3 * (int64_t)region->npieces;
    }
    return params;
}

static pw_num num(shaper *s, int64_t value, bool bake)
{
    if (bake || s->bake_all)
        return (pw_num){.value = value, .slot = -1};
    s->params[s->nparams] = value;
    return (pw_num){.value = 0, .slot = s->nparams++};
}

static bool near_zero(int64_t v, int64_t limit)
{
    return v >= -limit && v <= limit;
}

static bool is_baked(pw_num n)
{
    return n.slot < 0;
}

static pw_shape_table no_table(void)
{
    return (pw_shape_table){.slot = -1, .base = {.slot = -1}, .scale = {.value = 1, .slot = -1}};
}

static pw_shape_table shape_table(shaper *s, const pw_table *t)
{
    pw_shape_table out = {.slot = s->ntables++, .width = t->width};
    out.base = num(s, t->base, t->base == 0);
    out.scale = num(s, t->scale, near_zero(t->scale, BAKE_STRIDE));
    return out;
}

/* Shapes the region's pieces. Returns whether all their numbers are baked. */
static bool shape_pieces(shaper *s, const pw_region *region, pw_shape_region *out)
{
    bool baked = true;
    out->npieces = region->npieces;
    out->pieces = take(s, region->npieces, sizeof *out->pieces);
    for (int i = 0; i < region->npieces && !s->failed; i++) {
        const pw_piece *p = &region->pieces[i];
        pw_shape_piece *q = &out->pieces[i];
        q->mem_off = num(s, p->mem_off, near_zero(p->mem_off, BAKE_OFFSET));
        q->packed_off = num(s, p->packed_off, near_zero(p->packed_off, BAKE_OFFSET));
        q->bytes = num(s, p->bytes, p->bytes <= BAKE_BYTES);
        baked &= is_baked(q->mem_off) && is_baked(q->packed_off) && is_baked(q->bytes);
    }
    return baked;
}

static void shape_blocks(shaper *s, const pw_region *region, pw_shape_region *out)
{
    out->nblocks = (pw_num){.slot = -1};
    out->block_offs = out->block_starts = out->block_packed = no_table();
    if (!region->blocks)
        return;
    out->nblocks = num(s, region->blocks->n, false);
    out->block_offs = shape_table(s, &region->blocks->offs);
    out->block_starts = shape_table(s, &region->blocks->starts);
    if (region->blocks->packed_offs.data)
        out->block_packed = shape_table(s, &region->blocks->packed_offs);
}

/*
 * chained[i]: loop i and all loops inside it have baked counts. dense[i]: the packed bytes of one iteration
 * of loop i, when all loops inside it are baked; else -1.
 */
static void find_chain(const pw_region *region, bool leaf_baked, bool *chained, int64_t *dense)
{
    bool open = leaf_baked;
    int64_t product = 1, bytes = region->leaf_size;
    for (int i = region->ndims - 1; i >= 0; i--) {
        const pw_dim *dim = &region->dims[i];
        dense[i] = open ? bytes : -1;
        open = open && !dim->is_object && dim->count <= BAKE_COUNT && dim->count * product <= BAKE_CHAIN;
        chained[i] = open;
        if (open) {
            product *= dim->count;
            bytes *= dim->count;
        }
    }
}

static void shape_dims(shaper *s, const pw_nest *nest, const pw_region *region, bool leaf_baked, pw_shape_region *out)
{
    bool chained[PW_NEST_MAX_DIMS];
    int64_t dense[PW_NEST_MAX_DIMS];
    find_chain(region, leaf_baked, chained, dense);
    out->ndims = region->ndims;
    out->dims = take(s, region->ndims, sizeof *out->dims);
    for (int i = 0; i < region->ndims && !s->failed; i++) {
        const pw_dim *dim = &region->dims[i];
        pw_shape_dim *d = &out->dims[i];
        bool follows = dim->packed_stride == dense[i] || (leaf_baked && dim->packed_stride == region->leaf_size);
        bool near = nest->joined && near_zero(dim->packed_stride, BAKE_STRIDE);
        d->is_object = dim->is_object;
        d->count = num(s, dim->is_object ? 0 : dim->count, dim->is_object || chained[i]);
        d->packed_stride = num(s, dim->packed_stride, follows || near);
        d->mem_stride = num(s, dim->mem_stride, dim->table || near_zero(dim->mem_stride, BAKE_STRIDE));
        d->table = dim->table ? shape_table(s, dim->table) : no_table();
        d->packed_table = dim->packed_table ? shape_table(s, dim->packed_table) : no_table();
    }
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void shape_region(shaper *s, const pw_nest *nest, const pw_region *region, pw_shape_region *out)
{
    bool bake_offset = nest->object_outer && near_zero(region->mem_off, BAKE_OFFSET);
    out->mem_off = num(s, region->mem_off, bake_offset);
    out->packed_off =
        num(s, region->packed_off, near_zero(region->packed_off, BAKE_OFFSET) && (nest->object_outer || !nest->joined));
    bool leaf_baked = shape_pieces(s, region, out) && region->npieces > 0;
    shape_blocks(s, region, out);
    shape_dims(s, nest, region, leaf_baked, out);
    out->leaf_size = num(s, region->leaf_size, leaf_baked);
    /* Alignment beyond the word is not used; kept, it would make two shapes of the same code. */
    out->word = region->word;
    out->align = least(region->align, region->word);
    out->packed_align = least(region->packed_align, region->word);
    out->tile_outer = region->tile_outer;
    out->tile_inner = region->tile_inner;
}

static pw_status shape_nest(shaper *s, const pw_nest *nest, pw_shape *out)
{
    out->size = num(s, nest->size, false);
    out->extent = num(s, nest->extent, false);
    out->packed_extent = nest->joined ? num(s, nest->packed_extent, false) : out->size;
    /* Baked code goes to unknown machines, so it must not depend on the caches of this one. */
    out->stream_bytes = num(s, s->bake_all ? PW_STREAM_BYTES : pw_target_stream_bytes(), false);
    out->object_outer = nest->object_outer;
    out->joined = nest->joined;
    out->nregions = nest->nregions;
    out->regions = take(s, nest->nregions, sizeof *out->regions);
    for (int r = 0; r < nest->nregions && !s->failed; r++)
        shape_region(s, nest, &nest->regions[r], &out->regions[r]);
    out->nparams = s->nparams;
    out->ntables = s->ntables;
    return s->failed ? PW_ERR_NOMEM : PW_OK;
}

/* ---- drafts -------------------------------------------------------------------------------------- */

static pw_status draft(const pw_nest *nest, bool bake_all, pw_arena *arena, pw_shape_draft *out)
{
    shaper s = {.arena = arena, .bake_all = bake_all};
    out->shape = (pw_shape){0};
    s.params = take(&s, most_params(nest), sizeof *s.params);
    if (s.failed || shape_nest(&s, nest, &out->shape) != PW_OK)
        return PW_ERR_NOMEM;
    out->params = s.params;
    out->shape.hash = pw_shape_hash(&out->shape);
    return PW_OK;
}

pw_status pw_shape_draft_make(const pw_nest *nest, pw_arena *arena, pw_shape_draft *out)
{
    return draft(nest, false, arena, out);
}

/* Collects tables in the order in which shape_region numbers them. */
static void collect_tables(const pw_nest *nest, const void **out)
{
    for (int r = 0; r < nest->nregions; r++) {
        const pw_region *region = &nest->regions[r];
        if (region->blocks) {
            *out++ = region->blocks->offs.data;
            *out++ = region->blocks->starts.data;
            if (region->blocks->packed_offs.data)
                *out++ = region->blocks->packed_offs.data;
        }
        for (int i = 0; i < region->ndims; i++) {
            if (region->dims[i].table)
                *out++ = region->dims[i].table->data;
            if (region->dims[i].packed_table)
                *out++ = region->dims[i].packed_table->data;
        }
    }
}

pw_status pw_shape_draft_bind(const pw_shape_draft *d, const pw_nest *nest, pw_arena *arena, pw_kernel_args *out)
{
    size_t nparams = (size_t)d->shape.nparams, ntables = (size_t)d->shape.ntables;
    const int64_t *params = nparams ? pw_arena_copy(arena, d->params, nparams * sizeof *params) : NULL;
    const void **tables = ntables ? pw_arena_take_array(arena, ntables, sizeof *tables) : NULL;
    if ((nparams && !params) || (ntables && !tables))
        return PW_ERR_NOMEM;
    if (ntables)
        collect_tables(nest, tables);
    *out = (pw_kernel_args){.params = params, .tables = tables};
    return PW_OK;
}

static pw_status create(const pw_nest *nest, bool bake_all, pw_shape **out)
{
    pw_arena *scratch = pw_arena_create();
    pw_shape_draft d;
    pw_status status = scratch ? draft(nest, bake_all, scratch, &d) : PW_ERR_NOMEM;
    if (status == PW_OK && !(*out = pw_shape_copy(&d.shape)))
        status = PW_ERR_NOMEM;
    pw_arena_destroy(scratch);
    return status;
}

pw_shape *pw_shape_copy(const pw_shape *from)
{
    pw_arena *arena = pw_arena_create_for(pw_shape_bytes(from));
    pw_shape *shape = arena ? pw_arena_copy(arena, from, sizeof *from) : NULL;
    pw_shape_region *regions =
        shape ? pw_arena_copy(arena, from->regions, (size_t)from->nregions * sizeof *regions) : NULL;
    bool failed = !regions;
    for (int r = 0; !failed && r < from->nregions; r++) {
        pw_shape_region *region = &regions[r];
        region->dims = pw_arena_copy(arena, region->dims, (size_t)region->ndims * sizeof *region->dims);
        region->pieces = pw_arena_copy(arena, region->pieces, (size_t)region->npieces * sizeof *region->pieces);
        failed = !region->dims || !region->pieces;
    }
    if (failed) {
        pw_arena_destroy(arena);
        return NULL;
    }
    shape->regions = regions;
    shape->arena = arena;
    atomic_init(&shape->refs, 1);
    return shape;
}

pw_status pw_shape_create(const pw_nest *nest, pw_shape **out)
{
    return create(nest, false, out);
}

pw_status pw_shape_create_baked(const pw_nest *nest, pw_shape **out)
{
    return create(nest, true, out);
}

pw_shape *pw_shape_ref(pw_shape *shape)
{
    atomic_fetch_add_explicit(&shape->refs, 1, memory_order_relaxed);
    return shape;
}

void pw_shape_unref(pw_shape *shape)
{
    if (shape && atomic_fetch_sub_explicit(&shape->refs, 1, memory_order_acq_rel) == 1)
        pw_arena_destroy(shape->arena);
}

pw_status pw_shape_bind(const pw_shape *shape, const pw_nest *nest, pw_arena *arena, pw_kernel_args *out)
{
    pw_arena *scratch = pw_arena_create();
    pw_shape_draft d;
    /* Every shape with arguments has some (its size); one without any was baked throughout. */
    pw_status status = scratch ? draft(nest, shape->nparams == 0, scratch, &d) : PW_ERR_NOMEM;
    if (status == PW_OK && !pw_hash_equal(d.shape.hash, shape->hash))
        status = PW_ERR_INVALID;
    if (status == PW_OK)
        status = pw_shape_draft_bind(&d, nest, arena, out);
    pw_arena_destroy(scratch);
    return status;
}
