/* How the ranks of a communicator find out whether all of them have a network, and find each other there. */
#include "runtime/mpi/collective/remote_slot.h"

#include <stdlib.h>

/* What a rank tells all others. */
typedef struct card {
    uint32_t id, bytes;
    unsigned char address[PW_NET_ADDRESS_BYTES];
} card;

static int times(const int *ranks, int n, int rank)
{
    int found = 0;

    for (int i = 0; i < n; i++)
        found += ranks[i] == rank;
    return found;
}

/* Returns the slots for blocks that go to or come from these ranks. Several blocks between two processes stay with MPI,
 * since MPIs differ in how they match them. NULL: out of memory. */
static pw_remote_slot *slots_of(const int *ranks, int n, int self, int *used)
{
    pw_remote_slot *slots = calloc((size_t)n + 1, sizeof *slots);

    *used = 0;
    for (int i = 0; slots && i < n; i++)
        if (ranks[i] >= 0 && ranks[i] != self && times(ranks, n, ranks[i]) == 1)
            slots[(*used)++] = (pw_remote_slot){.block = i, .rank = ranks[i]};
    return slots;
}

/* Makes the slots of a family of calls. */
static bool make_slots(pw_remote *r, pw_remote_group *g, const pw_collective *c, int *in, int *out)
{
    int nin = c->recv.blocks, nout = c->send.blocks;

    if (c->family == PW_NEIGHBOUR_ALLTOALL && !pw_neighbour_ranks(c->way.comm, &c->group->neighbours, in, out))
        return false;
    for (int i = 0; c->family == PW_ALLTOALL && i < c->group->size; i++)
        in[i] = out[i] = i;
    g->in = slots_of(in, nin, r->rank, &g->nin);
    g->out = slots_of(out, nout, r->rank, &g->nout);
    return g->in && g->out;
}

static bool connect(pw_remote_slot *slots, int n, const card *cards)
{
    for (int i = 0; i < n; i++) {
        const card *other = &cards[slots[i].rank];

        slots[i].id = other->id;
        slots[i].peer = pw_net_connect(other->address, other->bytes);
        if (!slots[i].peer)
            return false;
    }
    return true;
}

/* Returns whether all ranks say yes. */
static bool all_say(MPI_Comm comm, bool yes)
{
    int mine = yes, all = 0;

    return PMPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, comm) == MPI_SUCCESS && all;
}

void pw_remote_make_group(pw_remote *r, pw_remote_group *g, const pw_collective *c)
{
    int size = c->group->size, blocks = c->recv.blocks + c->send.blocks;
    card *cards = malloc((size_t)size * sizeof *cards), own = {.id = r->id};
    int *ranks = malloc(((size_t)blocks + 1) * sizeof *ranks);
    bool mine = cards && ranks && pw_net_start() && make_slots(r, g, c, ranks, ranks + c->recv.blocks);

    own.bytes = mine ? (uint32_t)pw_net_address(own.address, sizeof own.address) : 0;
    g->agreed = true;
    if (!all_say(c->way.comm, own.bytes > 0) ||
        !all_say(c->way.comm, PMPI_Allgather(&own, (int)sizeof own, MPI_BYTE, cards, (int)sizeof own, MPI_BYTE,
                                             c->way.comm) == MPI_SUCCESS &&
                                  connect(g->out, g->nout, cards) && connect(g->in, g->nin, cards))) {
        pw_remote_group_close(g);
        g->agreed = true;
    }
    free(ranks);
    free(cards);
}
