/*
 * Which compiled layout a datatype handle stands for.
 *
 * An entry dies with its type, not with the user's MPI_Type_free: every registered derived type carries an attribute
 * whose delete callback runs when MPI drops the last reference (also when operations were pending at the free, or other
 * types were built from it), and only then may MPI reuse the handle. MPI_Type_dup copies the attribute, so a duplicate
 * shares the layout; its handle, which the copy callback cannot know, is found at first use.
 *
 * MPI_Type_commit does not register: it notes the type, which is learned once that pays (runtime/mpi/types/noted.h).
 * Until then the type has the entry of all types that are left to MPI.
 *
 * MPI is never asked about a handle that is neither in the table nor, by its value, that of a predefined type: invalid
 * and uncommitted types are left to MPI, which reports them, and so are types that were committed past this library
 * (PMPI_Type_commit).
 */
#ifndef PW_RUNTIME_REGISTRY_H
#define PW_RUNTIME_REGISTRY_H

#include "base/handle_table.h"
#include "runtime/mpi/entry/gate.h"
#include "runtime/mpi/mpi_compat.h"
#include "runtime/mpi/types/entry.h"
#include "runtime/mpi/types/noted.h"

#include <stdatomic.h>

/* Until this is called, every call is left to MPI. */
void pw_registry_start(void);
/* The engine of all layouts, which the first call makes. May be called by the code that MPI calls for a read. NULL: the
 * registry is not started, or there is no memory. */
pw_layout_engine *pw_registry_engine(void);

/* Maps handles to entries, or to the notes of types that are not learned yet. Empty before pw_registry_start. */
extern PW_HIDDEN pw_handle_table pw_registry_types;
extern _Atomic bool pw_registry_started;

static inline bool pw_registry_is_started(void)
{
    return atomic_load_explicit(&pw_registry_started, memory_order_acquire);
}

/* Returns the entry of a learned type, and NULL for all others. Lock-free. */
static inline pw_entry *pw_registry_learned(MPI_Datatype type)
{
    void *found = pw_handle_table_find(&pw_registry_types, pw_type_key(type));

    return pw_note_is(found) ? NULL : found;
}

pw_entry *pw_registry_find_other(MPI_Datatype type);
pw_entry *pw_registry_use_other(MPI_Datatype type, const pw_note_use *use, void *found);

/* Returns the entry of a type. NULL: the type is not known, and MPI must get the call. Lock-free. */
static inline pw_entry *pw_registry_find(MPI_Datatype type)
{
    pw_entry *entry = pw_registry_learned(type);

    return entry ? entry : pw_registry_find_other(type);
}

/* Looks a type up, as pw_registry_find does, for a use by a call that MPI has not got yet: counts the use of a noted
 * type, and learns the type first if that pays. */
static inline pw_entry *pw_registry_use(MPI_Datatype type, pw_note_use use)
{
    void *found = pw_handle_table_find(&pw_registry_types, pw_type_key(type));

    return found && !pw_note_is(found) ? found : pw_registry_use_other(type, &use, found);
}

/* Returns the entry of a type that MPI has committed, and learns a type first that is only noted. NULL: not known. */
pw_entry *pw_registry_learn(MPI_Datatype type);

/*
 * Leaves a use of a noted type to MPI, and counts it, if learning the type does not pay yet, or would be in vain.
 * Returns false if the type is to be learned first.
 */
bool pw_registry_leaves_noted(MPI_Datatype type, const pw_note_use *use, void *note);

/* `found`: what the table has of the type. */
static inline bool pw_registry_found_plain(const void *found, const void *buf)
{
    return found && !pw_note_is(found) && !((const pw_entry *)found)->layout && pw_memory_is_known_host(buf);
}

/* Returns whether nothing but MPI moves objects of a type to or from a buffer. False: the hook must find out. */
static inline bool pw_registry_is_plain(MPI_Datatype type, const void *buf)
{
    return pw_registry_found_plain(pw_handle_table_peek(&pw_registry_types, pw_type_key(type)), buf);
}

/* Returns whether a call that packs or unpacks between two places in host memory can be left to MPI: nothing but MPI
 * moves the type there, or it is noted, and this use, which is then counted, certainly does not make it worth learning.
 * If not, nothing is counted, and the hook finds out more. */
static inline bool pw_registry_leaves(MPI_Datatype type, const void *buf, MPI_Count count, const void *packed)
{
    uint64_t key = pw_type_key(type);
    const void *found = pw_handle_table_peek(&pw_registry_types, key);

    return pw_memory_is_known_host(packed) &&
           (pw_note_is(found)
                ? pw_note_takes_few(type, buf, count, PW_SEND, 0, pw_handle_front(&pw_registry_types, key))
                : pw_registry_found_plain(found, buf));
}

/* Calls tell the registry about types by these functions. Both are thread safe, and ignore types that are already
 * known. MPI has committed the type: */
void pw_registry_committed(MPI_Datatype type);
/* MPI has made a duplicate, which begins as the original does: */
void pw_registry_duplicated(MPI_Datatype original, MPI_Datatype type);

/* For operations that use an entry after the call that its type was an argument of. Thread safe; call no MPI. */
void pw_entries_ref(pw_entry *entry);
void pw_entries_unref(pw_entry *entry);

bool pw_registry_end_note_other(MPI_Datatype type);

/* Ends the note of a type before MPI frees the type for the user. Returns false if there is no note. A type that
 * lives on under another handle of the same value (MPI_Type_get_contents) is left to MPI from then on. */
static inline bool pw_registry_end_note(MPI_Datatype type)
{
    uint64_t key = pw_type_key(type);

    if (PW_UNLIKELY(!pw_note_is(pw_handle_table_peek(&pw_registry_types, key)) || pw_registry_types.used))
        return pw_registry_end_note_other(type);
    return pw_handle_table_leave(&pw_registry_types, key);
}

/* Removes the attribute of a registered type, and thereby its entry, at once. */
void pw_registry_let_go(MPI_Datatype type);

/* Called around the end of MPI (the last of MPI_Finalize and the MPI_Session_finalize calls): `leave` while MPI still
 * works, `close` when it does not. Afterwards the next type to be learned opens everything again. */
void pw_registry_leave(void);
void pw_registry_close(void);

/* Calls fn for each entry, under the lock of the entries; with statistics on, also for those whose types have died. */
void pw_registry_each(void (*fn)(void *arg, const pw_entry *entry), void *arg);

#endif
