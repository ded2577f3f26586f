/*
 * All entries, and what refers to them. References are counted under one lock, in which nothing of MPI is called, so
 * callbacks of MPI may take it. The last reference frees an entry. When MPI ends, all layouts go; entries to which MPI
 * may still have attributes stay until these are deleted.
 */
#include "runtime/mpi/types/internal.h"

#include "base/lock.h"

#include <stdlib.h>

/* With statistics on, at most so many layouts are kept after their types have died. This bounds the memory of programs
 * that make ever new types. */
enum { KEPT_FOR_STATS = 4096 };

enum { RECENT = 64 /* entries of the last types of a kind */ };
enum { FEW = 8, SHORT = 256 /* so few copies of at most so many bytes take as long as the way to a kernel */ };

/* The entry of the latest type that fell here, with a reference; NULL: there is none. */
typedef struct recent {
    pw_hash key;
    pw_entry *entry;
} recent;

/* The singleton. Callbacks of MPI take `lock`, and under it nothing of MPI is called. */
static struct {
    pthread_mutex_t lock; /* guards the fields below */
    int64_t kept;         /* entries that statistics keep alive */
    recent recent[PW_RECENT_KINDS * RECENT];
    pw_entry list, ended; /* list heads: entries, and those of types that have outlived MPI */
} entries = {.lock = PTHREAD_MUTEX_INITIALIZER,
             .list = {.prev = &entries.list, .next = &entries.list},
             .ended = {.prev = &entries.ended, .next = &entries.ended}};

pw_entry pw_entry_left_to_mpi;

/* ---- references, under the lock ---------------------------------------------------------------------------------- */

static void enlist(pw_entry *entry, pw_entry *head)
{
    entry->prev = head->prev;
    entry->next = head;
    entry->prev->next = entry->next->prev = entry;
}

static void unlist(pw_entry *entry)
{
    entry->prev->next = entry->next;
    entry->next->prev = entry->prev;
}

/* Takes an entry out of its list, and lets its layout go. */
static void retire(pw_entry *entry)
{
    unlist(entry);
    if (entry->layout && !entry->gpu_only)
        entry->layout->owner = NULL;
    pw_layout_unref(entry->layout);
    entry->layout = NULL;
    free(entry->built);
    entry->built = NULL;
}

static void unref(pw_entry *entry)
{
    if (entry == &pw_entry_left_to_mpi || --entry->refs > 0)
        return;
    retire(entry);
    free(entry);
}

static pw_entry *make_entry(const pw_layout *layout)
{
    pw_entry *entry = aligned_alloc(_Alignof(pw_entry), sizeof *entry);

    if (!entry)
        return NULL;
    memset(entry, 0, sizeof *entry);
    entry->size = layout->size;
    entry->blocks = layout->blocks;
    entry->lowest = layout->nest->lo;
    entry->touches_origin = layout->nest->lo <= 0 && layout->nest->hi > 0;
    return entry;
}

/* Makes an entry that of all types with its layout. Statistics report entries after their types have died, so they hold
 * one more reference until the end. */
static void share(pw_entry *entry)
{
    entry->layout->owner = entry;
    entry->is_kept = pw_layout_use_is_reported() && entries.kept < KEPT_FOR_STATS;
    entry->refs = entry->is_kept;
    entries.kept += entry->is_kept;
}

/*
 * Returns the entry of a layout, and takes over the reference to it. NULL: out of memory. Two kinds are one type's own:
 * dense types, which only say how many bytes a buffer in GPU memory has, and predefined pairs with a hole, which are
 * for GPU memory, while types derived from a pair may have the same layout and are packed in host memory, too.
 */
static pw_entry *entry_of(pw_layout *layout, bool predefined)
{
    bool dense = layout->contiguous, is_own = dense || predefined;
    pw_entry *known = is_own ? NULL : layout->owner, *entry = known ? known : make_entry(layout);

    if (entry && !known) {
        entry->layout = dense ? NULL : layout;
        entry->dense = dense;
        entry->gpu_only = is_own && !dense;
        if (dense)
            entry->plain_copies = INT64_MAX;
        else if (!is_own && layout->blocks == 1 && layout->at_once[PW_PACK] > 0)
            entry->plain_copies = layout->size <= SHORT ? FEW : 1;
        enlist(entry, &entries.list);
        if (!is_own)
            share(entry);
    }
    if (!entry || !entry->layout || known)
        pw_layout_unref(layout); /* the entry has a reference already, or needs none */
    return entry;
}

/* ---- for learning ------------------------------------------------------------------------------------------------ */

/* Notes the sizes of basic elements, as pw_mpi_decode_elements gives them. Types of many signatures share the entry. */
static void note_elements(pw_entry *entry, unsigned sizes)
{
    if (!(sizes & (sizes - 1)) || atomic_exchange(&entry->mixed, true))
        return;
    /* What is remembered of the layout's messages no longer holds. */
    pw_epoch_end();
    for (int kind = 0; kind < PW_CALL_KINDS; kind++)
        for (int i = 0; i < PW_ENTRY_NATIVE; i++)
            atomic_store(&entry->choices.native[kind][i], NULL);
}

pw_entry *pw_entries_of(pw_layout *layout, bool predefined, unsigned sizes)
{
    PW_HOLD(&entries.lock);
    pw_entry *entry = layout ? entry_of(layout, predefined) : &pw_entry_left_to_mpi;

    if (entry) {
        note_elements(entry, sizes);
        entry->is_kept = entry->is_kept || predefined;
        entry->refs++;
    }
    return entry;
}

static recent *recent_at(pw_recent_kind kind, pw_hash key)
{
    return &entries.recent[kind * RECENT + key.lo % RECENT];
}

static pw_entry *find_recent(pw_recent_kind kind, pw_hash key)
{
    const recent *at = recent_at(kind, key);

    return pw_hash_equal(at->key, key) ? at->entry : NULL;
}

pw_entry *pw_entries_constructed(pw_hash how)
{
    PW_HOLD(&entries.lock);
    pw_entry *known = find_recent(PW_RECENT_CONSTRUCTED, how);

    if (known)
        known->refs++;
    return known;
}

void pw_entries_ref(pw_entry *entry)
{
    pthread_mutex_lock(&entries.lock);
    entry->refs++;
    pthread_mutex_unlock(&entries.lock);
}

void pw_entries_unref(pw_entry *entry)
{
    pthread_mutex_lock(&entries.lock);
    unref(entry);
    pthread_mutex_unlock(&entries.lock);
}

void pw_entries_remember(pw_recent_kind kind, pw_hash key, pw_entry *entry)
{
    recent *at = recent_at(kind, key);
    PW_HOLD(&entries.lock);

    entry->refs++;
    if (at->entry)
        unref(at->entry);
    *at = (recent){key, entry};
}

bool pw_entries_ask_alike(pw_hash look, pw_entry_asked *asked, void *arg)
{
    PW_HOLD(&entries.lock);
    pw_entry *entry = find_recent(PW_RECENT_LOOK, look);

    return entry && asked(arg, entry);
}

/* ---- life -------------------------------------------------------------------------------------------------------- */

static void end_all(void)
{
    while (entries.list.next != &entries.list) {
        pw_entry *entry = entries.list.next;

        retire(entry);
        entry->refs -= entry->is_kept;
        if (entry->refs > 0)
            enlist(entry, &entries.ended);
        else
            free(entry);
    }
}

void pw_entries_clear(void)
{
    pthread_mutex_lock(&entries.lock);
    for (int i = 0; i < PW_RECENT_KINDS * RECENT; i++)
        if (entries.recent[i].entry)
            unref(entries.recent[i].entry);
    memset(entries.recent, 0, sizeof entries.recent);
    end_all();
    entries.kept = 0;
    pthread_mutex_unlock(&entries.lock);
}

void pw_registry_each(void (*fn)(void *arg, const pw_entry *entry), void *arg)
{
    pthread_mutex_lock(&entries.lock);
    for (const pw_entry *entry = entries.list.next; entry != &entries.list; entry = entry->next)
        if (entry->layout && !entry->gpu_only)
            fn(arg, entry);
    pthread_mutex_unlock(&entries.lock);
}
