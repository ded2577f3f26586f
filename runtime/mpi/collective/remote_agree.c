/*
 * How the ranks of a communicator find out whether all of them have a network, or GPUs, and find each other there.
 * Data: the slots of the communicator. Invariant: each rank makes the same calls of MPI, whatever fails on it, and all
 * get the same answer.
 */
#include "runtime/mpi/collective/remote_slot.h"

#include <stdlib.h>

static int times(const int *ranks, int n, int rank)
{
    int found = 0;

    for (int i = 0; i < n; i++)
        found += ranks[i] == rank;
    return found;
}

/* Makes slots for the blocks that go to or come from these ranks, behind those that there are. */
static void add_slots(pw_remote_request *q, const int *ranks, int n, bool receives)
{
    for (int i = 0; i < n; i++)
        if (ranks[i] >= 0 && ranks[i] != q->rank && (pw_remote_transport->several || times(ranks, n, ranks[i]) == 1))
            q->slots[q->n++] =
                (pw_remote_slot){.receives = receives, .block = i, .rank = ranks[i], .self = q->rank, .own_id = q->id};
}

/* Makes the slots of a family of calls. False: out of memory, or the neighbours are not known. */
static bool make_slots(pw_remote_request *q, const pw_collective *c, int *in, int *out)
{
    int nin = c->recv.blocks, nout = c->send.blocks;

    if (c->family == PW_NEIGHBOUR_ALLTOALL && !pw_neighbour_ranks(c->way.comm, &c->group->neighbours, in, out))
        return false;
    for (int i = 0; c->family == PW_ALLTOALL && i < c->group->size; i++)
        in[i] = out[i] = i;
    q->slots = calloc((size_t)nin + (size_t)nout + 1, sizeof *q->slots);
    if (!q->slots)
        return false;
    add_slots(q, out, nout, false);
    add_slots(q, in, nin, true);
    return true;
}

int64_t pw_remote_largest(MPI_Comm comm, int64_t mine)
{
    int64_t all = PW_REMOTE_NEVER;

    return PMPI_Allreduce(&mine, &all, 1, MPI_INT64_T, MPI_MAX, comm) == MPI_SUCCESS ? all : PW_REMOTE_NEVER;
}

/* Processes of another world have looked for GPUs by themselves. */
static bool is_of_world(MPI_Comm comm)
{
    MPI_Group groups[3]; /* the world, those who talk, and those of them who are not of it */
    int n;

    PMPI_Comm_group(MPI_COMM_WORLD, &groups[0]);
    PMPI_Comm_group(comm, &groups[1]);
    PMPI_Group_difference(groups[1], groups[0], &groups[2]);
    PMPI_Group_size(groups[2], &n);
    for (int i = 0; i < 3; i++)
        PMPI_Group_free(&groups[i]);
    return n == 0;
}

/* `cards`: NULL: there is no memory. */
static void agree(pw_remote_request *q, const pw_collective *c, void *cards, int *ranks)
{
    const pw_transport *by = pw_remote_transport;
    bool mine = cards && ranks && c->send.blocks <= by->most_blocks && by->can() &&
                make_slots(q, c, ranks, ranks + c->recv.blocks);

    q->least = pw_remote_largest(c->way.comm, mine ? 1 : PW_REMOTE_NEVER);
    if (q->least < PW_REMOTE_NEVER)
        by->connect(q, c, cards);
    if (q->least == PW_REMOTE_NEVER)
        pw_remote_slots_close(q);
}

pw_remote_request *pw_remote_make(const pw_collective *c, uint32_t id)
{
    const pw_transport *by = pw_remote_transport;
    size_t blocks = (size_t)(c->recv.blocks + c->send.blocks);
    pw_remote_request q = {.id = id, .rank = c->group->rank}, *kept = malloc(sizeof *kept);
    void *cards = calloc(1, (size_t)c->group->size * by->bytes_a_rank + blocks * by->bytes_a_block + 1);
    int *ranks = kept ? malloc((blocks + 1) * sizeof *ranks) : NULL;

    if (!by->in_world || is_of_world(c->way.comm))
        agree(&q, c, cards, ranks);
    free(ranks);
    free(cards);
    if (q.n == 0) {
        free(q.slots);
        free(kept);
        return &pw_remote_none;
    }
    *kept = q;
    return kept;
}
