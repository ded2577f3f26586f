/*
 * How the ranks of a communicator find out whether all of them have a network, and find each other there. Data: the
 * slots of the communicator. Invariant: each rank makes the same calls of MPI, whatever fails on it, and all get the
 * same answer.
 */
#include "base/log.h"
#include "runtime/mpi/collective/remote_slot.h"

#include <stdlib.h>
#include <string.h>

/* The bytes of a block that no program has. */
static const int64_t NEVER = INT64_MAX;

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

/* Makes slots for the blocks that go to or come from these ranks, behind those that there are. Several blocks between
 * two processes stay with MPI, since MPIs differ in how they match them. */
static void add_slots(pw_remote_request *q, const int *ranks, int n, bool receives)
{
    for (int i = 0; i < n; i++)
        if (ranks[i] >= 0 && ranks[i] != q->rank && times(ranks, n, ranks[i]) == 1)
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

static bool connect(pw_remote_request *q, const card *cards)
{
    for (int i = 0; i < q->n; i++) {
        pw_remote_slot *s = &q->slots[i];
        const card *other = &cards[s->rank];

        s->id = other->id;
        s->peer = pw_net->connect(other->address, other->bytes);
        if (!s->peer)
            return false;
    }
    return true;
}

/* Returns the bytes of the shortest block that may gain by being read by this rank or from it. NEVER: none gains. */
static int64_t least_over(const char *transports)
{
    int64_t least = pw_model_remote_least(pw_model_now(), transports);

    if (pw_strategy_is_named(pw_remote_strategy))
        return 1;
    if (least == NEVER)
        pw_log(PW_LOG_INFO, "PACKWRIGHT_NET: reading blocks over %s is not known to gain",
               *transports ? transports : "unknown transports");
    return least;
}

/* Returns the largest one of what the slots' transports need. */
static int64_t least_of(const pw_remote_request *q)
{
    const char *before = NULL;
    int64_t least = 1;

    for (int i = 0; i < q->n && least < NEVER; i++) {
        const char *transports = pw_net->transports(q->slots[i].peer);
        int64_t here = before && !strcmp(transports, before) ? least : least_over(transports);

        least = here > least ? here : least;
        before = transports;
    }
    return least;
}

/* Returns the largest number of all ranks: all of them have it then. */
static int64_t largest(MPI_Comm comm, int64_t mine)
{
    int64_t all = NEVER;

    return PMPI_Allreduce(&mine, &all, 1, MPI_INT64_T, MPI_MAX, comm) == MPI_SUCCESS ? all : NEVER;
}

/* Tells all ranks this rank's address, and connects to those of the slots. */
static bool connect_all(pw_remote_request *q, const card *own, card *cards, MPI_Comm comm)
{
    return PMPI_Allgather(own, (int)sizeof *own, MPI_BYTE, cards, (int)sizeof *own, MPI_BYTE, comm) == MPI_SUCCESS &&
           connect(q, cards);
}

void pw_remote_make_slots(pw_remote_request *q, const pw_collective *c)
{
    int size = c->group->size, blocks = c->recv.blocks + c->send.blocks;
    card *cards = malloc((size_t)size * sizeof *cards), own = {.id = q->id};
    int *ranks = malloc(((size_t)blocks + 1) * sizeof *ranks);
    bool mine = cards && ranks && pw_net_start() && make_slots(q, c, ranks, ranks + c->recv.blocks);
    int64_t least;

    own.bytes = mine ? (uint32_t)pw_net->address(own.address, sizeof own.address) : 0;
    least = largest(c->way.comm, own.bytes > 0 ? 1 : NEVER);
    if (least < NEVER)
        least = largest(c->way.comm, connect_all(q, &own, cards, c->way.comm) ? least_of(q) : NEVER);
    if (least == NEVER)
        pw_remote_slots_close(q);
    q->least = least;
    q->agreed = true;
    free(ranks);
    free(cards);
}
