#include "bench/messages/exchange.h"

#include "bench/clock.h"
#include "runtime/mpi/strategy/strategy.h"

#include <stdlib.h>
#include <string.h>

static const char *const modes[MSG_MODES] = {"ping-pong", "fresh",    "stream",     "overlap",
                                             "in-flight", "alltoall", "neighbours", "self"};
static const char *const peers[MSG_PEERS] = {"native", "ours",   "hand",     "contiguous",
                                             "moved",  "packed", "pipeline", "direct"};

const char *msg_mode_name(int mode)
{
    return modes[mode];
}

const char *msg_peer_name(int peer)
{
    return peers[peer];
}

bool msg_mode_returns(msg_mode mode)
{
    return mode == MSG_PING_PONG || mode == MSG_FRESH;
}

bool msg_mode_can(msg_mode mode, const msg_parcel *p)
{
    return mode != MSG_FRESH || (msg_loop_is_there(&p->loop) && !p->loop.list && p->loop.block % 8 == 0);
}

/* Returns the strategy that a peer names. PW_STRATEGY_COUNT: it leaves the choice to the model. */
static pw_strategy_id strategy_of(msg_peer peer)
{
    switch (peer) {
    case MSG_PACKED: return PW_STRATEGY_PACKED;
    case MSG_PIPELINE: return PW_STRATEGY_PIPELINE;
    case MSG_DIRECT: return PW_STRATEGY_DIRECT;
    default: return PW_STRATEGY_COUNT;
    }
}

/* Whether the MPI has a place for the peer's strategy. */
static bool has_place(msg_peer peer)
{
    bool there = packwright_force_strategy(strategy_of(peer));

    packwright_force_strategy(PW_STRATEGY_COUNT);
    return there;
}

static bool is_direct_allowed(void)
{
    const char *one_copy = getenv("PACKWRIGHT_ONE_COPY");

    return one_copy && strcmp(one_copy, "1") == 0;
}

bool msg_peer_can(msg_peer peer, msg_mode mode, const msg_world *w, const msg_parcel *p)
{
    switch (peer) {
    case MSG_HAND: return msg_loop_is_there(&p->loop);
    case MSG_MOVED: return mode != MSG_STREAM && mode != MSG_OVERLAP && msg_loop_is_there(&p->loop);
    case MSG_PACKED:
    case MSG_PIPELINE: return w->by_strategy && has_place(peer);
    case MSG_DIRECT: return w->by_strategy && is_direct_allowed();
    default: return true;
    }
}

static MPI_Comm ring_of(msg_mode mode, const msg_world *w)
{
    return mode == MSG_SELF ? w->alone : w->ring;
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

typedef struct calls {
    int (*commit)(MPI_Datatype *);
    int (*free)(MPI_Datatype *);
    int (*send)(const void *, int, MPI_Datatype, int, int, MPI_Comm);
    int (*recv)(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Status *);
    int (*isend)(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
    int (*irecv)(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
    int (*wait)(MPI_Request *, MPI_Status *);
    int (*waitall)(int, MPI_Request[], MPI_Status *);
    int (*alltoall)(const void *, int, MPI_Datatype, void *, int, MPI_Datatype, MPI_Comm);
    int (*neighbours)(const void *, const int[], const MPI_Aint[], const MPI_Datatype[], void *, const int[],
                      const MPI_Aint[], const MPI_Datatype[], MPI_Comm);
} calls;

#define CALLS(p)                   \
    {.commit = p##MPI_Type_commit, \
     .free = p##MPI_Type_free,     \
     .send = p##MPI_Send,          \
     .recv = p##MPI_Recv,          \
     .isend = p##MPI_Isend,        \
     .irecv = p##MPI_Irecv,        \
     .wait = p##MPI_Wait,          \
     .waitall = p##MPI_Waitall,    \
     .alltoall = p##MPI_Alltoall,  \
     .neighbours = p##MPI_Neighbor_alltoallw}

static const calls ours = CALLS(), below = CALLS(P);

/* What one peer moves. */
typedef struct cargo {
    const calls *call;
    char *send, *recv;
    MPI_Datatype type;
    int count;
    MPI_Aint step;
} cargo;

static cargo cargo_of(msg_mode mode, msg_peer peer, const msg_buffers *b)
{
    const msg_parcel *p = b->parcel;
    bool is_ours = peer == MSG_OURS || strategy_of(peer) != PW_STRATEGY_COUNT;
    cargo c = {.call = is_ours ? &ours : &below};

    if (peer == MSG_PLAIN) {
        c.send = b->plain_send, c.recv = b->plain_recv;
        c.type = MPI_BYTE, c.count = (int)p->bytes, c.step = p->bytes;
        return c;
    }
    c.send = b->send - p->lo, c.recv = b->recv - p->lo;
    if (mode == MSG_ALLTOALL)
        c.type = p->spaced, c.count = p->spaced_count, c.step = p->step;
    else
        c.type = p->type, c.count = p->count, c.step = p->apart;
    return c;
}

static void ping_pong(const cargo *c, const msg_world *w)
{
    MPI_Status status;

    if (w->partner == MPI_PROC_NULL)
        return;
    if (w->rank < w->partner)
        c->call->send(c->send, c->count, c->type, w->partner, 0, w->all);
    c->call->recv(c->recv, c->count, c->type, w->partner, 0, w->all, &status);
    if (w->rank > w->partner)
        c->call->send(c->send, c->count, c->type, w->partner, 0, w->all);
}

/* The empty message says that the last one has been received. */
static void stream(const cargo *c, const msg_world *w)
{
    MPI_Status status;

    if (w->partner == MPI_PROC_NULL)
        return;
    for (int i = 0; i < MSG_IN_FLIGHT; i++)
        if (w->rank < w->partner)
            c->call->send(c->send, c->count, c->type, w->partner, 0, w->all);
        else
            c->call->recv(c->recv, c->count, c->type, w->partner, 0, w->all, &status);
    if (w->rank < w->partner)
        PMPI_Recv(NULL, 0, MPI_BYTE, w->partner, 1, w->all, &status);
    else
        PMPI_Send(NULL, 0, MPI_BYTE, w->partner, 1, w->all);
}

static void fresh_ping_pong(const cargo *c, const msg_loop *l, const msg_world *w)
{
    cargo own = *c;

    if (w->partner == MPI_PROC_NULL)
        return;
    if (c->type != MPI_BYTE) {
        MPI_Type_vector((int)l->n, (int)l->block / 8, (int)l->stride / 8, MPI_DOUBLE, &own.type);
        c->call->commit(&own.type);
    }
    ping_pong(&own, w);
    if (c->type != MPI_BYTE)
        c->call->free(&own.type);
}

static void compute(double ns)
{
    double until = bench_now() + ns;

    while (bench_now() < until)
        ;
}

/* Returns the time that the sender spends in the two calls, in which it cannot compute, and 0 on other ranks. By hand
 * it packs, too. The empty message says that the next message will be received. */
static double overlap(const cargo *c, const msg_world *w, const msg_buffers *b, bool by_hand)
{
    MPI_Request request;
    MPI_Status status;
    double begin, in_calls;

    if (w->partner == MPI_PROC_NULL)
        return 0;
    if (w->rank > w->partner) {
        PMPI_Send(NULL, 0, MPI_BYTE, w->partner, 1, w->all);
        c->call->recv(c->recv, c->count, c->type, w->partner, 0, w->all, &status);
        return 0;
    }
    PMPI_Recv(NULL, 0, MPI_BYTE, w->partner, 1, w->all, &status);
    begin = bench_now();
    if (by_hand)
        msg_loop_pack(&b->parcel->loop, b->send - b->parcel->lo, b->plain_send);
    c->call->isend(c->send, c->count, c->type, w->partner, 0, w->all, &request);
    in_calls = bench_now() - begin;
    compute(b->compute_ns);
    begin = bench_now();
    c->call->wait(&request, &status);
    return in_calls + (bench_now() - begin);
}

/* All sends read one buffer, as is allowed; receives have one each. */
static void in_flight(const cargo *c, const msg_world *w)
{
    MPI_Request requests[2 * MSG_IN_FLIGHT];
    MPI_Status statuses[2 * MSG_IN_FLIGHT];

    if (w->partner == MPI_PROC_NULL)
        return;
    for (int i = 0; i < MSG_IN_FLIGHT; i++)
        c->call->irecv(c->recv + i * c->step, c->count, c->type, w->partner, i, w->all, &requests[i]);
    for (int i = 0; i < MSG_IN_FLIGHT; i++)
        c->call->isend(c->send, c->count, c->type, w->partner, i, w->all, &requests[MSG_IN_FLIGHT + i]);
    c->call->waitall(2 * MSG_IN_FLIGHT, requests, statuses);
}

static void neighbours(const cargo *c, MPI_Comm ring)
{
    const int counts[2] = {c->count, c->count};
    const MPI_Datatype types[2] = {c->type, c->type};
    const MPI_Aint from[2] = {0, 0}, to[2] = {0, c->step};

    c->call->neighbours(c->send, counts, from, types, c->recv, counts, to, types, ring);
}

/* ---- by hand ----------------------------------------------------------------------------------------------------- */

/* Packs `n` messages, `step` bytes apart, one behind the other. */
static void pack(const msg_buffers *b, const cargo *c, int n, MPI_Aint step)
{
    for (int i = 0; i < n; i++)
        msg_loop_pack(&b->parcel->loop, c->send + i * step, b->plain_send + i * b->parcel->bytes);
}

static void unpack(const msg_buffers *b, const cargo *c, int n)
{
    for (int i = 0; i < n; i++)
        msg_loop_unpack(&b->parcel->loop, c->recv + i * c->step, b->plain_recv + i * b->parcel->bytes);
}

static void hand_ping_pong(const cargo *c, const msg_world *w, const msg_buffers *b)
{
    int bytes = (int)b->parcel->bytes;
    MPI_Status status;

    if (w->partner == MPI_PROC_NULL)
        return;
    for (int turn = 0; turn < 2; turn++) {
        if ((w->rank < w->partner) == (turn == 0)) {
            pack(b, c, 1, 0);
            PMPI_Send(b->plain_send, bytes, MPI_BYTE, w->partner, 0, w->all);
        } else {
            PMPI_Recv(b->plain_recv, bytes, MPI_BYTE, w->partner, 0, w->all, &status);
            unpack(b, c, 1);
        }
    }
}

static void hand_stream(const cargo *c, const msg_world *w, const msg_buffers *b)
{
    int bytes = (int)b->parcel->bytes;
    MPI_Status status;

    if (w->partner == MPI_PROC_NULL)
        return;
    for (int i = 0; i < MSG_IN_FLIGHT; i++)
        if (w->rank < w->partner) {
            pack(b, c, 1, 0);
            PMPI_Send(b->plain_send, bytes, MPI_BYTE, w->partner, 0, w->all);
        } else {
            PMPI_Recv(b->plain_recv, bytes, MPI_BYTE, w->partner, 0, w->all, &status);
            unpack(b, c, 1);
        }
    if (w->rank < w->partner)
        PMPI_Recv(NULL, 0, MPI_BYTE, w->partner, 1, w->all, &status);
    else
        PMPI_Send(NULL, 0, MPI_BYTE, w->partner, 1, w->all);
}

static double hand_overlap(const msg_world *w, const msg_buffers *b)
{
    const cargo packed = cargo_of(MSG_OVERLAP, MSG_PLAIN, b);
    double in_calls = overlap(&packed, w, b, true);

    if (w->partner != MPI_PROC_NULL && w->rank > w->partner)
        msg_loop_unpack(&b->parcel->loop, b->recv - b->parcel->lo, b->plain_recv);
    return in_calls;
}

static void hand_in_flight(const cargo *c, const msg_world *w, const msg_buffers *b)
{
    MPI_Request requests[2 * MSG_IN_FLIGHT];
    MPI_Status statuses[2 * MSG_IN_FLIGHT];
    int bytes = (int)b->parcel->bytes;

    if (w->partner == MPI_PROC_NULL)
        return;
    for (int i = 0; i < MSG_IN_FLIGHT; i++)
        PMPI_Irecv(b->plain_recv + i * b->parcel->bytes, bytes, MPI_BYTE, w->partner, i, w->all, &requests[i]);
    for (int i = 0; i < MSG_IN_FLIGHT; i++) {
        char *packed = b->plain_send + i * b->parcel->bytes;

        msg_loop_pack(&b->parcel->loop, c->send, packed);
        PMPI_Isend(packed, bytes, MPI_BYTE, w->partner, i, w->all, &requests[MSG_IN_FLIGHT + i]);
    }
    PMPI_Waitall(2 * MSG_IN_FLIGHT, requests, statuses);
    unpack(b, c, MSG_IN_FLIGHT);
}

static void hand_alltoall(const cargo *c, const msg_world *w, const msg_buffers *b)
{
    int bytes = (int)b->parcel->bytes;

    pack(b, c, w->ranks, c->step);
    PMPI_Alltoall(b->plain_send, bytes, MPI_BYTE, b->plain_recv, bytes, MPI_BYTE, w->all);
    unpack(b, c, w->ranks);
}

static void hand_neighbours(const cargo *c, MPI_Comm ring, const msg_buffers *b)
{
    int bytes = (int)b->parcel->bytes;

    pack(b, c, 2, 0);
    PMPI_Neighbor_alltoall(b->plain_send, bytes, MPI_BYTE, b->plain_recv, bytes, MPI_BYTE, ring);
    unpack(b, c, 2);
}

/* Packs and unpacks `n` messages, without a message. Of a ping-pong both ranks' part, which nobody does at once. */
static void move(msg_mode mode, const cargo *c, const msg_world *w, const msg_buffers *b)
{
    int n = msg_received(mode, w), turns = msg_mode_returns(mode) ? 2 : 1;

    if (mode <= MSG_IN_FLIGHT_8 && (w->partner == MPI_PROC_NULL || (turns > 1 && w->rank > w->partner)))
        return;
    for (int turn = 0; turn < turns; turn++) {
        pack(b, c, n, mode == MSG_ALLTOALL ? c->step : 0);
        for (int i = 0; i < n; i++)
            msg_loop_unpack(&b->parcel->loop, c->recv + i * c->step, b->plain_send + i * b->parcel->bytes);
    }
}

static void exchange_by_hand(msg_mode mode, const cargo *c, const msg_world *w, const msg_buffers *b)
{
    switch (mode) {
    case MSG_PING_PONG:
    case MSG_FRESH: hand_ping_pong(c, w, b); break;
    case MSG_STREAM: hand_stream(c, w, b); break;
    case MSG_IN_FLIGHT_8: hand_in_flight(c, w, b); break;
    case MSG_ALLTOALL: hand_alltoall(c, w, b); break;
    default: hand_neighbours(c, ring_of(mode, w), b); break;
    }
}

static void exchange(msg_mode mode, const cargo *c, const msg_world *w, const msg_buffers *b)
{
    switch (mode) {
    case MSG_PING_PONG: ping_pong(c, w); break;
    case MSG_FRESH: fresh_ping_pong(c, &b->parcel->loop, w); break;
    case MSG_STREAM: stream(c, w); break;
    case MSG_IN_FLIGHT_8: in_flight(c, w); break;
    case MSG_ALLTOALL: c->call->alltoall(c->send, c->count, c->type, c->recv, c->count, c->type, w->all); break;
    default: neighbours(c, ring_of(mode, w)); break;
    }
}

/* Returns the time of one exchange. */
static double exchange_timed(msg_mode mode, msg_peer peer, const cargo *c, const msg_world *w, const msg_buffers *b)
{
    double begin = bench_now();

    if (mode == MSG_OVERLAP)
        return peer == MSG_HAND ? hand_overlap(w, b) : overlap(c, w, b, false);
    if (peer == MSG_HAND)
        exchange_by_hand(mode, c, w, b);
    else if (peer == MSG_MOVED)
        move(mode, c, w, b);
    else
        exchange(mode, c, w, b);
    return bench_now() - begin;
}

double msg_exchange(msg_mode mode, msg_peer peer, const msg_world *w, const msg_buffers *b, int times)
{
    bool by_strategy = strategy_of(peer) != PW_STRATEGY_COUNT;
    cargo c = cargo_of(mode, peer, b);
    double ns = 0;

    if (by_strategy)
        packwright_force_strategy(strategy_of(peer));
    for (int i = 0; i < times; i++)
        ns += exchange_timed(mode, peer, &c, w, b);
    if (by_strategy)
        packwright_force_strategy(PW_STRATEGY_COUNT);
    return ns;
}

/* ---- verification ------------------------------------------------------------------------------------------------ */

/* Depends on each byte and its place. */
static uint64_t digest(const char *memory, int64_t bytes)
{
    uint64_t h = 0;

    for (int64_t i = 0; i + 8 <= bytes; i += 8) {
        uint64_t word;

        memcpy(&word, memory + i, 8);
        h = (h ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        h ^= h >> 29;
    }
    return h;
}

static void fill(char *memory, int64_t bytes, unsigned seed)
{
    for (int64_t i = 0; i < bytes; i++)
        memory[i] = (char)(i * 131 + (i >> 8) * 17 + seed * 29);
}

/* A rank without a partner receives nothing, nor does the one that sends a stream. */
static bool receives(msg_mode mode, const msg_world *w)
{
    return mode > MSG_IN_FLIGHT_8 ||
           (w->partner != MPI_PROC_NULL && ((mode != MSG_STREAM && mode != MSG_OVERLAP) || w->rank > w->partner));
}

bool msg_verify(msg_mode mode, const msg_world *w, const msg_buffers *b)
{
    uint64_t untouched, after[MSG_PEERS];
    bool same = true;

    fill(b->send, b->send_bytes, (unsigned)w->rank + 1);
    memset(b->recv, 0xa5, (size_t)b->recv_bytes);
    untouched = digest(b->recv, b->recv_bytes);
    for (msg_peer peer = MSG_NATIVE; peer < MSG_PEERS; peer++) {
        if (peer == MSG_PLAIN || peer == MSG_MOVED || !msg_peer_can(peer, mode, w, b->parcel))
            continue;
        memset(b->recv, 0xa5, (size_t)b->recv_bytes);
        msg_exchange(mode, peer, w, b, 1);
        after[peer] = digest(b->recv, b->recv_bytes);
        same = same && after[peer] == after[MSG_NATIVE];
    }
    return same && (after[MSG_OURS] != untouched) == receives(mode, w);
}
