/*
 * All entries, and what keeps them alive: the types that have them, each by an attribute; the latest types (recent.h);
 * and statistics, which report entries after their types have died.
 *
 * All functions are thread safe and may be called by MPI's callbacks: they take the lock of the entries only, and call
 * nothing of MPI under it. pw_registry_each is defined here, too.
 */
#ifndef PW_RUNTIME_ENTRIES_H
#define PW_RUNTIME_ENTRIES_H

#include "runtime/mpi/types/recent.h"
#include "runtime/mpi/types/registry.h"

/* Lets all layouts go, and frees all entries but those of types that MPI still has. These are left to MPI. */
void pw_entries_clear(void);

/* Returns the entry of a layout, which is made if there is none, with a reference for one type; takes over the
 * reference to the layout. A predefined type lives for ever and has none. NULL as layout: the type is left to MPI.
 * `sizes`: those of the basic elements, as pw_mpi_decode_elements gives them. Returns NULL without memory. */
pw_entry *pw_entries_of(pw_layout *layout, bool predefined, unsigned sizes);
/* Returns the entry of an earlier type that was made in the same way, with a reference for this one. NULL: there is
 * none. */
pw_entry *pw_entries_constructed(pw_hash how);
void pw_entries_ref(pw_entry *entry);
void pw_entries_unref(pw_entry *entry);

/* Keeps an entry alive for later types with the same key. */
void pw_entries_remember(pw_recent_kind kind, pw_hash key, pw_entry *entry);

/* Returns what `asked` says of the entry of the last type with this look, under the lock; false if there is none. */
bool pw_entries_ask_alike(pw_hash look, pw_entry_asked *asked, void *arg);

/* Notes that a committed type with this entry was learned, for reports. One thread at a time calls it.
 * runtime/mpi/stats/built.c defines it. */
void pw_built_note(pw_entry *entry, MPI_Datatype type);

#endif
