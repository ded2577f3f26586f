#include "runtime/mpi/strategy/is_native.h"

#include "runtime/mpi/entry/gate.h"

/* Asks for the direction with the strictest conditions. The hook, which knows the direction, asks again if the answer
 * is no. */
static bool takes(MPI_Datatype type, const void *buf, MPI_Count count, int times, void *note)
{
    return pw_note_takes(&pw_registry_types, type,
                         &(pw_note_use){.buf = buf, .count = count, .role = PW_BOTH, .times = times}, note);
}

bool pw_is_native(pw_call_kind kind, MPI_Datatype type, const void *buf, MPI_Count count, int times)
{
    void *found = pw_handle_table_find(&pw_registry_types, pw_type_key(type));
    const pw_entry *entry = found;

    if (pw_gate_has_orphans())
        return false;
    if (pw_note_is(found))
        return takes(type, buf, count, times, found);
    return entry && pw_buffer_is_native(entry, kind, buf, count, 1);
}
