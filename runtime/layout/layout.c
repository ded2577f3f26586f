#include "runtime/layout/internal.h"

#include "passes/passes.h"
#include "runtime/layout/dump.h"

#include <stdlib.h>

/* ---- making one -------------------------------------------------------------------------------- */

void pw_layout_entry_free(pw_layout_entry *entry)
{
    pw_layout_gpu *gpu = atomic_load(&entry->layout.gpu);

    if (gpu)
        gpu->free(gpu);
    pw_cache_release(entry->layout.engine->cache, entry->layout.kernel);
    pw_shape_unref(entry->layout.shape);
    pw_nest_destroy(entry->nest);
    pw_arena_destroy(entry->layout.arena);
    free(entry);
}

/* The canonical type, copied out of the passes' arena so that what they left behind does not live as long. */
static pw_status canonical_copy(const pw_type *raw, pw_arena *arena, pw_type *out, pw_diag *diag)
{
    pw_arena *scratch = pw_arena_create();
    pw_builder b = {.arena = arena};
    pw_type canonical;
    pw_status status;

    if (!scratch)
        return PW_ERR_NOMEM;
    status = pw_canonicalise(raw, scratch, &canonical, NULL, diag);
    if (!status) {
        *out = canonical;
        out->root = pw_build_copy(&b, canonical.root);
        status = b.status;
    }
    pw_arena_destroy(scratch);
    return status;
}

/* Nest, shape and arguments. Contiguous layouts and empty ones need no kernel, so none is looked for. */
static pw_status fill(pw_layout_engine *engine, pw_layout_entry *entry, pw_diag *diag)
{
    pw_layout *l = &entry->layout;
    pw_status status = pw_lower(&l->type, &entry->nest, NULL, diag);

    if (status)
        return status;
    l->nest = entry->nest;
    l->size = l->nest->size;
    l->extent = l->nest->extent;
    l->contiguous = pw_nest_is_contiguous(l->nest);
    status = pw_shape_create(l->nest, &l->shape);
    if (!status)
        status = pw_shape_bind(l->shape, l->nest, l->arena, &l->args);
    if (status)
        return pw_diag_set(diag, status, "no kernel arguments: %s", pw_status_text(status));
    if (engine->mode != PW_JIT_OFF && !l->contiguous && l->size > 0)
        l->kernel = pw_cache_kernel(engine->cache, l->shape);
    if (l->kernel)
        pw_layout_heat_begin(engine, l->kernel);
    entry->footprint = (int64_t)(pw_arena_used(l->arena) + pw_arena_used(entry->nest->arena) + sizeof *entry);
    return PW_OK;
}

static pw_layout_entry *new_entry(pw_layout_engine *engine, pw_hash raw_hash)
{
    pw_layout_entry *entry = calloc(1, sizeof *entry);

    if (!entry)
        return NULL;
    entry->layout.engine = engine;
    entry->layout.raw_hash = raw_hash;
    entry->layout.refs = 1;
    entry->layout.arena = pw_arena_create();
    if (entry->layout.arena)
        return entry;
    free(entry);
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
    if (entry->naliases < PW_LAYOUT_ALIASES && !pw_hash_map_get(&engine->by_raw, raw) &&
        !pw_hash_map_put(&engine->by_raw, raw, entry))
        entry->aliases[entry->naliases++] = raw;
}

static bool insert(pw_layout_engine *engine, pw_layout_entry *entry)
{
    if (pw_hash_map_put(&engine->by_canonical, entry->layout.hash, entry))
        return false;
    add_alias(engine, entry, entry->layout.raw_hash);
    entry->prev = engine->last;
    *(engine->last ? &engine->last->next : &engine->first) = entry;
    engine->last = entry;
    return true;
}

static void drop(pw_layout_engine *engine, pw_layout_entry *e)
{
    unpark(engine, e);
    for (int i = 0; i < e->naliases; i++)
        pw_hash_map_remove(&engine->by_raw, e->aliases[i]);
    pw_hash_map_remove(&engine->by_canonical, e->layout.hash);
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

static pw_layout *find(pw_layout_engine *engine, const pw_hash_map *map, pw_hash hash, pw_hash raw)
{
    pw_layout_entry *entry;
    pw_layout *layout = NULL;

    pthread_mutex_lock(&engine->lock);
    entry = pw_hash_map_get(map, hash);
    if (entry) {
        add_alias(engine, entry, raw);
        layout = take(engine, entry);
    }
    pthread_mutex_unlock(&engine->lock);
    return layout;
}

/* Puts a complete entry into the table; if another thread made the same one meanwhile, takes that. */
static pw_status adopt(pw_layout_engine *engine, pw_layout_entry *entry, pw_layout **out)
{
    pw_layout_entry *earlier;
    bool inserted = false;

    pthread_mutex_lock(&engine->lock);
    earlier = pw_hash_map_get(&engine->by_canonical, entry->layout.hash);
    if (earlier)
        *out = take(engine, earlier);
    else if ((inserted = insert(engine, entry)))
        *out = &entry->layout;
    pthread_mutex_unlock(&engine->lock);
    if (!inserted)
        pw_layout_entry_free(entry);
    return earlier || inserted ? PW_OK : PW_ERR_NOMEM;
}

static pw_status make(pw_layout_engine *engine, const pw_type *raw, pw_hash raw_hash, pw_layout **out, pw_diag *diag)
{
    pw_layout_entry *entry = new_entry(engine, raw_hash);
    pw_layout *known;
    pw_status status;

    if (!entry)
        return PW_ERR_NOMEM;
    status = canonical_copy(raw, entry->layout.arena, &entry->layout.type, diag);
    if (!status) {
        entry->layout.hash = pw_type_hash(&entry->layout.type);
        known = find(engine, &engine->by_canonical, entry->layout.hash, raw_hash);
        if (known) {
            pw_layout_entry_free(entry);
            *out = known;
            return PW_OK;
        }
        status = fill(engine, entry, diag);
    }
    if (!status)
        pw_layout_dump(&entry->layout, raw);
    if (!status)
        return adopt(engine, entry, out);
    pw_layout_entry_free(entry);
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
    pw_layout *layout = find(engine, &engine->by_raw, raw_hash, raw_hash);

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
