/*
 * Joined layouts, in the same table as the layouts of types. Layouts keep no tree, so the join takes those that are
 * raised from the nests.
 */
#include "passes/passes.h"
#include "runtime/engine/layout/internal.h"

/* Sets joined layouts apart from those of types. */
static const pw_hash joined_salt = {.lo = 0x6a6f696e65640000u, .hi = 0x6c61796f75740000u};

/* A pw_layout_maker: joins two layouts. */
static pw_status make(pw_layout_engine *engine, const void *of, pw_hash hash, pw_layout **out, pw_diag *diag)
{
    const pw_layout *const *pair = of;
    pw_arena *arena = pw_arena_create();
    pw_nest *nest = NULL;
    pw_type types[2];
    pw_status status = arena ? pw_layout_raise(pair[0], arena, &types[0]) : PW_ERR_NOMEM;

    if (!status)
        status = pw_layout_raise(pair[1], arena, &types[1]);
    if (!status)
        status = pw_lower_join(&types[0], &types[1], &nest, NULL, diag);
    pw_arena_destroy(arena);
    if (!status)
        status = pw_layout_of_nest(engine, nest, hash, out);
    pw_nest_destroy(nest);
    return status;
}

pw_status pw_layout_join(pw_layout *from, pw_layout *to, pw_joined *out, pw_diag *diag)
{
    bool backwards = pw_hash_compare(to->hash, from->hash) < 0;
    const pw_layout *const pair[] = {backwards ? to : from, backwards ? from : to};
    pw_hash hash = pw_hash_mix(pw_hash_mix(joined_salt, pair[0]->hash), pair[1]->hash);

    *out = (pw_joined){.backwards = backwards, .from = from, .to = to};
    return pw_layout_find_or_make(from->engine, hash, make, pair, &out->layout, diag);
}

static void copy(const pw_joined *joined, const void *from, void *to, int64_t bytes)
{
    int64_t objects = bytes / joined->layout->size;

    if (joined->backwards)
        pw_layout_unpack(joined->layout, to, objects, from);
    else
        pw_layout_pack(joined->layout, from, objects, to);
}

bool pw_joined_is_ready(const pw_joined *joined, int64_t bytes)
{
    pw_layout *l = joined->layout;
    pw_kernel *k = l->kernel;

    if (l->contiguous || (k && atomic_load_explicit(joined->backwards ? &k->unpack : &k->pack, memory_order_acquire)))
        return true;
    if (k)
        pw_layout_warm(l, bytes);
    return false;
}

/* To each of the two layouts a copy is a move that takes half of its time. */
void pw_layout_copy(const pw_joined *joined, const void *from, void *to, int64_t bytes)
{
    const pw_layout_engine *engine = joined->layout->engine;
    const pw_kernel *k = joined->layout->kernel;
    bool tier1 = engine->counted && k && atomic_load_explicit(&k->pack, memory_order_acquire);
    int64_t ns = pw_layout_clock(engine);

    copy(joined, from, to, bytes);
    if (!engine->counted)
        return;
    ns = (pw_layout_clock(engine) - ns) / 2;
    pw_layout_note(joined->from, false, 0, bytes, tier1, ns);
    pw_layout_note(joined->to, true, 0, bytes, tier1, ns);
}

/* ---- bounds ------------------------------------------------------------------------------------------- */

bool pw_layout_bounds(const pw_layout *layout, int64_t count, int64_t *lo, int64_t *bytes)
{
    int64_t last, hi;

    return !__builtin_mul_overflow(count - 1, layout->extent, &last) &&
           !__builtin_add_overflow(layout->nest->lo, last < 0 ? last : 0, lo) &&
           !__builtin_add_overflow(layout->nest->hi, last > 0 ? last : 0, &hi) &&
           !__builtin_sub_overflow(hi, *lo, bytes);
}
