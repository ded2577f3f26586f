/* What is kept of communicators. */
#include "runtime/mpi/collective/remote_slot.h"

#include <stdlib.h>

/* The singleton. MPI calls of one communicator come one after the other, so the lock is for the list and the keyval
 * only. */
static struct {
    pthread_mutex_t lock;
    int keyval;
    _Atomic uint32_t ids;
    pw_remote *all;
} remotes = {.lock = PTHREAD_MUTEX_INITIALIZER, .keyval = MPI_KEYVAL_INVALID};

uint32_t pw_remote_new_id(void)
{
    return ++remotes.ids;
}

void pw_remote_slot_close(pw_remote_slot *s)
{
    free(s->text);
    pw_layout_unref(s->joined.layout);
    if (s->source)
        pw_net->source_close(s->source);
}

static void close_slots(pw_remote_slot *slots, int n)
{
    for (int i = 0; i < n; i++)
        pw_remote_slot_close(&slots[i]);
    free(slots);
}

void pw_remote_group_close(pw_remote_group *g)
{
    close_slots(g->out, g->nout);
    close_slots(g->in, g->nin);
    *g = (pw_remote_group){.agreed = false};
}

static void close_groups(pw_remote *r)
{
    for (int i = 0; i < 2; i++)
        pw_remote_group_close(&r->of[i]);
}

/* The delete callback: MPI drops the communicator. */
static int forget(MPI_Comm comm, int keyval, void *value, void *extra)
{
    pw_remote *r = value;

    (void)comm, (void)keyval, (void)extra;
    pthread_mutex_lock(&remotes.lock);
    *r->link = r->next;
    if (r->next)
        r->next->link = r->link;
    pthread_mutex_unlock(&remotes.lock);
    close_groups(r);
    free(r);
    return MPI_SUCCESS;
}

static int keyval(void)
{
    pthread_mutex_lock(&remotes.lock);
    if (remotes.keyval == MPI_KEYVAL_INVALID &&
        PMPI_Comm_create_keyval(pw_mpi_copy_nothing, forget, &remotes.keyval, NULL) != MPI_SUCCESS)
        remotes.keyval = MPI_KEYVAL_INVALID;
    pthread_mutex_unlock(&remotes.lock);
    return remotes.keyval;
}

static void enlist(pw_remote *r)
{
    pthread_mutex_lock(&remotes.lock);
    r->next = remotes.all;
    r->link = &remotes.all;
    if (r->next)
        r->next->link = &r->next;
    remotes.all = r;
    pthread_mutex_unlock(&remotes.lock);
}

pw_remote *pw_remote_of(MPI_Comm comm, int rank)
{
    int key = keyval(), found = 0;
    pw_remote *r = NULL;

    if (key == MPI_KEYVAL_INVALID)
        return NULL;
    PMPI_Comm_get_attr(comm, key, &r, &found);
    if (found)
        return r;
    r = calloc(1, sizeof *r);
    if (!r)
        return NULL;
    r->rank = rank;
    r->id = pw_remote_new_id();
    enlist(r);
    if (PMPI_Comm_set_attr(comm, key, r) == MPI_SUCCESS)
        return r;
    forget(comm, key, r, NULL);
    return NULL;
}

const char *packwright_network_of(MPI_Comm comm)
{
    pw_remote *r = pw_remote_on ? pw_remote_of(comm, 0) : NULL;

    return r && r->of[1].nin > 0 ? pw_net->transports(r->of[1].in[0].peer) : NULL;
}

/* MPI may still call the delete callback, which frees the rest. */
void pw_remote_leave(void)
{
    pw_remote_thread_stop();
    pthread_mutex_lock(&remotes.lock);
    for (pw_remote *r = remotes.all; r; r = r->next)
        close_groups(r);
    if (remotes.keyval != MPI_KEYVAL_INVALID)
        PMPI_Comm_free_keyval(&remotes.keyval);
    remotes.keyval = MPI_KEYVAL_INVALID;
    pthread_mutex_unlock(&remotes.lock);
}
