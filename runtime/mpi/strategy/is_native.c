/*
 * Purpose: fast checks whether a single message is certain to be left to MPI. A yes is what pw_staging_try would
 * answer, and counts as a use of the site; every doubt is a no.
 */
#include "runtime/mpi/strategy/is_native.h"

static bool buffer_is_native(const pw_entry *entry, pw_call_kind kind, pw_role role, const void *buf, MPI_Count count)
{
    return pw_entry_is_left(entry) || pw_host_buffer_is_native(entry, kind, role, buf, count);
}

typedef struct asked {
    pw_call_kind kind;
    pw_role role;
    const void *buf;
    MPI_Count count;
} asked;

static bool would_be_native(void *arg, const pw_entry *entry)
{
    const asked *a = arg;

    return buffer_is_native(entry, a->kind, a->role, a->buf, a->count);
}

static __attribute__((noinline)) bool is_left_noted(pw_call_kind kind, pw_role role, MPI_Datatype type, const void *buf,
                                                    MPI_Count count, int times, void *note)
{
    asked a = {kind, role, buf, count};

    return pw_registry_leaves_noted(type, &(pw_note_use){buf, count, role, times}, note, would_be_native, &a);
}

/* Answers for types that are not in the front of the table. */
static __attribute__((noinline)) bool is_native_other(pw_call_kind kind, pw_role role, MPI_Datatype type,
                                                      const void *buf, MPI_Count count, int times)
{
    void *found = pw_handle_table_seek(&pw_registry_types, pw_type_key(type));

    if (pw_note_is(found))
        return is_left_noted(kind, role, type, buf, count, times, found);
    return found && buffer_is_native(found, kind, role, buf, count);
}

bool pw_is_native(pw_call_kind kind, pw_role role, MPI_Datatype type, const void *buf, MPI_Count count, int times)
{
    uint64_t key = pw_type_key(type);
    void *found = pw_handle_table_peek(&pw_registry_types, key);

    if (pw_gate_has_unfinished())
        return false;
    if (!found)
        return is_native_other(kind, role, type, buf, count, times);
    if (pw_note_is(found))
        return (times == 1 && pw_note_takes_few(type, buf, count, role, pw_handle_front(&pw_registry_types, key))) ||
               is_left_noted(kind, role, type, buf, count, times, found);
    return buffer_is_native(found, kind, role, buf, count);
}
