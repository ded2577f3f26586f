/* MPI_Type_commit registers; MPI_Type_free needs nothing, since a registration dies with the type (runtime/registry.h).
 */
#include "runtime/registry.h"

#include "hooks.h"
#include "next.h"

pw_verdict pw_hook_Type_commit(MPI_Datatype *datatype, int *rc)
{
    *rc = pw_next.MPI_Type_commit(datatype);
    if (*rc == MPI_SUCCESS)
        pw_registry_learn(*datatype);
    return PW_DONE;
}

pw_verdict pw_hook_Type_free(MPI_Datatype *datatype, int *rc)
{
    (void)datatype, (void)rc;
    return PW_PASS;
}
