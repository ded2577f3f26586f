/*
 * How the ranks of a communicator find out whether all of them have a network, or GPUs, and find each other there.
 * Data: the slots of the communicator. Invariant: each rank makes the same calls of MPI, whatever fails on it, and all
 * get the same answer.
 */
#include "base/log.h"
#include "runtime/engine/gpu/memory.h"
#include "runtime/exchange/direct.h"
#include "runtime/exchange/gpu/shown.h"
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
 * two processes do not go over the network, since MPIs differ in how they match them. */
static void add_slots(pw_remote_request *q, const int *ranks, int n, bool receives)
{
    for (int i = 0; i < n; i++)
        if (ranks[i] >= 0 && ranks[i] != q->rank && (pw_remote_is_near || times(ranks, n, ranks[i]) == 1))
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

/* In a call of very many blocks, few of which stay in the node, the others are not worth a record. */
static bool can_begin(const pw_collective *c)
{
    return pw_remote_is_near ? pw_memory_has_cuda() && pw_gpu_may_show() && c->send.blocks <= PW_SEGMENT_STAND_INS
                             : pw_net_start();
}

/* `cards`: also for pw_near_connect. */
static void agree(pw_remote_request *q, const pw_collective *c, card *cards, int *ranks)
{
    bool mine = cards && ranks && can_begin(c) && make_slots(q, c, ranks, ranks + c->recv.blocks);
    card own = {.id = q->id};

    own.bytes = !mine ? 0 : pw_remote_is_near ? 1 : (uint32_t)pw_net->address(own.address, sizeof own.address);
    q->least = largest(c->way.comm, own.bytes > 0 ? 1 : NEVER);
    if (q->least < NEVER && pw_remote_is_near)
        pw_near_connect(q, c, (pw_near_card *)cards);
    else if (q->least < NEVER)
        q->least = largest(c->way.comm, connect_all(q, &own, cards, c->way.comm) ? least_of(q) : NEVER);
    if (q->least == NEVER)
        pw_remote_slots_close(q);
}

pw_remote_request *pw_remote_make(const pw_collective *c, uint32_t id)
{
    size_t size = (size_t)c->group->size, blocks = (size_t)(c->recv.blocks + c->send.blocks);
    pw_remote_request q = {.id = id, .rank = c->group->rank}, *kept = malloc(sizeof *kept);
    card *cards = calloc(size * sizeof *cards + blocks * (sizeof(pw_near_card) + sizeof(pw_block_argument)), 1);
    int *ranks = kept ? malloc((blocks + 1) * sizeof *ranks) : NULL;

    if (!pw_remote_is_near || is_of_world(c->way.comm))
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
