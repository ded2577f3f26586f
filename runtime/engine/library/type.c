/*
 * The library's types: a tree of the IR, parts of which types share, and what is made of it when first asked for: the
 * canonical form and the layout. A type is read only but for these two, which are set once; it lives as long as a
 * program or another type refers to it.
 */
#include "runtime/engine/library/internal.h"

#include "jit-cache/exit_guard.h"
#include "passes/passes.h"

#include <errno.h>

/* ---- references ---------------------------------------------------------------------------------------- */

packwright_type *pw_library_type_create(size_t bytes)
{
    pw_arena *arena = pw_arena_create_for(sizeof(packwright_type) + bytes);
    packwright_type *type = arena ? pw_arena_alloc(arena, sizeof *type) : NULL;

    pw_exit_guard_thread(); /* the main thread may have begun to use the library after another thread loaded it */
    if (!type) {
        pw_arena_destroy(arena);
        return NULL;
    }
    type->arena = arena;
    type->refs = 1;
    return type;
}

packwright_type *packwright_dup(const packwright_type *type)
{
    packwright_type *same = (packwright_type *)type;

    if (!same) {
        pw_library_fail(PACKWRIGHT_ERR_INVALID, "type is NULL");
        return NULL;
    }
    atomic_fetch_add_explicit(&same->refs, 1, memory_order_relaxed);
    return same;
}

/* Recurses no deeper than trees may be: a type that holds others has a node above theirs, or is an alias. */
void packwright_type_free(packwright_type *type)
{
    pw_library_copied *copied;
    pw_canonical *canonical;

    if (!type || atomic_fetch_sub_explicit(&type->refs, 1, memory_order_acq_rel) > 1)
        return;
    copied = atomic_load(&type->copied);
    if (copied)
        pw_library_copied_free(copied);
    pw_layout_unref(atomic_load(&type->layout));
    canonical = atomic_load(&type->canonical);
    if (canonical)
        pw_arena_destroy(canonical->arena);
    for (int64_t i = 0; i < type->nolds; i++)
        packwright_type_free(type->olds[i]);
    pw_arena_destroy(type->arena);
}

/* ---- canonical form ------------------------------------------------------------------------------------ */

static pw_canonical *canonicalise(const packwright_type *type, pw_status *status)
{
    pw_arena *arena = pw_arena_create_for(1024);
    pw_canonical *c = arena ? pw_arena_alloc(arena, sizeof *c) : NULL;
    pw_type raw = pw_dt_finish(type->dt);
    pw_diag diag;

    *status = c ? pw_canonicalise(&raw, arena, &c->type, NULL, &diag) : PW_ERR_NOMEM;
    if (*status) {
        pw_arena_destroy(arena);
        return NULL;
    }
    c->arena = arena;
    c->hash = pw_type_hash(&c->type);
    return c;
}

const pw_canonical *pw_library_canonical(const packwright_type *type, pw_status *status)
{
    packwright_type *lazy = (packwright_type *)type;
    pw_canonical *c = atomic_load_explicit(&lazy->canonical, memory_order_acquire), *other = NULL;
    pw_status made = PW_OK;
    int saved = errno;

    if (!c) {
        c = canonicalise(type, &made);
        if (c && !atomic_compare_exchange_strong(&lazy->canonical, &other, c)) {
            pw_arena_destroy(c->arena);
            c = other;
        }
    }
    errno = saved;
    if (status)
        *status = made;
    return c;
}

const pw_node *pw_library_tree(const packwright_type *type)
{
    const pw_canonical *c = pw_library_canonical(type, NULL);

    return c ? c->type.root : type->dt.node;
}

/* ---- layout -------------------------------------------------------------------------------------------- */

static pw_status make_layout(const packwright_type *type, pw_layout **out, pw_diag *diag)
{
    pw_layout_engine *engine = pw_library_engine();
    pw_type raw = pw_dt_finish(type->dt);

    return engine ? pw_layout_get(engine, &raw, out, diag) : PW_ERR_NOMEM;
}

packwright_status pw_library_layout(const packwright_type *type, pw_layout **out)
{
    packwright_type *lazy = (packwright_type *)type;
    pw_layout *layout = atomic_load_explicit(&lazy->layout, memory_order_acquire), *other = NULL;
    pw_status status = PW_OK;
    int saved = errno;
    pw_diag diag = {.status = PW_OK};

    if (!layout && !atomic_load_explicit(&lazy->irregular, memory_order_relaxed)) {
        status = make_layout(type, &layout, &diag);
        if (layout && !atomic_compare_exchange_strong(&lazy->layout, &other, layout)) {
            pw_layout_unref(layout);
            layout = other;
        }
        if (status == PW_ERR_UNSUPPORTED)
            atomic_store_explicit(&lazy->irregular, true, memory_order_relaxed);
    }
    errno = saved;
    if (status && status != PW_ERR_UNSUPPORTED)
        return pw_library_fail_below(status, NULL, &diag);
    *out = layout;
    return PACKWRIGHT_OK;
}

/* ---- facts --------------------------------------------------------------------------------------------- */

int64_t packwright_size(const packwright_type *type)
{
    return type->dt.node->size;
}

void packwright_extent(const packwright_type *type, int64_t *lb, int64_t *extent)
{
    if (lb)
        *lb = type->dt.lb;
    if (extent)
        *extent = pw_dt_extent(&type->dt);
}

void packwright_true_extent(const packwright_type *type, int64_t *true_lb, int64_t *true_extent)
{
    if (true_lb)
        *true_lb = type->dt.node->lo;
    if (true_extent)
        *true_extent = type->dt.node->hi - type->dt.node->lo;
}

int64_t packwright_blocks(const packwright_type *type)
{
    return pw_library_tree(type)->blocks;
}

packwright_status packwright_hash(const packwright_type *type, uint64_t hash[2])
{
    const pw_canonical *c;
    pw_status status;

    if (!type || !hash)
        return pw_library_fail(PACKWRIGHT_ERR_INVALID, type ? "hash is NULL" : "type is NULL");
    c = pw_library_canonical(type, &status);
    if (!c)
        return pw_library_fail_below(status, "the canonical form", NULL);
    hash[0] = c->hash.lo;
    hash[1] = c->hash.hi;
    return PACKWRIGHT_OK;
}

packwright_status packwright_type_statistics(const packwright_type *type, packwright_statistics *out)
{
    packwright_statistics all = {.size = sizeof all};
    pw_layout *layout;
    size_t n;

    if (!type || !out || out->size < sizeof out->size)
        return pw_library_fail(PACKWRIGHT_ERR_INVALID, !type  ? "type is NULL"
                                                       : !out ? "out is NULL"
                                                              : "out.size is not set");
    layout = atomic_load_explicit(&((packwright_type *)type)->layout, memory_order_acquire);
    if (layout) {
        all.packs = atomic_load_explicit(&layout->stats.packs, memory_order_relaxed);
        all.unpacks = atomic_load_explicit(&layout->stats.unpacks, memory_order_relaxed);
        all.bytes = atomic_load_explicit(&layout->stats.bytes, memory_order_relaxed);
        all.kernel_calls = atomic_load_explicit(&layout->stats.tier1_calls, memory_order_relaxed);
    }
    n = out->size < sizeof all ? out->size : sizeof all;
    all.size = out->size;
    __builtin_memset((char *)out, 0, out->size);
    __builtin_memcpy(out, &all, n);
    return PACKWRIGHT_OK;
}
