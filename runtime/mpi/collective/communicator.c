/*
 * What collectives have learned of communicators, by handle. Nothing in it changes while the communicator lives; an
 * attribute's delete callback takes it out before MPI can use the handle again.
 */
#include "runtime/mpi/collective/communicator.h"

#include "base/lock.h"
#include "runtime/mpi/collective/remote.h"

#include <stdlib.h>

pw_handle_table pw_communicators = PW_HANDLE_TABLE;

/* The singleton. A thread holds `learning` through calls of MPI, whose callbacks do not take it. */
static struct {
    pthread_mutex_t learning;
    int keyval;
} communicators = {.learning = PTHREAD_MUTEX_INITIALIZER, .keyval = MPI_KEYVAL_INVALID};

/* The delete callback: MPI drops the communicator. The attribute owns its value. MPI may keep the attributes of
 * communicators that are never freed. */
static int forget(MPI_Comm comm, int keyval, void *value, void *extra)
{
    (void)keyval, (void)extra;
    pw_handle_table_remove(&pw_communicators, pw_communicator_key(comm));
    pw_remote_forget(value);
    free(value);
    return MPI_SUCCESS;
}

/* Makes the keyval if it does not exist yet. The caller holds the lock. */
static bool is_ready(void)
{
    if (communicators.keyval == MPI_KEYVAL_INVALID &&
        PMPI_Comm_create_keyval(pw_communicator_copy_nothing, forget, &communicators.keyval, NULL) != MPI_SUCCESS)
        communicators.keyval = MPI_KEYVAL_INVALID;
    return communicators.keyval != MPI_KEYVAL_INVALID;
}

/* Remembers a communicator, unless another thread was faster. NULL: it could not. */
static const pw_communicator *remember(MPI_Comm comm, const pw_communicator *known)
{
    PW_HOLD(&communicators.learning);
    uint64_t key = pw_communicator_key(comm);
    pw_communicator *kept = pw_handle_table_find(&pw_communicators, key);

    if (kept || !is_ready())
        return kept;
    kept = aligned_alloc(_Alignof(pw_communicator), sizeof *kept);
    if (!kept)
        return NULL;
    *kept = *known;
    if (PMPI_Comm_set_attr(comm, communicators.keyval, kept) != MPI_SUCCESS) {
        free(kept);
        return NULL;
    }
    /* If it cannot be inserted, MPI frees it with the attribute. */
    return pw_handle_table_insert(&pw_communicators, key, kept) == PW_OK ? kept : NULL;
}

/* Asks MPI. Returns an error code of MPI, which has then called the error handler. */
static int look(MPI_Comm comm, pw_communicator *out)
{
    int between_groups, rc = PMPI_Comm_test_inter(comm, &between_groups);

    if (rc == MPI_SUCCESS)
        rc = PMPI_Comm_rank(comm, &out->rank);
    if (rc == MPI_SUCCESS)
        rc = PMPI_Comm_size(comm, &out->size);
    if (rc != MPI_SUCCESS)
        return rc;
    out->between_groups = between_groups;
    out->peers = out->size;
    out->as_root = out->rank;
    if (!between_groups) {
        out->has_neighbours = pw_neighbours_of(comm, &out->neighbours);
        return rc;
    }
    out->as_root = MPI_ROOT;
    return PMPI_Comm_remote_size(comm, &out->peers);
}

const pw_communicator *pw_communicator_look(MPI_Comm comm, int *rc)
{
    const pw_communicator *known = pw_handle_table_find(&pw_communicators, pw_communicator_key(comm));
    pw_communicator now;

    *rc = MPI_SUCCESS;
    if (known)
        return known;
    now = (pw_communicator){.between_groups = false};
    *rc = look(comm, &now);
    return *rc == MPI_SUCCESS ? remember(comm, &now) : NULL;
}

void pw_communicator_let_go(MPI_Comm comm)
{
    if (!pw_handle_table_find(&pw_communicators, pw_communicator_key(comm)))
        return;
    PW_HOLD(&communicators.learning);
    if (communicators.keyval != MPI_KEYVAL_INVALID)
        PMPI_Comm_delete_attr(comm, communicators.keyval);
}

void pw_communicator_leave(void)
{
    pthread_mutex_lock(&communicators.learning);
    pw_handle_table_clear(&pw_communicators);
    if (communicators.keyval != MPI_KEYVAL_INVALID)
        PMPI_Comm_free_keyval(&communicators.keyval);
    communicators.keyval = MPI_KEYVAL_INVALID;
    pthread_mutex_unlock(&communicators.learning);
}
