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

static void count(const pw_remote_slot *s, pw_role role)
{
    pw_message m = s->m;

    m.role = role;
    pw_message_count(&m, pw_remote_strategy);
}

void pw_remote_agree(pw_remote_call *r, pw_collective *c)
{
    bool is_possible = !c->group->between_groups && c->send.buf != MPI_IN_PLACE &&
                       (c->family != PW_NEIGHBOUR_ALLTOALL || c->group->has_neighbours);

    *r = (pw_remote_call){.call = c, .remote = is_possible ? pw_remote_of(c) : NULL};
    if (!r->remote)
        return;
    r->group = &r->remote->of[c->family == PW_NEIGHBOUR_ALLTOALL];
    if (!r->group->agreed)
        pw_remote_make_group(r->remote, r->group, c);
    if (r->group->nout + r->group->nin == 0)
        r->remote = NULL;
}

/* Takes the agreed blocks of one side out of the call. */
static void take_out(pw_remote_slot *slots, int n, pw_side *side, MPI_Count *counts, pw_role role)
{
    for (int i = 0; i < n; i++) {
        if (!slots[i].agreed)
            continue;
        pw_block_take_out(side, counts, slots[i].block);
        count(&slots[i], role);
    }
}

void pw_remote_negotiate(pw_remote_call *r, bool sound)
{
    pw_collective *c = r->call;
    pw_remote_group *g = r->group;

    r->bytes = (int64_t)sizeof(MPI_Count) * (c->send.blocks + c->recv.blocks);
    r->counts = pw_pool_take(r->bytes);
    r->ready = sound && r->counts;
    for (int i = 0; i < g->nin; i++)
        pw_remote_begin_in(r, &g->in[i]);
    for (int i = 0; i < g->nout; i++)
        pw_remote_begin_out(r, &g->out[i]);
    wait_for(g->in, g->nin);
    for (int i = 0; i < g->nin; i++)
        if (g->in[i].active)
            pw_remote_answer(r, &g->in[i]);
    wait_for(g->out, g->nout);
    wait_for(g->in, g->nin);
    for (int i = 0; i < g->nin; i++)
        pw_remote_answered(r, &g->in[i]);
    for (int i = 0; i < g->nout; i++)
        g->out[i].agreed = g->out[i].active && g->out[i].answer.reads;
    take_out(g->out, g->nout, &c->send, r->counts, PW_SEND);
    take_out(g->in, g->nin, &c->recv, (MPI_Count *)r->counts + c->send.blocks, PW_RECV);
}

void pw_remote_open(pw_remote_call *r, bool sound)
{
    pw_remote_group *g = r->group;

    if (!r->remote)
        return;
    r->rests = !pw_strategy_is_named(pw_remote_strategy);
    pw_remote_negotiate(r, sound);
    for (int i = 0; i < g->nin; i++)
        if (g->in[i].agreed)
            pw_remote_read(&g->in[i]);
    if (r->rests) {
        for (int i = 0; i < g->nin; i++)
            pw_remote_note(&g->in[i]);
        for (int i = 0; i < g->nout; i++)
            pw_remote_note(&g->out[i]);
    }
}

static bool all_done(const pw_remote_slot *slots, int n)
{
    for (int i = 0; i < n; i++)
        if (slots[i].lost || (slots[i].agreed && !slots[i].done))
            return false;
    return true;
}

pw_status pw_remote_close(pw_remote_call *r)
{
    pw_remote_group *g = r->group;

    if (!r->remote)
        return PW_OK;
    for (int i = 0; i < g->nout; i++)
        if (g->out[i].agreed)
            pw_net->receive(pw_remote_tag(r->remote->id, PW_REMOTE_DONE, g->out[i].rank), &g->out[i].done,
                            sizeof g->out[i].done, &g->out[i].op);
    wait_for(g->in, g->nin);
    for (int i = 0; i < g->nin; i++)
        if (g->in[i].agreed)
            pw_remote_report(&g->in[i], r->remote->rank, true);
    wait_for(g->out, g->nout);
    wait_for(g->in, g->nin);
    for (int i = 0; i < g->nout; i++)
        pw_remote_withdraw(&g->out[i]);
    for (int i = 0; i < g->nin; i++)
        pw_remote_withdraw(&g->in[i]);
    pw_pool_give(r->counts, r->bytes);
    if (all_done(g->in, g->nin) && all_done(g->out, g->nout))
        return PW_OK;
    pw_log(PW_LOG_ERROR, "a block of a collective could not be read over the network");
    return PW_ERR_IO;
}
