/*
 * The map from type handles to notes and entries. A handle is in the table from its commit until MPI drops the type,
 * so a handle that MPI uses again never finds an old entry. Lookups take no lock.
 */
#include "runtime/mpi/types/registry.h"

#include "runtime/mpi/entry/fortran.h"
#include "runtime/mpi/types/internal.h"

pw_handle_table pw_registry_types = PW_HANDLE_TABLE;
_Atomic bool pw_registry_started;
static _Atomic unsigned registry_commits;

enum { LOOK_EVERY = 64 /* after so many commits, bindings that were loaded late are looked for */ };

static void take_note(MPI_Datatype type, void *note)
{
    if (pw_handle_table_add(&pw_registry_types, pw_type_key(type), note) && pw_note_is_reported)
        pw_note_count(1);
}

void pw_registry_committed(MPI_Datatype type)
{
    unsigned commits = atomic_load_explicit(&registry_commits, memory_order_relaxed);

    if (!pw_registry_is_started())
        return;
    atomic_store_explicit(&registry_commits, commits + 1, memory_order_relaxed); /* a lost increment does no harm */
    if (commits % LOOK_EVERY == 0)
        pw_fortran_redirect();
    if (pw_note_is_off)
        pw_learning_learn(type, PW_SEND);
    else
        take_note(type, pw_note_make(0));
}

void pw_registry_duplicated(MPI_Datatype original, MPI_Datatype type)
{
    void *found = pw_handle_table_find(&pw_registry_types, pw_type_key(original));

    if (pw_note_is(found))
        take_note(type, found);
    else if (found)
        pw_learning_learn(type, PW_SEND);
    else if (pw_predefined_is(original))
        pw_registry_committed(type);
}

static pw_entry *learn_noted(MPI_Datatype type, pw_role role)
{
    uint64_t key = pw_type_key(type);
    void *found;

    pw_learning_learn(type, role);
    found = pw_handle_table_find(&pw_registry_types, key);
    if (found && !pw_note_is(found)) {
        if (pw_note_is_reported)
            pw_note_count(-1);
        return found;
    }
    /* Learning has failed, so the note begins again. */
    pw_handle_table_swap(&pw_registry_types, key, found, pw_note_make(0));
    return &pw_entry_left_to_mpi;
}

bool pw_registry_leaves_noted(MPI_Datatype type, const pw_note_use *use, void *note)
{
    pw_glance g;
    bool left;

    pw_glance_begin(&g, type, use->role);
    left = pw_note_takes(&g, use, note);
    pw_glance_end(&g);
    return left;
}

/* `found`: the note of the type, or NULL if the type is not known. */
pw_entry *pw_registry_use_other(MPI_Datatype type, const pw_note_use *use, void *found)
{
    if (!found)
        return pw_registry_find_other(type);
    return pw_registry_leaves_noted(type, use, found) ? &pw_entry_left_to_mpi : learn_noted(type, use->role);
}

pw_entry *pw_registry_learn(MPI_Datatype type)
{
    void *found = pw_handle_table_find(&pw_registry_types, pw_type_key(type));

    return pw_note_is(found) ? learn_noted(type, PW_SEND) : found;
}

bool pw_registry_end_note_other(MPI_Datatype type)
{
    uint64_t key = pw_type_key(type);
    bool noted = pw_note_is(pw_handle_table_find(&pw_registry_types, key));

    if (noted)
        pw_handle_table_remove(&pw_registry_types, key);
    return noted;
}

void pw_registry_start(void)
{
    atomic_store_explicit(&pw_registry_started, true, memory_order_release);
}

pw_entry *pw_registry_find_other(MPI_Datatype type)
{
    bool noted = pw_note_is(pw_handle_table_find(&pw_registry_types, pw_type_key(type)));

    if (noted || !pw_registry_is_started())
        return &pw_entry_left_to_mpi;
    if (!pw_predefined_is(type))
        return NULL;
    pw_learning_learn(type, PW_SEND);
    return pw_registry_learned(type);
}
