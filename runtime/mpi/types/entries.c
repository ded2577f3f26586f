/*
 * All entries and bindings, and what refers to them. References are counted under one lock, in which nothing of MPI
 * is called, so callbacks of MPI may take it. The last reference frees an entry; a new `life` ends bindings to which
 * MPI may still have attributes.
 */
#include "runtime/mpi/types/entries.h"

#include "runtime/engine/memory/handle_table.h"
#include "runtime/mpi/entry/gate.h"

#include <pthread.h>
#include <stdlib.h>

/* With statistics on, at most so many layouts are kept after their types have died. This bounds the memory of programs
 * that make ever new types. */
enum { KEPT_FOR_STATS = 4096 };

/* The singleton. Callbacks of MPI take `lock`, and under it nothing of MPI is called. */
static struct {
    pw_registry_observer *observers; /* a list, made at start */
    pthread_mutex_t lock;            /* guards the fields below */
    uintptr_t life; /* goes up when all bindings are freed, although MPI may still have attributes that point to one */
    int64_t kept;   /* entries that statistics keep alive */
    pw_recent_table recent[PW_RECENT_KINDS]; /* hold references to entries */
    pw_binding bindings;                     /* list heads */
    pw_entry list;
} entries = {.lock = PTHREAD_MUTEX_INITIALIZER,
             .bindings = {.prev = &entries.bindings, .next = &entries.bindings},
             .list = {.prev = &entries.list, .next = &entries.list}};

static pw_handle_table layouts = PW_HANDLE_TABLE; /* layout -> entry, under the lock */

pw_entry pw_entry_left_to_mpi;

static pw_entry *entry_alloc(void)
{
    pw_entry *entry = aligned_alloc(_Alignof(pw_entry), sizeof *entry);

    if (entry)
        memset(entry, 0, sizeof *entry);
    return entry;
}

/* ---- references, under the lock ---------------------------------------------------------------------------------- */

static void entry_unref(pw_entry *entry)
{
    if (entry == &pw_entry_left_to_mpi || --entry->refs > 0)
        return;
    if (!entry->layout || entry->gpu_only) {
        pw_layout_unref(entry->layout);
        free(entry);
        return;
    }
    for (const pw_registry_observer *o = entries.observers; o; o = o->next)
        if (o->dies)
            o->dies(entry);
    pw_handle_table_remove(&layouts, (uint64_t)(uintptr_t)entry->layout);
    entry->prev->next = entry->next;
    entry->next->prev = entry->prev;
    pw_layout_unref(entry->layout);
    free(entry);
}

/* Makes an entry and takes over the reference to the layout. NULL: out of memory; the caller keeps the reference. */
static pw_entry *entry_with(pw_layout *layout)
{
    pw_entry *entry = entry_alloc();

    if (!entry)
        return NULL;
    entry->layout = layout;
    entry->size = layout->size;
    entry->blocks = layout->blocks;
    entry->lowest = layout->nest->lo;
    entry->touches_origin = layout->nest->lo <= 0 && layout->nest->hi > 0;
    return entry;
}

static pw_entry *entry_create(pw_layout *layout)
{
    pw_entry *entry = entry_with(layout);

    if (!entry || pw_handle_table_insert(&layouts, (uint64_t)(uintptr_t)layout, entry) != PW_OK) {
        free(entry);
        return NULL;
    }
    /* Statistics report entries after their types have died, so they hold one more reference until the end. */
    entry->refs = pw_layout_use_is_reported() && entries.kept < KEPT_FOR_STATS;
    entries.kept += entry->refs;
    entry->prev = entries.list.prev;
    entry->next = &entries.list;
    entry->prev->next = entry->next->prev = entry;
    return entry;
}

/* Makes the entry of a dense type. The entry is in no table and in no statistics, since it only says how many bytes a
 * buffer in GPU memory has. */
static pw_entry *entry_dense(const pw_layout *layout)
{
    pw_entry *entry = entry_alloc();

    if (!entry)
        return NULL;
    entry->size = layout->size;
    entry->blocks = 1;
    entry->dense = true;
    entry->offset = entry->lowest = layout->nest->lo;
    entry->touches_origin = layout->nest->lo <= 0 && layout->nest->hi > 0;
    entry->refs = 1;
    return entry;
}

/* Makes the entry of a predefined pair with a hole, which is for GPU memory. The entry is in no table, because types
 * derived from the pair may have the same layout and are packed in host memory, too. */
static pw_entry *entry_pair(pw_layout *layout)
{
    pw_entry *entry = entry_with(layout);

    if (!entry) {
        pw_layout_unref(layout);
        return NULL;
    }
    entry->gpu_only = true;
    entry->refs = 1;
    return entry;
}

/* Returns an entry with one reference for the caller, and takes over the reference to `layout`. NULL: out of memory. */
static pw_entry *entry_of(pw_layout *layout, bool predefined)
{
    pw_entry *entry = NULL;

    if (predefined && !layout->contiguous)
        return entry_pair(layout);
    if (layout->contiguous) {
        entry = entry_dense(layout);
        pw_layout_unref(layout);
        return entry;
    }
    entry = pw_handle_table_find(&layouts, (uint64_t)(uintptr_t)layout);
    if (entry) {
        pw_layout_unref(layout); /* the entry already holds a reference */
    } else if (!(entry = entry_create(layout))) {
        pw_layout_unref(layout);
        return NULL;
    }
    entry->refs++;
    return entry;
}

static pw_binding *binding_create(pw_entry *entry)
{
    pw_binding *b = malloc(sizeof *b);

    if (!b)
        return NULL;
    *b = (pw_binding){.entry = entry, .prev = entries.bindings.prev, .next = &entries.bindings};
    b->prev->next = b->next->prev = b;
    return b;
}

static void binding_destroy(pw_binding *b)
{
    b->prev->next = b->next;
    b->next->prev = b->prev;
    entry_unref(b->entry);
    free(b);
}

/* ---- for learning ------------------------------------------------------------------------------------------------ */

/* Notes the sizes of the basic elements, as pw_mpi_decode_elements gives them. Types of different signatures share the
 * entry. */
static void note_elements(pw_entry *entry, unsigned sizes)
{
    int grain = (int)(sizes & -sizes), before = atomic_load_explicit(&entry->grain, memory_order_relaxed);

    if (!before || grain < before)
        atomic_store_explicit(&entry->grain, grain, memory_order_relaxed);
    if (sizes & (sizes - 1) && !atomic_exchange_explicit(&entry->mixed, true, memory_order_relaxed))
        pw_gate_count_death(); /* what is remembered of the layout's messages no longer holds */
}

pw_binding *pw_entries_bind(pw_layout *layout, bool predefined, unsigned sizes)
{
    pw_binding *b = NULL;
    pw_entry *entry;

    pthread_mutex_lock(&entries.lock);
    entry = layout ? entry_of(layout, predefined) : &pw_entry_left_to_mpi;
    if (entry) {
        note_elements(entry, sizes);
        b = binding_create(entry);
        if (!b)
            entry_unref(entry);
    }
    pthread_mutex_unlock(&entries.lock);
    return b;
}

pw_binding *pw_entries_bind_copy(const pw_binding *original, uintptr_t life)
{
    pw_binding *b;

    pthread_mutex_lock(&entries.lock);
    b = life == entries.life ? binding_create(original->entry) : NULL;
    if (b && b->entry != &pw_entry_left_to_mpi)
        b->entry->refs++;
    pthread_mutex_unlock(&entries.lock);
    return b;
}

pw_binding *pw_entries_bind_constructed(const pw_recent_key *how)
{
    pw_binding *b = NULL;
    pw_entry *known;

    pthread_mutex_lock(&entries.lock);
    known = pw_recent_find(&entries.recent[PW_RECENT_CONSTRUCTED], how);
    if (known)
        b = binding_create(known);
    if (b)
        known->refs++;
    pthread_mutex_unlock(&entries.lock);
    return b;
}

void pw_entries_unbind(pw_binding *b, uintptr_t life)
{
    pthread_mutex_lock(&entries.lock);
    if (life == entries.life)
        binding_destroy(b);
    pthread_mutex_unlock(&entries.lock);
}

uintptr_t pw_entries_life(void)
{
    uintptr_t life;

    pthread_mutex_lock(&entries.lock);
    life = entries.life;
    pthread_mutex_unlock(&entries.lock);
    return life;
}

void pw_entries_remember(pw_recent_kind kind, const pw_recent_key *key, pw_entry *entry)
{
    pw_entry *before;

    pthread_mutex_lock(&entries.lock);
    entry->refs++;
    before = pw_recent_put(&entries.recent[kind], key, entry);
    if (before)
        entry_unref(before);
    pthread_mutex_unlock(&entries.lock);
}

bool pw_entries_ask_alike(const pw_recent_key *look, pw_entry_asked *asked, void *arg)
{
    pw_entry *entry;
    bool is;

    pthread_mutex_lock(&entries.lock);
    entry = pw_recent_find(&entries.recent[PW_RECENT_LOOK], look);
    is = entry && asked(arg, entry);
    pthread_mutex_unlock(&entries.lock);
    return is;
}

/* ---- life -------------------------------------------------------------------------------------------------------- */

/* A new life of MPI finds the observers of the one before. */
void pw_registry_observe(pw_registry_observer *observer)
{
    for (const pw_registry_observer *o = entries.observers; o; o = o->next)
        if (o == observer)
            return;
    observer->next = entries.observers;
    entries.observers = observer;
}

void pw_entries_report_learned(pw_layout *layout, MPI_Datatype type)
{
    for (const pw_registry_observer *o = entries.observers; o; o = o->next)
        o->learned(layout, type);
}

static void forget_recent(pw_recent_table *table)
{
    for (int i = 0; i < 1 << PW_RECENT_BITS; i++)
        if (table->places[i].entry)
            entry_unref(table->places[i].entry);
    memset(table, 0, sizeof *table);
}

void pw_entries_clear(void)
{
    pthread_mutex_lock(&entries.lock);
    for (int kind = 0; kind < PW_RECENT_KINDS; kind++)
        forget_recent(&entries.recent[kind]);
    while (entries.bindings.next != &entries.bindings)
        binding_destroy(entries.bindings.next);
    while (entries.list.next != &entries.list)
        entry_unref(entries.list.next);
    entries.kept = 0;
    entries.life++;
    pthread_mutex_unlock(&entries.lock);
}

void pw_registry_each(void (*fn)(void *arg, const pw_entry *entry), void *arg)
{
    pthread_mutex_lock(&entries.lock);
    for (const pw_entry *entry = entries.list.next; entry != &entries.list; entry = entry->next)
        fn(arg, entry);
    pthread_mutex_unlock(&entries.lock);
}
