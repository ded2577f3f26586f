/*
 * What PACKWRIGHT_Type_commit_all asks of the interposer: learn a type and compile its kernel. Nothing here sends a
 * message or reads the program's data.
 */
#include "runtime/mpi/strategy/prepare.h"

#include "runtime/mpi/entry/gate.h"
#include "runtime/mpi/types/registry.h"

void packwright_prepare_type(MPI_Datatype type)
{
    const pw_entry *entry;

    if (!pw_gate_enter())
        return;
    entry = pw_registry_learn(type);
    if (entry && entry->layout && !entry->gpu_only) /* messages of others in host memory are left to MPI */
        pw_layout_make_kernel(entry->layout);
    pw_gate_leave();
}
