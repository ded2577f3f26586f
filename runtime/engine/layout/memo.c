/*
 * The table of layouts: finding one, making it where there is none (compile.c), references, and what is kept without.
 * Data: the engine's table, under its mutex. Invariant: a layout is parked exactly as long as it has no references, and
 * only a parked one is freed.
 */
#include "runtime/engine/layout/internal.h"

#include <stdlib.h>

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

/* ---- the table, all with the engine's mutex held ------------------------------------------------ */

static void unpark(pw_layout_engine *engine, pw_layout_entry *e)
{
    *(e->parked_prev ? &e->parked_prev->parked_next : &engine->parked_first) = e->parked_next;
    *(e->parked_next ? &e->parked_next->parked_prev : &engine->parked_last) = e->parked_prev;
    e->parked_prev = e->parked_next = NULL;
    engine->parked--;
    engine->parked_bytes -= e->footprint;
}

/* Takes a reference. Only this function takes references from zero to one. */
static pw_layout *take(pw_layout_engine *engine, pw_layout_entry *entry)
{
    if (!atomic_fetch_add_explicit(&entry->layout.refs, 1, memory_order_relaxed))
        unpark(engine, entry);
    return &entry->layout;
}

/* Lets `raw` find the entry directly from now on, if there is room and memory for one more hash. */
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
    return true;
}

static void drop(pw_layout_engine *engine, pw_layout_entry *e)
{
    unpark(engine, e);
    for (int i = 0; i < e->naliases; i++)
        pw_hash_map_remove(&engine->known, e->aliases[i]);
    pw_hash_map_remove(&engine->known, e->layout.hash);
    pw_layout_entry_free(e);
}

void pw_layout_trim(pw_layout_engine *engine, int64_t most, int64_t most_bytes)
{
    while (engine->parked > most || engine->parked_bytes > most_bytes)
        drop(engine, engine->parked_first);
}

static void park(pw_layout_engine *engine, pw_layout_entry *e)
{
    e->parked_prev = engine->parked_last;
    *(engine->parked_last ? &engine->parked_last->parked_next : &engine->parked_first) = e;
    engine->parked_last = e;
    engine->parked++;
    engine->parked_bytes += e->footprint;
    pw_layout_trim(engine, PW_LAYOUT_PARKED, PW_LAYOUT_PARKED_BYTES);
}

/* ---- references --------------------------------------------------------------------------------- */

pw_layout *pw_layout_find(pw_layout_engine *engine, pw_hash hash, pw_hash raw)
{
    PW_HOLD(&engine->lock);
    pw_layout_entry *entry = pw_hash_map_get(&engine->known, hash);

    if (!entry)
        return NULL;
    add_alias(engine, entry, raw);
    return take(engine, entry);
}

/* A joined layout is no type's, whoever asks for its hash. */
pw_layout *pw_layout_known(pw_layout_engine *engine, pw_hash hash)
{
    pw_layout *layout = pw_layout_find(engine, hash, hash);

    if (!layout || !layout->nest->joined)
        return layout;
    pw_layout_unref(layout);
    return NULL;
}

pw_status pw_layout_adopt(pw_layout_engine *engine, pw_layout_entry *entry, pw_hash raw, pw_layout **out)
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

/* The place of a type that is remembered as unsupported; one that falls on another's takes it. */
static pw_hash *refusal_of(pw_layout_engine *engine, pw_hash raw)
{
    return &engine->refused[raw.lo % PW_LAYOUT_REFUSED];
}

static bool is_refused(pw_layout_engine *engine, pw_hash raw)
{
    PW_HOLD(&engine->lock);

    return pw_hash_equal(*refusal_of(engine, raw), raw);
}

/* This only saves time: a type that is not remembered is compiled again in vain. */
static void refuse(pw_layout_engine *engine, pw_hash raw)
{
    pthread_mutex_lock(&engine->lock);
    *refusal_of(engine, raw) = raw;
    pthread_mutex_unlock(&engine->lock);
}

pw_status pw_layout_find_or_make(pw_layout_engine *engine, pw_hash hash, pw_layout_maker *make, const void *of,
                                 pw_layout **out, pw_diag *diag)
{
    pw_layout *layout = pw_layout_find(engine, hash, hash);

    if (!layout) {
        pw_status status;

        if (is_refused(engine, hash))
            return pw_diag_set(diag, PW_ERR_UNSUPPORTED, "a type like this one was found to be unsupported before");
        status = make(engine, of, hash, &layout, diag);
        if (status == PW_ERR_UNSUPPORTED)
            refuse(engine, hash);
        if (status)
            return status == PW_ERR_NOMEM ? pw_diag_status(diag, status) : status;
    }
    if (engine->mode == PW_JIT_SYNC)
        pw_layout_make_kernel(layout);
    *out = layout;
    return PW_OK;
}

pw_status pw_layout_get(pw_layout_engine *engine, const pw_type *raw, pw_layout **out, pw_diag *diag)
{
    return pw_layout_find_or_make(engine, pw_type_hash(raw), pw_layout_compile, raw, out, diag);
}

/* Has the system enter the page of a function, which the first call would wait for. NULL is allowed. */
static void touch(pw_kernel_fn *fn)
{
    if (fn)
        (void)*(const volatile char *)(uintptr_t)fn;
}

void pw_layout_make_kernel(pw_layout *layout)
{
    if (!layout->kernel)
        return;
    pw_cache_get(layout->engine->cache, layout->kernel, PW_WANT_COMPILE);
    touch(atomic_load_explicit(&layout->kernel->pack, memory_order_acquire));
    touch(atomic_load_explicit(&layout->kernel->unpack, memory_order_acquire));
}

pw_layout *pw_layout_ref(pw_layout *layout)
{
    atomic_fetch_add_explicit(&layout->refs, 1, memory_order_relaxed);
    return layout;
}

void pw_layout_unref(pw_layout *layout)
{
    pw_layout_engine *engine;
    int32_t refs;

    if (!layout)
        return;
    refs = atomic_load_explicit(&layout->refs, memory_order_relaxed);
    while (refs > 1)
        if (atomic_compare_exchange_weak_explicit(&layout->refs, &refs, refs - 1, memory_order_release,
                                                  memory_order_relaxed))
            return;
    engine = layout->engine;
    PW_HOLD(&engine->lock);
    if (atomic_fetch_sub_explicit(&layout->refs, 1, memory_order_acq_rel) == 1)
        park(engine, (pw_layout_entry *)layout);
}
