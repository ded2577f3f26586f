/*
 * What PACKWRIGHT_Type_commit_all asks of the interposer: learn a type and compile its kernel. Nothing here sends a
 * message or reads the program's data.
 */
#include "runtime/mpi/strategy/prepare.h"

#include "runtime/mpi/entry/gate.h"
#include "runtime/mpi/types/registry.h"

/* The layout by which messages of this type in host memory are moved. NULL: they are left to MPI. */
static pw_layout *layout_of(const pw_entry *entry)
{
    return entry && !entry->gpu_only ? entry->layout : NULL;
}

void packwright_prepare_type(MPI_Datatype type)
{
    pw_layout *layout;

    if (!pw_gate_enter())
        return;
    layout = layout_of(pw_registry_learn(type));
    if (layout)
        pw_layout_make_kernel(layout);
    pw_gate_leave();
}
