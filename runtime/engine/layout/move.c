/*
 * Moves objects by their kernel or by tier 0, whichever is there at the call. Data: none but the counts of statistics.
 * Invariant: both move the same bytes in the same order, so a kernel may appear between two calls.
 */
#include "runtime/engine/layout/at_once.h"
#include "runtime/engine/layout/internal.h"

typedef struct move {
    pw_layout *layout;
    bool unpack;
    char *mem; /* not written when packing */
    char *packed;
} move;

static void interpret(move m, int64_t count)
{
    if (m.unpack)
        pw_interp_unpack(m.layout->nest, m.mem, count, m.packed);
    else
        pw_interp_pack(m.layout->nest, m.mem, count, m.packed);
}

static bool move_in_turn(move m, int64_t count);

/* Moves whole objects, count > 0 and size > 0. Returns whether a kernel did. */
static bool move_objects(move m, int64_t count)
{
    pw_layout *l = m.layout;
    pw_direction direction = m.unpack ? PW_UNPACK : PW_PACK;

    if (l->contiguous) {
        pw_direction_copy(direction, m.mem + l->lo, m.packed, count * l->size);
        return false;
    }
    if (count > l->apart && m.unpack)
        return move_in_turn(m, count);
    if (l->kernel && pw_layout_call_kernel(l, direction, m.mem, count, m.packed))
        return true;
    if (l->kernel)
        pw_layout_warm(l, count * l->size);
    interpret(m, count);
    return false;
}

void pw_layout_note(pw_layout *l, bool unpack, int64_t first, int64_t last, bool tier1, int64_t ns)
{
    pw_layout_stats *s = &l->stats;

    if (!l->engine->counted)
        return;
    atomic_fetch_add_explicit(unpack ? &s->unpacks : &s->packs, first == 0, memory_order_relaxed);
    atomic_fetch_add_explicit(&s->bytes, last - first, memory_order_relaxed);
    atomic_fetch_add_explicit(&s->tier1_calls, tier1 && first == 0, memory_order_relaxed);
    if (l->engine->timed)
        atomic_fetch_add_explicit(&s->nanoseconds, ns, memory_order_relaxed);
}

static __attribute__((noinline)) void move_and_note(move m, int64_t count)
{
    int64_t begun = pw_layout_clock(m.layout->engine);
    bool tier1 = move_objects(m, count);

    pw_layout_note(m.layout, m.unpack, 0, count * m.layout->size, tier1, pw_layout_clock(m.layout->engine) - begun);
}

/* Does all of pw_layout_pack and pw_layout_unpack. */
static __attribute__((noinline)) void move_slowly(pw_layout *layout, bool unpack, char *mem, int64_t count,
                                                  char *packed)
{
    move m = {layout, unpack, mem, packed};

    if (count <= 0 || layout->size == 0)
        return;
    if (layout->engine->counted)
        move_and_note(m, count);
    else
        move_objects(m, count);
}

void pw_layout_pack(pw_layout *layout, const void *mem, int64_t count, void *packed)
{
    if (!pw_layout_move_at_once(layout, PW_PACK, (char *)mem, count, packed))
        move_slowly(layout, false, (char *)mem, count, packed);
}

void pw_layout_unpack(pw_layout *layout, void *mem, int64_t count, const void *packed)
{
    if (!pw_layout_move_at_once(layout, PW_UNPACK, mem, count, (char *)packed))
        move_slowly(layout, true, mem, count, (char *)packed);
}

/* Moves bytes [first, last), not all, of the object at m->mem; `first` lies at m->packed. True: a kernel did it. */
static bool move_cut_object(const move *m, int64_t first, int64_t last)
{
    pw_layout *l = m->layout;
    pw_kernel *k = l->parts ? l->kernel : NULL;
    pw_kernel_fn *fn = k ? atomic_load_explicit(m->unpack ? &k->unpack : &k->pack, memory_order_acquire) : NULL;

    if (k && !fn)
        pw_layout_warm(l, last - first);
    pw_part_move(l, fn, m->unpack ? PW_UNPACK : PW_PACK, m->mem, m->packed, first, last);
    return fn;
}

/* Steps over `n` objects and `bytes` packed bytes. This is not pointer arithmetic, since objects at absolute addresses
 * are counted from NULL. */
static void advance(move *m, int64_t n, int64_t bytes)
{
    m->mem = (char *)((uintptr_t)m->mem + (uintptr_t)n * (uintptr_t)m->layout->extent);
    m->packed += bytes;
}

/* Moves objects that write on each other, so that the last one wins (apart.c). */
static bool move_in_turn(move m, int64_t count)
{
    bool tier1 = false;

    while (count > 0) {
        int64_t n = pw_layout_least(count, m.layout->apart);

        tier1 |= move_objects(m, n);
        advance(&m, n, n * m.layout->size);
        count -= n;
    }
    return tier1;
}

/* Moves `bytes` bytes from byte `first` of the object at m->mem on. Returns whether a kernel did. */
static bool move_from(move *m, int64_t first, int64_t bytes)
{
    int64_t size = m->layout->size, objects;
    bool tier1 = false;

    if (first > 0 || bytes < size) {
        int64_t last = pw_layout_least(size, first + bytes);

        tier1 = move_cut_object(m, first, last);
        advance(m, 1, last - first);
        bytes -= last - first;
    }
    if (bytes >= size) {
        objects = bytes / size;
        tier1 |= move_objects(*m, objects);
        advance(m, objects, objects * size);
        bytes -= objects * size;
    }
    if (bytes > 0)
        tier1 |= move_cut_object(m, 0, bytes);
    return tier1;
}

/* Moves bytes [first, last); m.packed points to byte `first`. */
static void move_part(move m, int64_t first, int64_t last)
{
    pw_layout *l = m.layout;
    int64_t begun, objects;
    bool tier1;

    if (first >= last || l->size == 0)
        return;
    begun = pw_layout_clock(l->engine);
    objects = first < l->size ? 0 : first / l->size;
    advance(&m, objects, 0);
    tier1 = move_from(&m, first - objects * l->size, last - first);
    pw_layout_note(l, m.unpack, first, last, tier1, pw_layout_clock(l->engine) - begun);
}

void pw_layout_pack_part(pw_layout *layout, const void *mem, int64_t first, int64_t last, void *packed)
{
    move_part((move){layout, false, (char *)mem, packed}, first, last);
}

void pw_layout_unpack_part(pw_layout *layout, void *mem, int64_t first, int64_t last, const void *packed)
{
    move_part((move){layout, true, mem, (char *)packed}, first, last);
}
