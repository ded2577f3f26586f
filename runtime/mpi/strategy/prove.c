/* Proves channels of the strategy `direct` by messages between two processes that both expect them. */
#include "ir/ir.h"
#include "runtime/engine/memory/pool.h"
#include "runtime/exchange/direct.h"
#include "runtime/exchange/heap.h"
#include "runtime/exchange/inbound.h"
#include "runtime/mpi/entry/gate.h"
#include "runtime/mpi/strategy/direct.h"
#include "runtime/mpi/strategy/prepare.h"
#include "runtime/mpi/strategy/strategy.h"
#include "runtime/mpi/types/registry.h"

#include <stdlib.h>

/* Messages of this length prove longer ones. */
enum { BYTES = PW_DIRECT_LEAST, EXTENT = 2 * BYTES, MESSAGES = 2 };

static const char objects[] = "type(lb 0, extent 65536) { stream 512 stride 128 { bytes 64 align 8 } }";

_Static_assert(EXTENT == 65536, "the text says so");

/* What both sides of this process need. Without some of it, messages go to `plain`: the peer counts on them. That part
 * is on the stack, 64 KiB, since it must be there when memory is not. */
typedef struct proof {
    uint64_t channel;
    pw_layout *layout;
    char *sent; /* objects, where the peer can map them */
    char *staging, *received;
    char plain[2][BYTES];
} proof;

static pw_layout *make_layout(void)
{
    pw_layout_engine *engine = pw_registry_engine();
    pw_arena *arena = engine ? pw_arena_create() : NULL;
    pw_layout *layout = NULL;
    pw_diag diag;
    pw_type type;

    if (arena && pw_parse(objects, arena, &type, NULL, &diag) == PW_OK)
        pw_layout_get(engine, &type, &layout, &diag);
    pw_arena_destroy(arena);
    return layout;
}

static void take(proof *p)
{
    p->layout = make_layout();
    p->sent = p->layout ? pw_heap_take(EXTENT) : NULL;
    p->staging = p->layout ? pw_pool_take(BYTES) : NULL;
    p->received = p->staging ? malloc(EXTENT) : NULL;
}

static void give(proof *p)
{
    if (p->sent)
        pw_heap_give(p->sent);
    pw_pool_give(p->staging, BYTES);
    free(p->received);
    pw_layout_unref(p->layout);
}

/* One message in each direction. */
static int exchange(proof *p, MPI_Comm node, int peer)
{
    const pw_direct_message message = {.layout = p->layout, .memory = p->sent, .count = 1, .bytes = BYTES};
    pw_inbound *expected = p->received ? pw_inbound_expect(p->staging, BYTES, p->layout, p->received) : NULL;
    int number = p->sent ? pw_direct_take(p->channel, BYTES) : -1, rc;

    if (number >= 0)
        pw_direct_begin(number, &message);
    rc = PMPI_Sendrecv(number >= 0 ? pw_direct_data(number) : p->plain[0], BYTES, MPI_BYTE, peer, 0,
                       expected ? p->staging : p->plain[1], BYTES, MPI_BYTE, peer, 0, node, MPI_STATUS_IGNORE);
    pw_inbound_forget(expected);
    if (number >= 0)
        pw_direct_give(number);
    return rc;
}

static int prove(MPI_Comm node, int peer, uint64_t channel)
{
    proof p = {.channel = channel};
    int rc = MPI_SUCCESS;

    take(&p);
    for (int i = 0; rc == MPI_SUCCESS && i < MESSAGES; i++)
        rc = exchange(&p, node, peer);
    give(&p);
    return rc;
}

bool packwright_can_prove(void)
{
    pw_gate_mark mark;
    bool can;

    if (!pw_gate_enter(&mark))
        return false;
    can = pw_direct_is_on();
    pw_gate_leave();
    return can;
}

int packwright_prove(MPI_Comm node, int peer, MPI_Comm comm, int number)
{
    uint64_t channel = pw_message_channel(comm, number, PW_SEND);
    int due = !pw_direct_is_proven(channel, BYTES), peers_due, rc;
    pw_gate_mark mark;
    bool entered = pw_gate_enter(&mark);

    rc = PMPI_Sendrecv(&due, 1, MPI_INT, peer, 0, &peers_due, 1, MPI_INT, peer, 0, node, MPI_STATUS_IGNORE);
    if (rc == MPI_SUCCESS && (due || peers_due))
        rc = prove(node, peer, channel);
    if (entered)
        pw_gate_leave();
    return rc;
}
