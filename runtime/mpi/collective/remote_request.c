/* Persistent calls of which some blocks are remote. */
#include "base/log.h"
#include "runtime/engine/memory/pool.h"
#include "runtime/mpi/collective/remote_slot.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

/* ---- making one -------------------------------------------------------------------------------------------------- */

/* Makes slots for the same blocks, of which nothing is known yet. NULL: out of memory. */
static pw_remote_slot *copy_of(const pw_remote_slot *slots, int n)
{
    pw_remote_slot *copy = calloc((size_t)n + 1, sizeof *copy);

    for (int i = 0; copy && i < n; i++)
        copy[i] =
            (pw_remote_slot){.block = slots[i].block, .rank = slots[i].rank, .peer = slots[i].peer, .id = slots[i].id};
    return copy;
}

static pw_remote_request *make(const pw_remote_call *r)
{
    pw_remote_request *q = calloc(1, sizeof *q);
    const pw_remote_group *g = r->group;

    if (!q)
        return NULL;
    q->id = pw_remote_new_id();
    q->rank = r->remote->rank;
    q->group = (pw_remote_group){.least = g->least, .nout = g->nout, .nin = g->nin};
    q->group.out = copy_of(g->out, g->nout);
    q->group.in = copy_of(g->in, g->nin);
    if (q->group.out && q->group.in)
        return q;
    free(q->group.out);
    free(q->group.in);
    free(q);
    return NULL;
}

/* Closes the slots of blocks that are not agreed, and moves the others to the front. Returns how many those are. */
static int keep_agreed(pw_remote_slot *slots, int n)
{
    int kept = 0;

    for (int i = 0; i < n; i++) {
        if (slots[i].agreed) {
            slots[kept++] = slots[i];
            continue;
        }
        pw_remote_withdraw(&slots[i]);
        pw_remote_slot_close(&slots[i]);
    }
    return kept;
}

/* From now on the two ranks of a block name each other's request. */
static void rename_peers(pw_remote_group *g)
{
    for (int i = 0; i < g->nout; i++)
        g->out[i].id = g->out[i].answer.id;
    for (int i = 0; i < g->nin; i++)
        g->in[i].id = g->in[i].offer.id;
}

/* Without memory or the thread this rank still has to answer the others, in the slots of the communicator. */
pw_remote_request *pw_remote_request_open(pw_remote_call *r, bool sound)
{
    pw_remote_request *q;

    if (!r->remote)
        return NULL;
    q = pw_remote_thread_start() ? make(r) : NULL;
    if (q) {
        r->group = &q->group;
        r->id = q->id;
    }
    pw_remote_negotiate(r, sound && q);
    if (!q) {
        pw_pool_give(r->counts, r->bytes);
        return NULL;
    }
    q->counts = r->counts;
    q->bytes = r->bytes;
    q->group.nout = keep_agreed(q->group.out, q->group.nout);
    q->group.nin = keep_agreed(q->group.in, q->group.nin);
    rename_peers(&q->group);
    pw_remote_thread_lock();
    pw_remote_thread_add(q);
    pw_remote_thread_unlock();
    if (q->group.nout + q->group.nin > 0)
        return q;
    pw_remote_request_close(q);
    return NULL;
}

/* ---- going on ---------------------------------------------------------------------------------------------------- */

static void step_in(pw_remote_slot *s, int rank)
{
    switch (s->stage) {
    case PW_REMOTE_AWAITED:
        if (pw_remote_accept(s)) {
            pw_remote_read(s);
            s->stage = PW_REMOTE_READING;
            return;
        }
        pw_remote_report(s, rank, false);
        s->stage = PW_REMOTE_REPORTING;
        return;
    case PW_REMOTE_READING:
        pw_remote_report(s, rank, true);
        s->stage = PW_REMOTE_REPORTING;
        return;
    default: s->stage = PW_REMOTE_OVER;
    }
}

static int step(pw_remote_slot *slots, int n, int rank)
{
    int open = 0;

    for (int i = 0; i < n; i++) {
        if (slots[i].stage != PW_REMOTE_OVER && pw_net->is_over(&slots[i].op))
            step_in(&slots[i], rank);
        open += slots[i].stage != PW_REMOTE_OVER;
    }
    return open;
}

void pw_remote_request_step(pw_remote_request *q)
{
    q->open = step(q->group.out, q->group.nout, q->rank) + step(q->group.in, q->group.nin, q->rank);
}

void pw_remote_request_start(pw_remote_request *q)
{
    pw_remote_thread_lock();
    for (int i = 0; i < q->group.nin; i++) {
        pw_remote_slot *s = &q->group.in[i];

        s->op = (pw_net_op){0};
        s->done = false;
        s->stage = PW_REMOTE_AWAITED;
        pw_net->receive(pw_remote_tag(q->id, PW_REMOTE_OFFER, s->rank), &s->offer, sizeof s->offer, &s->op);
    }
    for (int i = 0; i < q->group.nout; i++)
        pw_remote_offer_again(&q->group.out[i], q->id, q->rank);
    q->open = q->group.nin + q->group.nout;
    pw_remote_thread_wake();
    pw_remote_thread_unlock();
}

bool pw_remote_request_is_over(pw_remote_request *q)
{
    bool over;
    int flag;

    pw_remote_thread_lock();
    if (q->open > 0) {
        pw_remote_thread_attend();
        pw_net->progress();
        pw_remote_request_step(q);
    }
    over = q->open == 0;
    pw_remote_thread_unlock();
    if (!over)
        PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
    return over;
}

static bool all_done(const pw_remote_slot *slots, int n)
{
    for (int i = 0; i < n; i++)
        if (!slots[i].done)
            return false;
    return true;
}

pw_status pw_remote_request_wait(pw_remote_request *q)
{
    enum { PATIENCE = 64 };

    for (int tries = 1; !pw_remote_request_is_over(q); tries++)
        if (tries % PATIENCE == 0)
            sched_yield();
    if (all_done(q->group.out, q->group.nout) && all_done(q->group.in, q->group.nin))
        return PW_OK;
    pw_log(PW_LOG_ERROR, "a block of a persistent collective could not be read over the network");
    return PW_ERR_IO;
}

/* ---- freeing one ------------------------------------------------------------------------------------------------- */

void pw_remote_request_clear(pw_remote_request *q)
{
    if (q->open > 0)
        return;
    for (int i = 0; i < q->group.nout; i++)
        pw_remote_withdraw(&q->group.out[i]);
    for (int i = 0; i < q->group.nin; i++)
        pw_remote_withdraw(&q->group.in[i]);
    pw_remote_group_close(&q->group);
}

/* After an error of MPI, operations may still be open, which write to the request. It is not freed then. */
void pw_remote_request_close(pw_remote_request *q)
{
    bool free_now;

    if (!q)
        return;
    pw_remote_thread_lock();
    free_now = q->open == 0;
    if (free_now)
        pw_remote_thread_remove(q);
    pw_remote_thread_unlock();
    if (!free_now)
        return;
    pw_remote_request_clear(q);
    pw_pool_give(q->counts, q->bytes);
    free(q);
}
