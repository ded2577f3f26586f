/*
 * Reports to the registry which types come and go (runtime/mpi/types/registry.h). Data: none. Invariant: the registry
 * knows a type before the program does, and no longer when MPI may give its handle to another one.
 */
#include "runtime/mpi/types/origin.h"
#include "runtime/mpi/types/registry.h"

#include "hooks.h"
#include "next.h"

int pw_hook_Type_commit(MPI_Datatype *datatype, const void *caller)
{
    int rc = pw_next.MPI_Type_commit(datatype);

    if (PW_LIKELY(rc == MPI_SUCCESS)) {
        if (PW_UNLIKELY(pw_note_is_reported))
            pw_origin_note(*datatype, caller);
        pw_registry_committed(*datatype);
    }
    return rc;
}

/* A duplicate of a committed type is committed. The registry must know it before MPI gets it for the first time,
 * perhaps with a buffer in GPU memory that MPI cannot touch. */
pw_verdict pw_hook_Type_dup(MPI_Datatype oldtype, MPI_Datatype *newtype, int *rc)
{
    *rc = pw_next.MPI_Type_dup(oldtype, newtype);
    if (*rc == MPI_SUCCESS) {
        if (pw_note_is_reported)
            pw_origin_note(*newtype, pw_origin_of(oldtype));
        pw_registry_duplicated(oldtype, *newtype);
    }
    return PW_DONE;
}

/*
 * MPICH releases its lock around delete callbacks. If an operation under way holds the last reference to a type, the
 * callback runs in the network's progress, which other threads then enter: MPICH 4.0.2 (ch4:ucx) ends the program. So
 * with threads no attribute is left on a type that the user frees.
 */
int pw_hook_Type_free(MPI_Datatype *datatype)
{
    if (datatype && PW_UNLIKELY(pw_note_is_reported))
        pw_origin_forget(*datatype);
    if (datatype && !pw_registry_end_note(*datatype) && !PW_MPI_IS_OPEN_MPI && pw_mpi_has_threads())
        pw_registry_let_go(*datatype);
    return pw_next.MPI_Type_free(datatype);
}
