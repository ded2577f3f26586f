/*
 * From a type to its layout, the compiler's way from front to back:
 *
 *     raw tree -> canonical tree -> nest -> shape -> arguments bound to it -> kernel
 *
 * Each arrow is a function here, and compile_layout names them in order. What the passes leave behind is several times
 * as large as the layout; so they work in memory of their own, and what lives on is copied out of it into one block.
 */
#include "runtime/engine/layout/internal.h"

#include "passes/passes.h"
#include "runtime/engine/layout/dump.h"

/* A type on its way to a layout. */
typedef struct compilation {
    pw_layout_engine *engine;
    const pw_type *raw;
    pw_arena *scratch;
    bool kept; /* the canonical tree is wanted at the program's end, too */
    pw_type canonical;
    pw_hash hash;
    int64_t blocks;
    pw_nest *nest; /* as it was lowered */
    pw_shape_draft draft;
    pw_layout_entry *entry; /* once there is one: the layout that is being filled */
} compilation;

/* raw -> canonical: equal types come out equal, with one hash. */
static pw_status canonicalise(compilation *c, pw_diag *diag)
{
    pw_status status;

    c->scratch = pw_arena_create();
    if (!c->scratch)
        return PW_ERR_NOMEM;
    status = pw_canonicalise(c->raw, c->scratch, &c->canonical, NULL, diag);
    if (status)
        return status;
    c->hash = pw_type_hash(&c->canonical);
    c->blocks = c->canonical.root->blocks;
    return PW_OK;
}

/* canonical -> nest: perfect loops over leaves. The tree's lists have become tables of the nest, and go at once unless
 * they are wanted: they may be long. */
static pw_status lower(compilation *c, pw_diag *diag)
{
    pw_status status = pw_lower(&c->canonical, &c->nest, NULL, diag);

    if (!status && !c->kept) {
        pw_arena_destroy(c->scratch);
        c->scratch = pw_arena_create();
        status = c->scratch ? PW_OK : PW_ERR_NOMEM;
    }
    return status;
}

/* nest -> shape: what of the nest a kernel is made for. Nests that differ in counts and strides only share it. */
static pw_status shape(compilation *c)
{
    return pw_shape_draft_make(c->nest, c->scratch, &c->draft);
}

/* A copy of the canonical type; NULL: out of memory. */
static const pw_type *copy_type(const pw_type *type, pw_arena *arena)
{
    pw_builder b = {.arena = arena};
    pw_type *copy = pw_arena_copy(arena, type, sizeof *type);

    if (copy)
        copy->root = pw_build_copy(&b, type->root);
    return copy && copy->root ? copy : NULL;
}

static pw_status copy_nest(const compilation *c, pw_layout_entry *entry)
{
    pw_layout *layout = &entry->layout;

    layout->nest = pw_nest_copy(c->nest, entry->arena);
    if (!layout->nest || (c->kept && !(layout->type = copy_type(&c->canonical, entry->arena))))
        return PW_ERR_NOMEM;
    layout->size = layout->nest->size;
    layout->extent = layout->nest->extent;
    layout->contiguous = pw_nest_is_contiguous(layout->nest);
    return PW_OK;
}

/* shape -> arguments: the counts, strides and tables that the nest has where its shape has places for them. All that
 * the layout keeps for itself is in one block from here on. */
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
    return status ? status : pw_shape_draft_bind(&c->draft, entry->layout.nest, arena, &entry->layout.args);
}

/* shape -> kernel. Most layouts share their shape, and with it the kernel, with others. Contiguous layouts and empty
 * ones need no kernel, so none is looked for. */
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
    if (layout->kernel)
        pw_layout_heat_begin(c->engine, layout->kernel);
    c->entry->footprint = (int64_t)pw_arena_used(c->entry->arena);
    return PW_OK;
}

/* Into c->entry; or, where an equal type is known by another form, into *known, which is referenced. */
static pw_status compile_layout(compilation *c, pw_hash raw_hash, pw_layout **known, pw_diag *diag)
{
    pw_status status = canonicalise(c, diag);

    if (!status)
        *known = pw_layout_find(c->engine, c->hash, raw_hash);
    if (status || *known)
        return status;
    status = lower(c, diag);
    if (!status)
        status = shape(c);
    if (!status)
        status = bind(c);
    if (!status)
        status = find_kernel(c);
    return status;
}

pw_status pw_layout_compile(pw_layout_engine *engine, const pw_type *raw, pw_hash raw_hash, pw_layout **out,
                            pw_diag *diag)
{
    compilation c = {.engine = engine, .raw = raw, .kept = engine->counted || pw_layout_dump_is_on()};
    pw_status status = compile_layout(&c, raw_hash, out, diag);

    if (status && c.entry) {
        pw_layout_entry_free(c.entry);
    } else if (c.entry) {
        pw_layout_dump(&c.entry->layout, raw, &c.canonical);
        status = pw_layout_adopt(engine, c.entry, raw_hash, out);
    }
    pw_nest_destroy(c.nest);
    pw_arena_destroy(c.scratch);
    return status;
}
