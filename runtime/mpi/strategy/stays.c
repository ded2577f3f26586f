#include "runtime/mpi/strategy/stays.h"

#include "runtime/mpi/entry/gate.h"

_Static_assert((int)PW_CALL_BLOCKING < PW_RECALL_SORTS && (int)PW_CALL_NONBLOCKING < PW_RECALL_SORTS,
               "there is a place for messages of both sorts");

bool pw_stays(pw_call_sort sort, MPI_Datatype type, const void *buf, MPI_Count count)
{
    uint64_t version = pw_recall_now();
    const pw_entry *entry = pw_registry_learned(type);
    int left = PW_RECALL_USES;

    if (!entry || pw_gate_has_orphans() || !pw_buffer_stays(entry, sort, buf, count, 1, &left)) {
        pw_recall_drop(sort, type, buf);
        return false;
    }
    pw_recall_note(sort, type, buf, count, !entry->layout, (const char *)buf + entry->lowest, version, left - 1);
    return true;
}
