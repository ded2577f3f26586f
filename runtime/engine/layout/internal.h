/*
 * Inside the layout engine: config.c (the engine and its configuration), memo.c (the table of layouts, references),
 * compile.c (from a type to a layout), join.c (from two layouts to a joined one), heat.c (when a kernel is asked for),
 * move.c (pack and unpack), part.c (parts of an object by its kernel).
 */
#ifndef PW_RUNTIME_LAYOUT_INTERNAL_H
#define PW_RUNTIME_LAYOUT_INTERNAL_H

#include "base/clock.h"
#include "base/direction.h"
#include "base/lock.h"
#include "jit-cache/hash_map.h"
#include "runtime/engine/layout/layout.h"

enum {
    PW_LAYOUT_ALIASES =
        8, /* raw hashes that are remembered for a layout; other raw forms are canonicalised each time */
    /* Bounds on layouts that are kept without references: */
    PW_LAYOUT_PARKED = 512,
    PW_LAYOUT_PARKED_BYTES = 32 << 20,
    PW_LAYOUT_REFUSED = 1024,     /* types that are remembered as unsupported */
    PW_LAYOUT_HOT_BYTES = 4 << 20 /* moved before a kernel is compiled, unless the configuration says otherwise */
};

typedef struct pw_layout_entry {
    pw_layout layout; /* first: pw_layout* and pw_layout_entry* convert */
    pw_arena *arena;  /* owns the entry and all of the layout that it does not share */
    int64_t footprint;
    /* The engine's mutex guards the fields below. */
    pw_hash *aliases; /* other hashes by which the layout is found */
    int naliases;
    struct pw_layout_entry *parked_prev, *parked_next; /* unreferenced layouts, first the longest so */
} pw_layout_entry;

struct pw_layout_engine {
    pw_jit_mode mode;
    int64_t hot_bytes; /* after which a kernel is compiled */
    bool counted, timed;
    pw_cache *cache;
    pthread_mutex_t lock;
    pw_hash_map known;                  /* maps the hashes of types, raw and canonical, to pw_layout_entry */
    pw_hash refused[PW_LAYOUT_REFUSED]; /* raw hashes of unsupported types, which would take long to compile again */
    pw_layout_entry *parked_first, *parked_last;
    int64_t parked, parked_bytes;
};

/* ---- compile.c ----------------------------------------------------------------------------------- */

/* A pw_layout_maker: compiles the layout of a pw_type as a frontend made it. */
pw_status pw_layout_compile(pw_layout_engine *engine, const void *raw, pw_hash raw_hash, pw_layout **out,
                            pw_diag *diag);

/* The layout of a nest that was not lowered from a type, under a hash of its own, with a reference for the caller. */
pw_status pw_layout_of_nest(pw_layout_engine *engine, pw_nest *nest, pw_hash hash, pw_layout **out);

static inline int64_t pw_layout_least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* ---- apart.c ------------------------------------------------------------------------------------- */

/* Returns how many objects of a nest can be unpacked at once; when there are more, some certainly write on others. */
int64_t pw_layout_objects_apart(const pw_nest *nest);

/* ---- part.c -------------------------------------------------------------------------------------- */

/* Whether kernels of this shape can move parts of the nest's objects. */
bool pw_part_is_possible(const pw_nest *nest, const pw_shape *shape);
/* Moves packed bytes [first, last) of one object, by the function of its layout's kernel if that is so; fn NULL: by
 * tier 0. `packed` is where byte `first` is. */
void pw_part_move(const pw_layout *layout, pw_kernel_fn *fn, pw_direction direction, char *mem, char *packed,
                  int64_t first, int64_t last);

/* ---- move.c -------------------------------------------------------------------------------------- */

/* Now, if moves are timed. */
static inline int64_t pw_layout_clock(const pw_layout_engine *engine)
{
    return engine->timed ? pw_clock_ns() : 0;
}
/* Counts a move of bytes [first, last) for the statistics, if uses are counted. What is moved in parts is one call,
 * that of the part which begins with byte 0. */
void pw_layout_note(pw_layout *layout, bool unpack, int64_t first, int64_t last, bool tier1, int64_t ns);

/* ---- memo.c -------------------------------------------------------------------------------------- */

/* Makes the layout of something whose hash the table does not have, with a reference. */
typedef pw_status pw_layout_maker(pw_layout_engine *engine, const void *of, pw_hash hash, pw_layout **out,
                                  pw_diag *diag);
/* Finds the layout that has this hash, or makes it, unless it was found to be unsupported. In sync mode its kernel is
 * there on return, or cannot be had. */
pw_status pw_layout_find_or_make(pw_layout_engine *engine, pw_hash hash, pw_layout_maker *make, const void *of,
                                 pw_layout **out, pw_diag *diag);
/* Returns the layout of a hash, raw or canonical, with a reference, or NULL. From then on `raw` finds it, too. */
pw_layout *pw_layout_find(pw_layout_engine *engine, pw_hash hash, pw_hash raw);
/* Puts a complete entry into the table. If another thread has put an equal one there meanwhile, returns that one. */
pw_status pw_layout_adopt(pw_layout_engine *engine, pw_layout_entry *entry, pw_hash raw, pw_layout **out);
/* Frees the layouts that have been without references longest, until no more than so many are left. */
void pw_layout_trim(pw_layout_engine *engine, int64_t most, int64_t most_bytes);
/* Frees an entry that no table holds any more. */
void pw_layout_entry_free(pw_layout_entry *entry);

/* ---- heat.c -------------------------------------------------------------------------------------- */

/* Asks the worker for the kernel if it is due between these numbers of bytes that were moved without it. */
void pw_layout_heat(pw_layout *layout, int64_t before, int64_t after);
/* Counts `bytes` that are moved without the layout's kernel, which it has. */
static inline void pw_layout_warm(pw_layout *layout, int64_t bytes)
{
    int64_t before;

    if (layout->engine->mode != PW_JIT_ASYNC)
        return;
    before = atomic_fetch_add_explicit(&layout->kernel->moved, bytes, memory_order_relaxed);
    if (before < layout->engine->hot_bytes)
        pw_layout_heat(layout, before, before + bytes);
}

#endif
