#include "bench/node/exchange.h"

#include <stdlib.h>
#include <string.h>

/* ---- exchanges --------------------------------------------------------------------------------------------------- */

typedef struct calls {
    int (*isend)(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
    int (*irecv)(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
    int (*send_init)(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
    int (*recv_init)(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
    int (*startall)(int, MPI_Request[]);
    int (*request_free)(MPI_Request *);
    int (*waitall)(int, MPI_Request[], MPI_Status *);
    int (*alltoallw)(const void *, const int[], const int[], const MPI_Datatype[], void *, const int[], const int[],
                     const MPI_Datatype[], MPI_Comm);
    int (*neighbours)(const void *, const int[], const MPI_Aint[], const MPI_Datatype[], void *, const int[],
                      const MPI_Aint[], const MPI_Datatype[], MPI_Comm);
} calls;

#define CALLS(p)                          \
    {.isend = p##MPI_Isend,               \
     .irecv = p##MPI_Irecv,               \
     .send_init = p##MPI_Send_init,       \
     .recv_init = p##MPI_Recv_init,       \
     .startall = p##MPI_Startall,         \
     .request_free = p##MPI_Request_free, \
     .waitall = p##MPI_Waitall,           \
     .alltoallw = p##MPI_Alltoallw,       \
     .neighbours = p##MPI_Neighbor_alltoallw}

static const calls ours = CALLS(), below = CALLS(P);

bool node_peer_can(node_peer peer, const node_plan *p)
{
    return peer != NODE_HAND || p->row->exchange == NODE_CUBE;
}

static void messages(const calls *c, node_plan *p)
{
    MPI_Request requests[2 * NODE_SIDES];
    MPI_Status statuses[2 * NODE_SIDES];

    for (int i = 0; i < NODE_SIDES; i++)
        c->irecv(p->recv + p->recv_far[i], 1, p->recv_types[i], p->messages[i].from, p->messages[i].arrives, p->comm,
                 &requests[i]);
    for (int i = 0; i < NODE_SIDES; i++)
        c->isend(p->send + p->send_far[i], 1, p->send_types[i], p->messages[i].to, i, p->comm,
                 &requests[NODE_SIDES + i]);
    c->waitall(2 * NODE_SIDES, requests, statuses);
}

/* Peers that call MPI with the row's types, as indices of node_plan.requests. */
static const calls *const callers[] = {[NODE_NATIVE] = &below, [NODE_OURS] = &ours};

void node_exchange_begin(node_plan *p)
{
    for (int peer = 0; peer < 2 && p->row->exchange == NODE_PERSISTENT; peer++)
        for (int i = 0; i < NODE_SIDES; i++) {
            const node_message *m = &p->messages[i];

            callers[peer]->recv_init(p->recv + p->recv_far[i], 1, p->recv_types[i], m->from, m->arrives, p->comm,
                                     &p->requests[peer][i]);
            callers[peer]->send_init(p->send + p->send_far[i], 1, p->send_types[i], m->to, i, p->comm,
                                     &p->requests[peer][NODE_SIDES + i]);
        }
}

void node_exchange_end(node_plan *p)
{
    for (int peer = 0; peer < 2 && p->row->exchange == NODE_PERSISTENT; peer++)
        for (int i = 0; i < 2 * NODE_SIDES; i++)
            callers[peer]->request_free(&p->requests[peer][i]);
}

static void starts(const calls *c, MPI_Request *requests)
{
    MPI_Status statuses[2 * NODE_SIDES];

    c->startall(2 * NODE_SIDES, requests);
    c->waitall(2 * NODE_SIDES, requests, statuses);
}

static void messages_by_hand(node_plan *p)
{
    MPI_Request requests[2 * NODE_SIDES];
    MPI_Status statuses[2 * NODE_SIDES];
    int bytes = (int)p->row->bytes;

    for (int i = 0; i < NODE_SIDES; i++)
        PMPI_Irecv(p->packed_recv + i * p->row->bytes, bytes, MPI_BYTE, p->messages[i].from, p->messages[i].arrives,
                   p->comm, &requests[i]);
    for (int i = 0; i < NODE_SIDES; i++) {
        char *packed = p->packed_send + i * p->row->bytes;

        hand_pack_boxes_double(&p->messages[i].hand_send, packed);
        PMPI_Isend(packed, bytes, MPI_BYTE, p->messages[i].to, i, p->comm, &requests[NODE_SIDES + i]);
    }
    PMPI_Waitall(2 * NODE_SIDES, requests, statuses);
    for (int i = 0; i < NODE_SIDES; i++)
        hand_unpack_boxes_double(&p->messages[i].hand_recv, p->packed_recv + i * p->row->bytes);
}

void node_exchange_do(node_plan *p, node_peer peer)
{
    const calls *c = peer == NODE_OURS ? &ours : &below;

    if (peer == NODE_HAND)
        messages_by_hand(p);
    else if (p->row->exchange == NODE_PERSISTENT)
        starts(c, p->requests[peer]);
    else if (node_plan_has_tags(p))
        messages(c, p);
    else if (p->row->exchange == NODE_NEIGHBOURS)
        c->neighbours(p->send, p->counts, p->send_far, p->send_types, p->recv, p->counts, p->recv_far, p->recv_types,
                      p->comm);
    else
        c->alltoallw(p->send, p->counts, p->send_at, p->send_types, p->recv, p->counts, p->recv_at, p->recv_types,
                     p->comm);
}

/* ---- verification ------------------------------------------------------------------------------------------------ */

static const char untouched = (char)0xa5;

/* What a rank has at a place of its send buffer. */
static char content(int rank, int64_t at)
{
    return (char)(at * 131 + (at >> 8) * 17 + rank * 29 + 1);
}

static int64_t place(const node_box *b, int64_t i, int64_t j)
{
    return b->at + i * b->stride[0] + j * b->stride[1];
}

/* Writes a message into the expected receive buffer, byte by byte: blocks of the sender and of the receiver need not
 * have the same length. */
static void expect(char *expected, const node_box *send, const node_box *recv, int sender)
{
    int64_t i = 0, j = 0, k = 0;

    for (int64_t a = 0; a < recv->count[0]; a++)
        for (int64_t b = 0; b < recv->count[1]; b++)
            for (int64_t c = 0; c < recv->block; c++) {
                expected[place(recv, a, b) + c] = content(sender, place(send, i, j) + k);
                if (++k == send->block)
                    k = 0, j++;
                if (j == send->count[1])
                    j = 0, i++;
            }
}

/* A neighbour on both sides sends two messages, which have no tags. Some MPIs match them in the order of the sides, and
 * Packwright has to do as the MPI does. */
static bool is_expected(const node_plan *p, char *expected, bool by_order)
{
    memset(expected, untouched, (size_t)p->recv_bytes);
    for (int i = 0; i < p->n; i++) {
        const node_message *m = &p->messages[i];
        bool is_both = p->row->exchange == NODE_NEIGHBOURS && m->from == p->messages[i ^ 1].from;

        expect(expected, &p->messages[is_both && by_order ? i : m->arrives].send, &m->recv, m->from);
    }
    return memcmp(p->recv, expected, (size_t)p->recv_bytes) == 0;
}

bool node_verify(node_plan *p, node_peer peer)
{
    char *expected = malloc((size_t)p->recv_bytes);
    bool good;

    if (!expected)
        return false;
    for (int64_t i = 0; i < p->send_bytes; i++)
        p->send[i] = content(p->rank, i);
    memset(p->recv, untouched, (size_t)p->recv_bytes);
    node_exchange_do(p, peer);
    if (peer == NODE_NATIVE)
        p->by_order = !is_expected(p, expected, false);
    good = is_expected(p, expected, p->by_order);
    free(expected);
    return good;
}
