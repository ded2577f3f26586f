/* Calls of which some blocks are remote. */
#include "runtime/mpi/collective/remote.h"

#include "base/env.h"
#include "base/log.h"
#include "runtime/engine/memory/pool.h"
#include "runtime/mpi/collective/block.h"
#include "runtime/mpi/collective/remote_slot.h"

#include <sched.h>

bool pw_remote_on;

void pw_remote_start(void)
{
    bool is_named = pw_env_choice(PW_ENV_NET) != 0; /* "off" */

    pw_remote_on = is_named && pw_env_bool(PW_ENV_ALL_RANKS);
    if (is_named && !pw_remote_on)
        pw_log(PW_LOG_WARN, "PACKWRIGHT_NET does nothing without PACKWRIGHT_ALL_RANKS=1");
}

/* Waits for what the slots have begun. Other ranks may be in a call of MPI that waits for this one, so MPI goes on,
 * too. */
static void wait_for(pw_remote_slot *slots, int n)
{
    enum { PATIENCE = 64 };

    for (int i = 0, tries = 0; i < n; tries++) {
        int flag;

        if (!slots[i].active || pw_net->is_over(&slots[i].op)) {
            i++;
            continue;
        }
        pw_net->progress();
        PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
        if (tries % PATIENCE == PATIENCE - 1)
            sched_yield();
    }
}

pw_remote_request *pw_remote_agree(const pw_collective *c)
{
    bool is_possible = !c->group->between_groups && c->send.buf != MPI_IN_PLACE &&
                       (c->family != PW_NEIGHBOUR_ALLTOALL || c->group->has_neighbours);
    pw_remote *r = is_possible ? pw_remote_of(c) : NULL;
    pw_remote_request *q = r ? &r->of[c->family == PW_NEIGHBOUR_ALLTOALL] : NULL;

    if (q && !q->agreed)
        pw_remote_make_slots(q, c);
    return q && q->nout + q->nin > 0 ? q : NULL;
}

/* Takes the agreed blocks of one side out of the call. Returns how many those are, with those that may be lost. */
static int take_out(const pw_remote_slot *slots, int n, pw_side *side, MPI_Count *counts)
{
    int found = 0;

    for (int i = 0; i < n; i++) {
        found += slots[i].agreed || slots[i].lost;
        if (!slots[i].agreed)
            continue;
        pw_block_take_out(side, counts, slots[i].block);
        pw_message_count(&slots[i].m, pw_remote_strategy);
    }
    return found;
}

/* Returns how many blocks are not left to MPI alone. */
static int talk(pw_remote_talk *t, bool sound)
{
    pw_collective *c = t->call;
    pw_remote_request *q = t->request;

    q->bytes = (int64_t)sizeof(MPI_Count) * (c->send.blocks + c->recv.blocks);
    q->counts = pw_pool_take(q->bytes);
    t->ready = sound && q->counts;
    for (int i = 0; i < q->nin; i++)
        pw_remote_begin_in(t, &q->in[i]);
    for (int i = 0; i < q->nout; i++)
        pw_remote_begin_out(t, &q->out[i]);
    wait_for(q->in, q->nin);
    for (int i = 0; i < q->nin; i++)
        if (q->in[i].active)
            pw_remote_answer(t, &q->in[i]);
    wait_for(q->out, q->nout);
    wait_for(q->in, q->nin);
    for (int i = 0; i < q->nin; i++)
        pw_remote_answered(t, &q->in[i]);
    for (int i = 0; i < q->nout; i++)
        q->out[i].agreed = q->out[i].active && q->out[i].answer.reads;
    return take_out(q->out, q->nout, &c->send, q->counts) +
           take_out(q->in, q->nin, &c->recv, (MPI_Count *)q->counts + c->send.blocks);
}

static void note(pw_remote_request *q)
{
    for (int i = 0; i < q->nin; i++)
        pw_remote_note(&q->in[i]);
    for (int i = 0; i < q->nout; i++)
        pw_remote_note(&q->out[i]);
}

/* A rank that cannot make a persistent request still has to answer the others, in the slots of the communicator. */
pw_remote_request *pw_remote_open(pw_remote_request *blocks, pw_collective *c, bool sound)
{
    bool persistent = c->way.mode == PW_PERSISTENT;
    pw_remote_request *made = persistent ? pw_remote_request_make(blocks) : blocks;
    pw_remote_talk t = {.call = c,
                        .comm = blocks,
                        .request = made ? made : blocks,
                        .rests = !persistent && !pw_strategy_is_named(pw_remote_strategy)};
    int taken = talk(&t, sound && made);

    if (t.rests)
        note(t.request);
    if (t.request->persistent)
        pw_remote_request_keep(t.request);
    if (taken > 0)
        return t.request;
    pw_remote_close(t.request);
    return NULL;
}
