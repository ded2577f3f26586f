/*
 * Calls of which some blocks are remote: what is kept of a communicator, the talk of the ranks about the blocks of a
 * call, and moving those on which they agree. What is kept lies with what collectives remember of the communicator
 * (communicator.h), and goes with that.
 */
#include "runtime/mpi/collective/remote.h"

#include "base/env.h"
#include "base/epoch.h"
#include "base/log.h"
#include "runtime/engine/gpu/memory.h"
#include "runtime/engine/memory/pool.h"
#include "runtime/mpi/collective/remote_slot.h"

#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

const pw_transport *pw_remote_transport;
pw_remote_request pw_remote_none;

void pw_remote_start(void)
{
    bool is_named = pw_env_choice(PW_ENV_NET) != 0; /* "off" */

    if (is_named && pw_env_bool(PW_ENV_ALL_RANKS))
        pw_remote_transport = &pw_remote_net;
    else if (is_named)
        pw_log(PW_LOG_WARN, "PACKWRIGHT_NET does nothing without PACKWRIGHT_ALL_RANKS=1");
}

/* Ranks of which none is on a machine with a GPU never talk of blocks. */
void pw_remote_look_for_gpus(void)
{
    int here = pw_memory_has_cuda() || access("/dev/nvidiactl", F_OK) == 0, anywhere = 0;

    if (pw_remote_transport || !pw_env_bool(PW_ENV_ALL_RANKS))
        return;
    PMPI_Allreduce(&here, &anywhere, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (anywhere)
        pw_remote_transport = &pw_remote_near;
}

/* ---- communicators ----------------------------------------------------------------------------------------------- */

/* Returns a new name of this process for a communicator or a persistent request. */
static uint32_t new_id(void)
{
    static _Atomic uint32_t ids;

    return ++ids;
}

void pw_remote_slots_close(pw_remote_request *q)
{
    for (int i = 0; i < q->n; i++)
        pw_remote_transport->close(&q->slots[i]);
    free(q->slots);
    q->slots = NULL;
    q->n = 0;
}

void pw_remote_keep_agreed(pw_remote_request *q)
{
    int kept = 0;

    for (int i = 0; i < q->n; i++)
        if (q->slots[i].agreed)
            q->slots[kept++] = q->slots[i];
        else
            pw_remote_transport->close(&q->slots[i]);
    q->n = kept;
}

void pw_remote_forget(pw_communicator *group)
{
    for (int i = 0; i < PW_REMOTE_KINDS; i++) {
        pw_remote_request *q = group->remote[i];

        if (q && q != &pw_remote_none) {
            pw_remote_slots_close(q);
            free(q);
        }
    }
}

const char *packwright_network_of(MPI_Comm comm)
{
    const pw_communicator *group = pw_communicator_peek(comm);
    const pw_remote_request *q = group ? group->remote[pw_remote_kind(PW_NEIGHBOUR_ALLTOALL, PW_SIDE_TYPED)] : NULL;

    return q && q->n > 0 && pw_net ? pw_net->transports(q->slots[q->n - 1].peer) : NULL;
}

pw_remote_request *pw_remote_agree(const pw_collective *c)
{
    bool is_possible = c->send.buf != MPI_IN_PLACE &&
                       (c->family != PW_NEIGHBOUR_ALLTOALL || c->group->has_neighbours) &&
                       (c->way.mode == PW_BLOCKING || pw_remote_transport->persistent);
    pw_remote_request **q = &((pw_communicator *)c->group)->remote[pw_remote_kind(c->family, c->send.form)];

    if (c->group->between_groups)
        *q = &pw_remote_none;
    else if (is_possible && !*q)
        *q = pw_remote_make(c, new_id());
    return is_possible && *q != &pw_remote_none ? *q : NULL;
}

/* ---- persistent requests ----------------------------------------------------------------------------------------- */

/* Returns a persistent request for the same blocks, of which nothing is known yet. NULL: no memory, or no thread. */
static pw_remote_request *make_persistent(const pw_remote_request *comm)
{
    pw_remote_request *q = pw_remote_thread_start() ? calloc(1, sizeof *q) : NULL;

    if (!q)
        return NULL;
    *q = (pw_remote_request){.id = new_id(),
                             .rank = comm->rank,
                             .persistent = true,
                             .least = comm->least,
                             .n = comm->n,
                             .slots = calloc((size_t)comm->n, sizeof *q->slots)};
    if (!q->slots) {
        free(q);
        return NULL;
    }
    for (int i = 0; i < q->n; i++) {
        const pw_remote_slot *s = &comm->slots[i];

        q->slots[i] = (pw_remote_slot){.receives = s->receives,
                                       .block = s->block,
                                       .rank = s->rank,
                                       .self = s->self,
                                       .own_id = s->own_id,
                                       .id = s->id,
                                       .made = q->id,
                                       .peer = s->peer};
    }
    return q;
}

/* From now on the two ranks of each block name each other's request. */
static void exchange_ids(pw_remote_request *q)
{
    for (int i = 0; i < q->n; i++) {
        q->slots[i].own_id = q->id;
        q->slots[i].id = q->slots[i].receives ? q->slots[i].offer.id : q->slots[i].answer.id;
    }
}

/* ---- the talk ---------------------------------------------------------------------------------------------------- */

/* MPI reports a missing type to the communicator of the call, and would report it to another one here. */
static int64_t block_bytes(const pw_side *side, int i)
{
    MPI_Count count = pw_side_use(side, i) ? pw_side_count(side, i) : 0;
    int64_t bytes;

    if (count <= 0 || pw_side_type(side, i) == MPI_DATATYPE_NULL ||
        !pw_note_bytes(pw_side_type(side, i), count, &bytes))
        return 0;
    return bytes;
}

/* Whether the block is, as far as the arguments tell, that of the call before, whose type is known. */
static bool is_again(pw_remote_slot *s, const pw_side *side)
{
    const pw_remote_arguments *a = &s->arguments,
                              now = {side->buf, (MPI_Aint)pw_displ_at(side->displs, s->block),
                                     pw_side_count(side, s->block), pw_side_type(side, s->block), pw_epoch_now()};
    bool again = s->ready && a->buf == now.buf && a->displ == now.displ && a->count == now.count &&
                 a->type == now.type && a->epoch == now.epoch;

    s->arguments = now;
    return again;
}

/* Whether this is one of the calls in which the ranks do not talk of a block. Both ranks count the same calls, since
 * both know the bytes and what came of the last talk. */
static bool is_skipped(pw_remote_slot *s)
{
    return s->talks.key == (uint64_t)s->bytes && !pw_evidence_may(&s->talks);
}

/* Talking takes some microseconds. A program whose blocks MPI keeps mostly has such blocks again. Rests are even, so
 * that of two kinds of calls in turn each is talked of. */
static void note(pw_remote_slot *s)
{
    static const pw_evidence_rule rule = {.patience = 1, .least = 2, .most = 1024};

    if (!s->active)
        return;
    pw_evidence_of(&s->talks, (uint64_t)s->bytes);
    if (s->agreed)
        pw_evidence_worked(&s->talks, &rule);
    else
        pw_evidence_failed(&s->talks, &rule);
}

/* `ready`: this rank may be ready for blocks. `rests`: blocks that MPI keeps are not talked of in each call. */
static void begin(pw_remote_slot *s, const pw_collective *c, int64_t least, bool ready, bool rests)
{
    const pw_side *side = s->receives ? &c->recv : &c->send;

    s->again = least < PW_REMOTE_NEVER && is_again(s, side);
    if (!s->again)
        s->bytes = least < PW_REMOTE_NEVER ? block_bytes(side, s->block) : 0;
    s->active = s->bytes >= least && !(rests && is_skipped(s));
    s->agreed = false;
    pw_remote_transport->begin(s, side, ready);
}

static void gather(pw_remote_phase now)
{
    if (pw_remote_transport->gather)
        pw_remote_transport->gather(now);
}

/* Lets the blocks and MPI go on until they are over. Other ranks may be in a call of MPI that waits for this one. */
static void finish(pw_remote_request *q)
{
    enum { PATIENCE = 64 };

    for (int tries = 1; !pw_remote_is_over(q); tries++)
        if (tries % PATIENCE == 0) {
            gather(PW_REMOTE_WAITS);
            sched_yield();
        }
}

/* Takes the agreed blocks out of the call. Returns how many those are, with those that may be lost. */
static int take_out(pw_remote_request *q, pw_collective *c)
{
    int found = 0;

    for (int i = 0; i < q->n; i++) {
        const pw_remote_slot *s = &q->slots[i];

        found += s->agreed || s->lost;
        if (!s->agreed)
            continue;
        if (s->receives)
            pw_block_take_out(&c->recv, (MPI_Count *)q->counts + c->send.blocks, s->block);
        else
            pw_block_take_out(&c->send, q->counts, s->block);
        pw_message_count(&s->m, *pw_remote_transport->strategy);
    }
    return found;
}

/* Returns how many blocks are not left to MPI alone. */
static int talk(pw_remote_request *q, pw_collective *c, pw_collective_verdict verdict, bool sound)
{
    bool rests = c->way.mode != PW_PERSISTENT && !pw_strategy_is_named(pw_remote_strategy);
    int64_t least = verdict == PW_COLLECTIVE_LEFT ? PW_REMOTE_NEVER : q->least; /* the arguments may have errors */

    q->bytes = (int64_t)sizeof(MPI_Count) * (c->send.blocks + c->recv.blocks);
    q->counts = pw_pool_take(q->bytes);
    gather(PW_REMOTE_BEGINS);
    for (int i = 0; i < q->n; i++)
        begin(&q->slots[i], c, least, sound && q->counts, rests);
    gather(PW_REMOTE_BEGUN);
    q->open = q->n;
    finish(q);
    gather(PW_REMOTE_ENDS);
    for (int i = 0; rests && i < q->n; i++)
        note(&q->slots[i]);
    return take_out(q, c);
}

/* A rank that cannot make a persistent request still has to answer the others, in the slots of the communicator. */
pw_remote_request *pw_remote_open(pw_remote_request *blocks, pw_collective *c, pw_collective_verdict verdict,
                                  bool sound)
{
    bool persistent = c->way.mode == PW_PERSISTENT;
    pw_remote_request *made = persistent ? make_persistent(blocks) : blocks, *q = made ? made : blocks;
    int taken = talk(q, c, verdict, sound && made);

    if (q->persistent) {
        pw_remote_keep_agreed(q);
        exchange_ids(q);
        pw_remote_watch(q);
    }
    if (taken > 0)
        return q;
    pw_remote_close(q);
    return NULL;
}

bool pw_remote_take_steps(pw_remote_request *q)
{
    q->open = 0;
    for (int i = 0; i < q->n; i++) {
        pw_remote_slot *s = &q->slots[i];

        if (s->stage != PW_REMOTE_OVER)
            pw_remote_transport->step(s);
        q->open += s->stage != PW_REMOTE_OVER;
    }
    return q->open == 0;
}

bool pw_remote_is_over(pw_remote_request *q)
{
    bool over = pw_remote_transport->is_over(q);
    int flag;

    if (!over)
        PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
    return over;
}

/* ---- moving what was agreed -------------------------------------------------------------------------------------- */

static bool end_all(pw_remote_request *q)
{
    bool done = true;

    finish(q);
    for (int i = 0; i < q->n; i++)
        done &= pw_remote_transport->end(&q->slots[i]);
    return done;
}

pw_status pw_remote_wait(pw_remote_request *q)
{
    if (end_all(q))
        return PW_OK;
    pw_log(PW_LOG_ERROR, "a block of a %scollective could not be read", q->persistent ? "persistent " : "");
    return PW_ERR_IO;
}

static void give_counts(pw_remote_request *q)
{
    pw_pool_give(q->counts, q->bytes);
    q->counts = NULL;
}

/* After an error of MPI, operations of a persistent request may still be open and write to it: it is not freed then. */
void pw_remote_close(pw_remote_request *q)
{
    if (!q->persistent)
        end_all(q);
    else if (!pw_remote_unwatch(q))
        return;
    give_counts(q);
    if (q->persistent) {
        pw_remote_slots_close(q);
        free(q);
    }
}

static void leave(void *arg, uint64_t key, void *communicator)
{
    (void)arg, (void)key;
    for (int i = 0; i < PW_REMOTE_KINDS; i++)
        if (((pw_communicator *)communicator)->remote[i])
            pw_remote_slots_close(((pw_communicator *)communicator)->remote[i]);
}

/* MPI may still call the communicators' delete callback, which frees the rest, and free persistent requests. */
void pw_remote_leave(void)
{
    for (pw_remote_request *q = pw_remote_thread_stop(); q; q = q->next)
        if (q->open == 0) {
            give_counts(q);
            pw_remote_slots_close(q);
        }
    pw_handle_table_each(&pw_communicators, leave, NULL);
}
