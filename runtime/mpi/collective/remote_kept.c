/*
 * What is kept of communicators whose blocks may be remote: it lies with what collectives remember of them
 * (communicator.h), and goes with that.
 */
#include "runtime/mpi/collective/remote_slot.h"

#include <stdlib.h>

uint32_t pw_remote_new_id(void)
{
    static _Atomic uint32_t ids;

    return ++ids;
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

void pw_remote_slots_close(pw_remote_request *q)
{
    close_slots(q->out, q->nout);
    close_slots(q->in, q->nin);
    q->out = q->in = NULL;
    q->nout = q->nin = 0;
    q->agreed = false;
}

static void close_families(pw_remote *r)
{
    for (int i = 0; i < 2; i++)
        pw_remote_slots_close(&r->of[i]);
}

void pw_remote_forget(pw_remote *r)
{
    if (r)
        close_families(r);
    free(r);
}

/* MPI calls of one communicator come one after the other. */
pw_remote *pw_remote_of(const pw_collective *c)
{
    pw_communicator *group = (pw_communicator *)c->group;

    if (group == &c->unknown)
        return NULL;
    if (!group->remote && (group->remote = calloc(1, sizeof(pw_remote)))) {
        const pw_remote_request none = {.rank = group->rank, .id = pw_remote_new_id()};

        *group->remote = (pw_remote){{none, none}};
    }
    return group->remote;
}

const char *packwright_network_of(MPI_Comm comm)
{
    const pw_communicator *group = pw_communicator_peek(comm);
    const pw_remote_request *q = group && group->remote ? &group->remote->of[1] : NULL;

    return q && q->nin > 0 ? pw_net->transports(q->in[0].peer) : NULL;
}

static void leave(void *arg, uint64_t key, void *communicator)
{
    pw_remote *r = ((pw_communicator *)communicator)->remote;

    (void)arg, (void)key;
    if (r)
        close_families(r);
}

/* MPI may still call the communicators' delete callback, which frees the rest. */
void pw_remote_leave(void)
{
    pw_remote_thread_stop();
    pw_handle_table_each(&pw_communicators, leave, NULL);
}
