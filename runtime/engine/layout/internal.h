/*
 * Inside the layout engine: config.c (the engine and its configuration), memo.c (the table of layouts, references),
 * compile.c (from a type to a layout), heat.c (when a kernel is asked for), move.c (pack and unpack).
 */
#ifndef PW_RUNTIME_LAYOUT_INTERNAL_H
#define PW_RUNTIME_LAYOUT_INTERNAL_H

#include "jit-cache/hash_map.h"
#include "runtime/engine/layout/layout.h"

#include <pthread.h>

enum {
    PW_LAYOUT_ALIASES = 8, /* raw hashes remembered for a layout; further ones are canonicalised each time */
    /* Bounds on what is kept without references. */
    PW_LAYOUT_PARKED = 512,
    PW_LAYOUT_PARKED_BYTES = 32 << 20,
    PW_LAYOUT_REFUSED = 1024 /* types remembered as unsupported; then all are forgotten */
};

typedef struct pw_layout_entry {
    pw_layout layout; /* first: pw_layout* and pw_layout_entry* convert */
    pw_arena *arena;  /* owns the entry and all of the layout that it does not share */
    int64_t footprint;
    /* Under the engine's mutex: */
    pw_hash *aliases; /* further hashes by which it is found */
    int naliases;
    struct pw_layout_entry *prev, *next;               /* all, by creation */
    struct pw_layout_entry *parked_prev, *parked_next; /* unreferenced, longest first */
} pw_layout_entry;

struct pw_layout_engine {
    pw_jit_mode mode;
    int64_t hot_bytes;
    bool counted, timed;
    pw_cache *cache;
    pthread_mutex_t lock;
    pw_hash_map known;   /* hashes of canonical types and of the same as they were given -> pw_layout_entry */
    pw_hash_map refused; /* raw hashes of unsupported types, since finding that out is slow */
    pw_layout_entry *first, *last;
    pw_layout_entry *parked_first, *parked_last;
    int64_t parked, parked_bytes;
};

/* ---- compile.c ----------------------------------------------------------------------------------- */

/* The layout of a type that the table does not have in this form, with a reference for the caller. */
pw_status pw_layout_compile(pw_layout_engine *engine, const pw_type *raw, pw_hash raw_hash, pw_layout **out,
                            pw_diag *diag);

/* ---- memo.c -------------------------------------------------------------------------------------- */

/* The layout with this hash, which is that of any of its forms, referenced; NULL: there is none. It is found by
 * `raw`, the hash of the form at hand, from now on. */
pw_layout *pw_layout_find(pw_layout_engine *engine, pw_hash hash, pw_hash raw);
/* Puts a complete entry into the table; if another thread has made an equal one meanwhile, takes that. */
pw_status pw_layout_adopt(pw_layout_engine *engine, pw_layout_entry *entry, pw_hash raw, pw_layout **out);
/* Frees an entry that no table holds any more. */
void pw_layout_entry_free(pw_layout_entry *entry);

/* ---- heat.c -------------------------------------------------------------------------------------- */

/* A layout has got a kernel, which others may have already: sets the first mark if they have not. */
void pw_layout_heat_begin(const pw_layout_engine *engine, pw_kernel *kernel);
/* Tier 0 is about to move `bytes` more. True: time that, and tell pw_layout_heat. */
static inline bool pw_layout_heat_add(pw_kernel *kernel, int64_t bytes)
{
    pw_kernel_demand *d = &kernel->demand;

    return atomic_fetch_add_explicit(&d->bytes, bytes, memory_order_relaxed) + bytes >=
           atomic_load_explicit(&d->mark, memory_order_relaxed);
}
/* It took `ns` to move `bytes`: ask for the kernel. */
void pw_layout_heat(pw_layout *layout, int64_t bytes, int64_t ns);

static inline pw_layout_entry *pw_layout_entry_of(pw_layout *layout)
{
    return (pw_layout_entry *)layout;
}

#endif
