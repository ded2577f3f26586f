#include "runtime/engine/layout/internal.h"

#include "passes/passes.h"
#include "runtime/engine/layout/dump.h"

#include <stdlib.h>

/* ---- making one -------------------------------------------------------------------------------- */

void pw_layout_entry_free(pw_layout_entry *entry)
{
    pw_layout_gpu *gpu = atomic_load(&entry->layout.gpu);

    if (gpu)
        gpu->free(gpu);
    pw_cache_release(entry->layout.engine->cache, entry->layout.kernel);
    pw_shape_unref(entry->layout.shape);
    free(entry->aliases);
    pw_arena_destroy(entry->arena);
}

/*
 * A type on its way to a layout. What the passes leave behind is several times as large as the layout; so they work in
 * memory of their own, and what lives on is copied out of it into one block.
 */
typedef struct learning {
    pw_layout_engine *engine;
    const pw_type *raw;
    pw_arena *scratch;
    bool told; /* the tree is wanted at the program's end, too */
    pw_type canonical;
    pw_hash hash;
    int64_t blocks;
    pw_nest *nest; /* as it was lowered */
    pw_shape_draft draft;
} learning;

static pw_status learn_canonical(learning *l, pw_diag *diag)
{
    pw_status status;

    l->scratch = pw_arena_create();
    if (!l->scratch)
        return PW_ERR_NOMEM;
    status = pw_canonicalise(l->raw, l->scratch, &l->canonical, NULL, diag);
    if (status)
        return status;
    l->hash = pw_type_hash(&l->canonical);
    l->blocks = l->canonical.root->blocks;
    return PW_OK;
}

/* The tree's lists have become tables of the nest, and go at once unless they are wanted: they may be long. */
static pw_status learn_nest(learning *l, pw_diag *diag)
{
    pw_status status = pw_lower(&l->canonical, &l->nest, NULL, diag);

    if (!status && !l->told) {
        pw_arena_destroy(l->scratch);
        l->scratch = pw_arena_create();
        status = l->scratch ? PW_OK : PW_ERR_NOMEM;
    }
    return status ? status : pw_shape_draft_make(l->nest, l->scratch, &l->draft);
}

static void learning_end(learning *l)
{
    pw_nest_destroy(l->nest);
    pw_arena_destroy(l->scratch);
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

/* Most layouts share their shape, and with it the kernel, with others. Contiguous layouts and empty ones need no
 * kernel, so none is looked for. */
static pw_status find_kernel(const learning *l, pw_layout *layout)
{
    pw_cache *cache = l->engine->cache;
    bool wanted = l->engine->mode != PW_JIT_OFF && !layout->contiguous && layout->size > 0;

    if (wanted)
        layout->kernel = pw_cache_find(cache, l->draft.shape.hash);
    layout->shape = layout->kernel ? pw_shape_ref(pw_kernel_shape(layout->kernel)) : pw_shape_copy(&l->draft.shape);
    if (!layout->shape)
        return PW_ERR_NOMEM;
    if (wanted && !layout->kernel)
        layout->kernel = pw_cache_kernel(cache, layout->shape);
    if (layout->kernel)
        pw_layout_heat_begin(l->engine, layout->kernel);
    return PW_OK;
}

static pw_status fill(const learning *l, pw_layout_entry *entry)
{
    pw_layout *layout = &entry->layout;
    pw_status status;

    layout->engine = l->engine;
    layout->refs = 1;
    layout->hash = l->hash;
    layout->blocks = l->blocks;
    layout->nest = pw_nest_copy(l->nest, entry->arena);
    if (!layout->nest || (l->told && !(layout->type = copy_type(&l->canonical, entry->arena))))
        return PW_ERR_NOMEM;
    layout->size = layout->nest->size;
    layout->extent = layout->nest->extent;
    layout->contiguous = pw_nest_is_contiguous(layout->nest);
    status = pw_shape_draft_bind(&l->draft, layout->nest, entry->arena, &layout->args);
    if (!status)
        status = find_kernel(l, layout);
    entry->footprint = (int64_t)pw_arena_used(entry->arena);
    return status;
}

/* NULL: out of memory. */
static pw_layout_entry *new_entry(const learning *l)
{
    enum { ROUNDING = 64 };
    size_t args = (size_t)(l->draft.shape.nparams + l->draft.shape.ntables) * sizeof(int64_t);
    pw_arena *arena = pw_arena_create_for(sizeof(pw_layout_entry) + pw_nest_bytes(l->nest) + args + ROUNDING);
    pw_layout_entry *entry = arena ? pw_arena_alloc(arena, sizeof *entry) : NULL;

    if (!entry) {
        pw_arena_destroy(arena);
        return NULL;
    }
    entry->arena = arena;
    if (fill(l, entry) == PW_OK)
        return entry;
    pw_layout_entry_free(entry);
    return NULL;
}

/* ---- the table, all with the engine's mutex held ------------------------------------------------ */

static void unpark(pw_layout_engine *engine, pw_layout_entry *e)
{
    *(e->parked_prev ? &e->parked_prev->parked_next : &engine->parked_first) = e->parked_next;
    *(e->parked_next ? &e->parked_next->parked_prev : &engine->parked_last) = e->parked_prev;
    e->parked_prev = e->parked_next = NULL;
    engine->parked--;
    engine->parked_bytes -= e->footprint;
}

/* Only this takes a reference from zero to one. */
static pw_layout *take(pw_layout_engine *engine, pw_layout_entry *entry)
{
    if (!atomic_fetch_add_explicit(&entry->layout.refs, 1, memory_order_relaxed))
        unpark(engine, entry);
    return &entry->layout;
}

/* Lets `raw` be found directly from now on, if there is room and memory for that. */
static void add_alias(pw_layout_engine *engine, pw_layout_entry *entry, pw_hash raw)
{
    pw_hash *aliases;

    if (entry->naliases == PW_LAYOUT_ALIASES || pw_hash_map_get(&engine->known, raw))
        return;
    aliases = realloc(entry->aliases, (size_t)(entry->naliases + 1) * sizeof *aliases);
    if (!aliases)
        return;
    entry->aliases = aliases;
    if (!pw_hash_map_put(&engine->known, raw, entry))
        aliases[entry->naliases++] = raw;
}

static bool insert(pw_layout_engine *engine, pw_layout_entry *entry, pw_hash raw)
{
    if (pw_hash_map_put(&engine->known, entry->layout.hash, entry))
        return false;
    add_alias(engine, entry, raw);
    entry->prev = engine->last;
    *(engine->last ? &engine->last->next : &engine->first) = entry;
    engine->last = entry;
    return true;
}

static void drop(pw_layout_engine *engine, pw_layout_entry *e)
{
    unpark(engine, e);
    for (int i = 0; i < e->naliases; i++)
        pw_hash_map_remove(&engine->known, e->aliases[i]);
    pw_hash_map_remove(&engine->known, e->layout.hash);
    *(e->prev ? &e->prev->next : &engine->first) = e->next;
    *(e->next ? &e->next->prev : &engine->last) = e->prev;
    pw_layout_entry_free(e);
}

static void park(pw_layout_engine *engine, pw_layout_entry *e)
{
    e->parked_prev = engine->parked_last;
    *(engine->parked_last ? &engine->parked_last->parked_next : &engine->parked_first) = e;
    engine->parked_last = e;
    engine->parked++;
    engine->parked_bytes += e->footprint;
    while (engine->parked > PW_LAYOUT_PARKED || engine->parked_bytes > PW_LAYOUT_PARKED_BYTES)
        drop(engine, engine->parked_first);
}

/* ---- references --------------------------------------------------------------------------------- */

/* By the hash of any of its forms; `raw` is the one at hand. */
static pw_layout *find(pw_layout_engine *engine, pw_hash hash, pw_hash raw)
{
    pw_layout_entry *entry;
    pw_layout *layout = NULL;

    pthread_mutex_lock(&engine->lock);
    entry = pw_hash_map_get(&engine->known, hash);
    if (entry) {
        add_alias(engine, entry, raw);
        layout = take(engine, entry);
    }
    pthread_mutex_unlock(&engine->lock);
    return layout;
}

/* Puts a complete entry into the table; if another thread made the same one meanwhile, takes that. */
static pw_status adopt(pw_layout_engine *engine, pw_layout_entry *entry, pw_hash raw, pw_layout **out)
{
    pw_layout_entry *earlier;
    bool inserted = false;

    pthread_mutex_lock(&engine->lock);
    earlier = pw_hash_map_get(&engine->known, entry->layout.hash);
    if (earlier)
        *out = take(engine, earlier);
    else if ((inserted = insert(engine, entry, raw)))
        *out = &entry->layout;
    pthread_mutex_unlock(&engine->lock);
    if (!inserted)
        pw_layout_entry_free(entry);
    return earlier || inserted ? PW_OK : PW_ERR_NOMEM;
}

/* An equal type may be known by another form. */
static pw_status find_or_make(learning *l, pw_hash raw_hash, pw_layout **out, pw_diag *diag)
{
    pw_status status = learn_canonical(l, diag);
    pw_layout_entry *entry;

    if (status)
        return status;
    *out = find(l->engine, l->hash, raw_hash);
    if (*out)
        return PW_OK;
    status = learn_nest(l, diag);
    if (status)
        return status;
    entry = new_entry(l);
    if (!entry)
        return PW_ERR_NOMEM;
    pw_layout_dump(&entry->layout, l->raw, &l->canonical);
    return adopt(l->engine, entry, raw_hash, out);
}

static pw_status make(pw_layout_engine *engine, const pw_type *raw, pw_hash raw_hash, pw_layout **out, pw_diag *diag)
{
    learning l = {.engine = engine, .raw = raw, .told = engine->counted || pw_layout_dump_is_on()};
    pw_status status = find_or_make(&l, raw_hash, out, diag);

    learning_end(&l);
    return status;
}

static bool is_refused(pw_layout_engine *engine, pw_hash raw)
{
    bool refused;

    pthread_mutex_lock(&engine->lock);
    refused = pw_hash_map_get(&engine->refused, raw) != NULL;
    pthread_mutex_unlock(&engine->lock);
    return refused;
}

/* Only saves time: what does not fit is found out again. */
static void remember_refused(pw_layout_engine *engine, pw_hash raw)
{
    pthread_mutex_lock(&engine->lock);
    if (engine->refused.used >= PW_LAYOUT_REFUSED)
        pw_hash_map_clear(&engine->refused);
    if (pw_hash_map_put(&engine->refused, raw, engine))
        pw_hash_map_clear(&engine->refused);
    pthread_mutex_unlock(&engine->lock);
}

static pw_status make_supported(pw_layout_engine *engine, const pw_type *raw, pw_hash hash, pw_layout **out,
                                pw_diag *diag)
{
    pw_status status;

    if (is_refused(engine, hash))
        return pw_diag_set(diag, PW_ERR_UNSUPPORTED, "a type like this one was found to be unsupported before");
    status = make(engine, raw, hash, out, diag);
    if (status == PW_ERR_UNSUPPORTED)
        remember_refused(engine, hash);
    return status == PW_ERR_NOMEM ? pw_diag_set(diag, status, "out of memory") : status;
}

pw_status pw_layout_get(pw_layout_engine *engine, const pw_type *raw, pw_layout **out, pw_diag *diag)
{
    pw_hash raw_hash = pw_type_hash(raw);
    pw_layout *layout = find(engine, raw_hash, raw_hash);

    if (!layout) {
        pw_status status = make_supported(engine, raw, raw_hash, &layout, diag);

        if (status)
            return status;
    }
    if (engine->mode == PW_JIT_SYNC && layout->kernel)
        pw_cache_get(engine->cache, layout->kernel, PW_WANT_COMPILE);
    *out = layout;
    return PW_OK;
}

pw_layout *pw_layout_ref(pw_layout *layout)
{
    atomic_fetch_add_explicit(&layout->refs, 1, memory_order_relaxed);
    return layout;
}

void pw_layout_unref(pw_layout *layout)
{
    pw_layout_engine *engine;
    int64_t refs;

    if (!layout)
        return;
    refs = atomic_load_explicit(&layout->refs, memory_order_relaxed);
    while (refs > 1)
        if (atomic_compare_exchange_weak_explicit(&layout->refs, &refs, refs - 1, memory_order_release,
                                                  memory_order_relaxed))
            return;
    engine = layout->engine;
    pthread_mutex_lock(&engine->lock);
    if (atomic_fetch_sub_explicit(&layout->refs, 1, memory_order_acq_rel) == 1)
        park(engine, pw_layout_entry_of(layout));
    pthread_mutex_unlock(&engine->lock);
}
