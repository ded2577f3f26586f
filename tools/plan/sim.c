#include "tools/plan/sim.h"

#include "base/grow.h"

#include <math.h>
#include <stdlib.h>

/* What happens to a message, in this order; a message has one event in the queue at a time. READY: it is packed.
 * AT_LINK: its first byte is at the receiver's link. THERE: its last byte has arrived. */
typedef enum stage { READY, AT_LINK, THERE } stage;

typedef struct event {
    double time;
    int64_t number; /* events of equal times happen in the order in which they were made */
    int32_t from, k;
    stage stage;
} event;

typedef struct node {
    double out, in, memory; /* when each is free */
} node;

typedef struct core {
    double free;
    double copies; /* staged: what its copies in and unpacking will take once the last message is there */
} core;

typedef struct sim {
    const pw_sim_machine *m;
    const pw_sim_exchange *x;
    pw_sim_rank *ranks;
    core *cores;
    node *nodes;
    event *heap; /* children of i are 2 i + 1 and 2 i + 2 */
    size_t n;
    int64_t room;
    int64_t made;
    bool failed; /* out of memory */
} sim;

/* ---- the queue --------------------------------------------------------------------------------------------------- */

static bool is_before(const event *a, const event *b)
{
    return a->time < b->time || (a->time == b->time && a->number < b->number);
}

static void push(sim *s, double time, int64_t from, int k, stage next)
{
    event e = {time, s->made++, (int32_t)from, k, next};
    size_t at = s->n;

    event *grown = pw_grow(s->heap, (int64_t)s->n, &s->room, sizeof *grown);

    if (!grown) {
        s->failed = true;
        return;
    }
    s->heap = grown;
    for (s->n++; at > 0 && is_before(&e, &s->heap[(at - 1) / 2]); at = (at - 1) / 2)
        s->heap[at] = s->heap[(at - 1) / 2];
    s->heap[at] = e;
}

static event pop(sim *s)
{
    event first = s->heap[0], last = s->heap[--s->n];
    size_t at = 0;

    for (size_t child = 1; child < s->n; child = 2 * at + 1) {
        if (child + 1 < s->n && is_before(&s->heap[child + 1], &s->heap[child]))
            child++;
        if (!is_before(&s->heap[child], &last))
            break;
        s->heap[at] = s->heap[child];
        at = child;
    }
    s->heap[at] = last;
    return first;
}

/* ---- what happens ------------------------------------------------------------------------------------------------ */

/* Takes a resource from `time` on, or from when it is free. Returns when that is. */
static double take(double *free, double time, double duration)
{
    double begin = fmax(*free, time);

    *free = begin + duration;
    return begin;
}

static node *node_of(const sim *s, int64_t rank)
{
    return &s->nodes[rank / s->m->ranks_per_node];
}

/* Gives all messages of a rank to its core, which packs them one after the other. */
static void start_rank(sim *s, int64_t rank)
{
    core *c = &s->cores[rank];
    pw_sim_rank *r = &s->ranks[rank];

    for (int k = 0; k < s->x->messages; k++) {
        pw_sim_message message = s->x->message(s->x->arg, rank, k);

        c->free += message.pack + message.copy_out;
        r->pack += message.pack;
        r->sent += message.bytes;
        r->abroad += node_of(s, rank) == node_of(s, message.to) ? 0 : message.bytes;
    }
    r->end = c->free;
}

/* The time from which the first message of a rank is on its way. Messages of a staged exchange leave together. */
static double first_ready(const sim *s, int64_t rank, const pw_sim_message *first)
{
    return s->x->staged ? s->cores[rank].free : first->pack + first->copy_out;
}

static void push_first(sim *s, int64_t rank)
{
    pw_sim_message first = s->x->message(s->x->arg, rank, 0);

    push(s, first_ready(s, rank, &first), rank, 0, READY);
}

/* The message after this one is ready as soon as it is packed, too. */
static void push_next(sim *s, const event *e)
{
    pw_sim_message next;

    if (e->k + 1 == s->x->messages)
        return;
    next = s->x->message(s->x->arg, e->from, e->k + 1);
    push(s, s->x->staged ? e->time : e->time + next.pack + next.copy_out, e->from, e->k + 1, READY);
}

static void leave(sim *s, const event *e, const pw_sim_message *message)
{
    node *here = node_of(s, e->from);
    pw_sim_rank *sender = &s->ranks[e->from];
    double duration, begin;

    if (here == node_of(s, message->to)) {
        duration = (double)message->bytes / s->m->memory;
        push(s, take(&here->memory, e->time, duration) + duration, e->from, e->k, THERE);
    } else {
        duration = (double)message->bytes / s->m->link;
        begin = take(&here->out, e->time, duration);
        sender->end = fmax(sender->end, begin + duration);
        push(s, begin + s->m->latency, e->from, e->k, AT_LINK);
    }
    push_next(s, e);
}

static void enter(sim *s, const event *e, const pw_sim_message *message)
{
    double duration = (double)message->bytes / s->m->link;

    push(s, take(&node_of(s, message->to)->in, e->time, duration) + duration, e->from, e->k, THERE);
}

static void arrive(sim *s, const event *e, const pw_sim_message *message)
{
    core *c = &s->cores[message->to];
    pw_sim_rank *r = &s->ranks[message->to];
    double work = message->copy_in + message->unpack;

    r->received += message->bytes;
    r->unpack += message->unpack;
    r->arrived++;
    if (s->x->staged) {
        c->copies += work;
        work = r->arrived == s->x->messages ? c->copies : 0;
    }
    r->end = fmax(r->end, take(&c->free, e->time, work) + work);
}

static void happen(sim *s, const event *e)
{
    pw_sim_message message = s->x->message(s->x->arg, e->from, e->k);

    switch (e->stage) {
    case READY: leave(s, e, &message); break;
    case AT_LINK: enter(s, e, &message); break;
    case THERE: arrive(s, e, &message); break;
    }
}

pw_status pw_sim_run(const pw_sim_machine *machine, const pw_sim_exchange *exchange, pw_sim_rank *ranks)
{
    sim s = {.m = machine, .x = exchange, .ranks = ranks};
    int64_t nodes = (machine->ranks + machine->ranks_per_node - 1) / machine->ranks_per_node;

    s.cores = calloc((size_t)machine->ranks, sizeof *s.cores);
    s.nodes = calloc((size_t)nodes, sizeof *s.nodes);
    s.failed = !s.cores || !s.nodes;
    for (int64_t i = 0; i < machine->ranks && !s.failed; i++) {
        ranks[i] = (pw_sim_rank){0};
        start_rank(&s, i);
        push_first(&s, i);
    }
    while (s.n > 0 && !s.failed) {
        event e = pop(&s);

        happen(&s, &e);
    }
    free(s.heap);
    free(s.nodes);
    free(s.cores);
    return s.failed ? PW_ERR_NOMEM : PW_OK;
}
