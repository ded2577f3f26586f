/*
 * All entries, and what keeps them alive: the types that have them, by bindings; the latest types (recent.h); and
 * statistics, which report entries after their types
 * have died. An entry whose last reference goes is freed, except that of the types that are left to MPI.
 *
 * All functions are thread safe and may be called by MPI's callbacks: they take the lock of the entries only, and call
 * nothing of MPI under it. pw_registry_observe and pw_registry_each are defined here, too.
 */
#ifndef PW_RUNTIME_ENTRIES_H
#define PW_RUNTIME_ENTRIES_H

#include "runtime/mpi/types/recent.h"
#include "runtime/mpi/types/registry.h"

/* The reference of one type: the value of its attribute. Bindings are in a list, so that those of types which are alive
 * at the end, whose attributes MPI never deletes, can be released. */
typedef struct pw_binding {
    pw_entry *entry;
    struct pw_binding *prev, *next;
} pw_binding;

/* Frees all bindings and entries, and begins a new life. */
void pw_entries_clear(void);

/* Bindings belong to a life: those of an earlier one are freed already, although MPI may still have attributes that
 * point to them. */
uintptr_t pw_entries_life(void);

/* Binds a type to the entry of its layout, which is made if there is none; takes over the reference to the layout.
 * NULL: the type is left to MPI. `sizes`: those of the basic elements, as pw_mpi_decode_elements gives them. Returns
 * NULL without memory. */
pw_binding *pw_entries_bind(pw_layout *layout, bool predefined, unsigned sizes);
/* Binds a duplicate. Returns NULL without memory, or if the original is of another life. */
pw_binding *pw_entries_bind_copy(const pw_binding *original, uintptr_t life);
/* Binds a type to the entry of an earlier one that was made in the same way. Returns NULL if there is none. */
pw_binding *pw_entries_bind_constructed(const pw_recent_key *how);
/* Frees a binding, unless it is of another life. */
void pw_entries_unbind(pw_binding *b, uintptr_t life);

/* Keeps an entry alive for later types with the same key. */
void pw_entries_remember(pw_recent_kind kind, const pw_recent_key *key, pw_entry *entry);

/* Returns what `asked` says of the entry of the last type with this look, under the lock; false if there is none. */
bool pw_entries_ask_alike(const pw_recent_key *look, pw_entry_asked *asked, void *arg);

/* Tells the observers that a type with this layout was learned. */
void pw_entries_report_learned(pw_layout *layout, MPI_Datatype type);

#endif
