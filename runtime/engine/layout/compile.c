/*
 * Makes the layout of a type. The compiler's steps from front to back are:
 *     raw tree -> canonical tree -> nest -> shape -> arguments bound to it -> kernel
 * Each arrow is a function of this file. The results of the passes take several times the memory of the layout. So the
 * passes work in memory of their own, and `bind` copies what the layout keeps into one block.
 */
#include "runtime/engine/layout/internal.h"

#include "passes/passes.h"

/* A type that is being compiled to a layout. */
typedef struct compilation {
    pw_layout_engine *engine;
    const pw_type *raw;
    pw_arena *scratch;
    pw_arena_mark begin; /* of the canonical tree in `scratch` */
    pw_type canonical;
    pw_hash hash;
    int64_t blocks;
    pw_nest *nest; /* the nest as lowering made it */
    pw_shape_draft draft;
    pw_layout_entry *entry; /* the layout that is being filled; NULL before `bind` */
} compilation;

/* raw -> canonical: equal types come out equal, with one hash. */
static pw_status canonicalise(compilation *c, pw_diag *diag)
{
    pw_status status;

    c->scratch = pw_arena_create();
    if (!c->scratch)
        return PW_ERR_NOMEM;
    c->begin = pw_arena_here(c->scratch);
    status = pw_canonicalise(c->raw, c->scratch, &c->canonical, NULL, diag);
    if (status)
        return status;
    c->hash = pw_type_hash(&c->canonical);
    c->blocks = c->canonical.root->blocks;
    return PW_OK;
}

/* canonical -> nest: perfect loops over leaves. The lists of the tree have become tables of the nest. They may be long,
 * so they are freed at once. */
static pw_status lower(compilation *c, pw_diag *diag)
{
    pw_status status = pw_lower(&c->canonical, &c->nest, NULL, diag);

    if (!status)
        pw_arena_rewind(c->scratch, c->begin);
    return status;
}

/* nest -> shape: what of the nest is baked into a kernel. Nests that differ only in counts and strides share it. */
static pw_status shape(compilation *c)
{
    return pw_shape_draft_make(c->nest, c->scratch, &c->draft);
}

static pw_status copy_nest(const compilation *c, pw_layout_entry *entry)
{
    pw_layout *layout = &entry->layout;

    layout->nest = pw_nest_copy(c->nest, entry->arena);
    if (!layout->nest)
        return PW_ERR_NOMEM;
    layout->size = layout->nest->size;
    layout->lo = layout->nest->lo;
    layout->extent = layout->nest->extent;
    layout->contiguous = pw_nest_is_contiguous(layout->nest);
    layout->apart = pw_layout_objects_apart(layout->nest);
    return PW_OK;
}

/* shape -> arguments: the counts, strides and tables of the nest for the places that the shape has for them. From here
 * on all memory that the layout owns is in one block. */
static pw_status bind(compilation *c)
{
    enum { ROUNDING = 64 };
    size_t args = (size_t)(c->draft.shape.nparams + c->draft.shape.ntables) * sizeof(int64_t);
    pw_arena *arena = pw_arena_create_for(sizeof(pw_layout_entry) + pw_nest_bytes(c->nest) + args + ROUNDING);
    pw_layout_entry *entry = arena ? pw_arena_alloc(arena, sizeof *entry) : NULL;
    pw_status status;

    if (!entry) {
        pw_arena_destroy(arena);
        return PW_ERR_NOMEM;
    }
    c->entry = entry;
    entry->arena = arena;
    entry->layout.engine = c->engine;
    entry->layout.refs = 1;
    entry->layout.hash = c->hash;
    entry->layout.blocks = c->blocks;
    status = copy_nest(c, entry);
    if (!status)
        status = pw_shape_draft_bind(&c->draft, entry->layout.nest, arena, &entry->layout.args);
    entry->layout.parts = pw_part_is_possible(c->nest, &c->draft.shape);
    return status;
}

/* Moves that are counted, or for which there is never a kernel, take the long way (move.c). */
static void set_at_once(pw_layout *layout)
{
    bool is_plain = layout->size > 0 && (layout->contiguous || layout->kernel) && !layout->engine->counted;

    layout->at_once[PW_PACK] = is_plain ? INT64_MAX / layout->size : 0;
    layout->at_once[PW_UNPACK] = pw_layout_least(layout->at_once[PW_PACK], layout->apart);
}

/* shape -> kernel. Most layouts share their shape, and so their kernel. Contiguous and empty layouts need no kernel. */
static pw_status find_kernel(compilation *c)
{
    pw_layout *layout = &c->entry->layout;
    pw_cache *cache = c->engine->cache;
    bool wanted = c->engine->mode != PW_JIT_OFF && !layout->contiguous && layout->size > 0;

    if (wanted)
        layout->kernel = pw_cache_find(cache, c->draft.shape.hash);
    layout->shape = layout->kernel ? pw_shape_ref(pw_kernel_shape(layout->kernel)) : pw_shape_copy(&c->draft.shape);
    if (!layout->shape)
        return PW_ERR_NOMEM;
    if (wanted && !layout->kernel)
        layout->kernel = pw_cache_kernel(cache, layout->shape);
    set_at_once(layout);
    c->entry->footprint = (int64_t)pw_arena_used(c->entry->arena);
    return PW_OK;
}

/* nest -> layout, which the table gets. */
static pw_status build(compilation *c, pw_hash hash, pw_layout **out)
{
    pw_status status = shape(c);

    if (!status)
        status = bind(c);
    if (!status)
        status = find_kernel(c);
    if (!status)
        return pw_layout_adopt(c->engine, c->entry, hash, out);
    if (c->entry)
        pw_layout_entry_free(c->entry);
    return status;
}

pw_status pw_layout_of_nest(pw_layout_engine *engine, pw_nest *nest, pw_hash hash, pw_layout **out)
{
    compilation c = {
        .engine = engine, .scratch = pw_arena_create(), .nest = nest, .hash = hash, .blocks = pw_nest_blocks(nest)};
    pw_status status = c.scratch ? build(&c, hash, out) : PW_ERR_NOMEM;

    pw_arena_destroy(c.scratch);
    return status;
}

/* The table may have an equal type that was given in another form. */
pw_status pw_layout_compile(pw_layout_engine *engine, const void *raw, pw_hash raw_hash, pw_layout **out, pw_diag *diag)
{
    compilation c = {.engine = engine, .raw = raw};
    pw_status status = canonicalise(&c, diag);

    *out = status ? NULL : pw_layout_find(engine, c.hash, raw_hash);
    if (!status && !*out) {
        status = lower(&c, diag);
        if (!status)
            status = build(&c, raw_hash, out);
    }
    pw_nest_destroy(c.nest);
    pw_arena_destroy(c.scratch);
    return status;
}
