/*
 * Notices the end of MPI by an attribute of MPI_COMM_SELF, which MPI deletes first, when MPI still works. The
 * attribute is set once, with the first learned type.
 */
#include "runtime/mpi/entry/ending.h"

#include "runtime/mpi/entry/locate.h"
#include "runtime/mpi/mpi_compat.h"

/* Guarded by the registry's learning lock; when MPI ends, only the thread that ends it comes here. */
static bool watching;

static int attribute_deleted(MPI_Comm comm, int keyval, void *value, void *extra)
{
    (void)comm, (void)keyval, (void)value, (void)extra;
    watching = false;
    pw_ending_world_ends();
    return MPI_SUCCESS;
}

static bool is_initialised(void)
{
    int initialised = 0, finalised = 0;

    PMPI_Initialized(&initialised);
    PMPI_Finalized(&finalised);
    return initialised && !finalised;
}

void pw_ending_watch(void)
{
    int keyval;

    if (watching || !is_initialised() ||
        PMPI_Comm_create_keyval(pw_mpi_copy_nothing, attribute_deleted, &keyval, NULL) != MPI_SUCCESS)
        return;
    watching = PMPI_Comm_set_attr(MPI_COMM_SELF, keyval, NULL) == MPI_SUCCESS;
    PMPI_Comm_free_keyval(&keyval); /* the attribute keeps it alive */
}

bool pw_ending_is_seen(void)
{
#if PW_MPI_HAS(4, 0)
    return true;
#else
    return !pw_locate_next("MPI_Session_finalize") || is_initialised();
#endif
}
