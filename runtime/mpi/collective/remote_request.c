/* Persistent calls of which some blocks are remote, and the thread that makes them go on. */
#include "base/log.h"
#include "base/thread.h"
#include "runtime/engine/memory/pool.h"
#include "runtime/mpi/collective/remote_slot.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct pw_remote_request {
    pw_remote_request *next, **link; /* of the thread's list */
    uint32_t id;
    int rank;
    pw_remote_group group; /* agreed slots only */
    void *counts;          /* of the call, which MPI may read as long as the request lives */
    int64_t bytes;
    int open; /* slots that are not over; 0: it is not under way */
};

/* Nanoseconds between looks, and pauses without a request under way until it sleeps. */
enum { LEAST_PAUSE = 20000, LONGEST_PAUSE = 1000000, IDLE_PAUSES = 100 };

/* The singleton: the thread, and the requests that it looks after. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    pthread_t thread;
    bool runs, stops;
    bool sleeps;              /* until it is woken */
    bool attended;            /* the program has looked at a request since the latest look */
    bool left;                /* it had a request to look after at the latest look */
    int idle;                 /* pauses without a request under way */
    pw_remote_request *first; /* of all */
    long pause;
} worker = {.lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER};

/* ---- steps   ---------------------------------------------------------------------------------------------------- */

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

static void take_steps(pw_remote_request *q)
{
    q->open = step(q->group.out, q->group.nout, q->rank) + step(q->group.in, q->group.nin, q->rank);
}

/* ---- the thread -------------------------------------------------------------------------------------------------- */

/*
 * The thread makes requests go on while the program computes, or is in a call of MPI: a rank that waits for its own
 * request may need this one to read, or the network may need it to answer. It sleeps while no request is under way, and
 * between looks, the longer the longer nothing has been started. It looks at nothing while the program looks itself,
 * which would only be disturbed, and stays awake for a while, since waking it takes as long as some exchanges. It calls
 * no MPI.
 */

/* Returns whether some request is under way. */
static bool look_at_all(void)
{
    bool any = false;

    for (pw_remote_request *q = worker.first; q; q = q->next) {
        if (q->open == 0)
            continue;
        if (worker.attended)
            return true;
        if (!any)
            pw_net->progress();
        any = true;
        take_steps(q);
    }
    return any;
}

static void pause_for(long ns)
{
    nanosleep(&(struct timespec){.tv_nsec = ns}, NULL);
}

/* `any`: some request is under way. Short pauses are for requests that the program leaves to the thread. */
static long next_pause(bool any)
{
    bool leaves = any && !worker.attended;

    worker.idle = any ? 0 : worker.idle + 1;
    worker.attended = false;
    worker.pause = !leaves || worker.pause > LONGEST_PAUSE / 2 ? LONGEST_PAUSE : 2 * worker.pause;
    if (leaves && !worker.left)
        worker.pause = LEAST_PAUSE;
    worker.left = leaves;
    return worker.pause;
}

static void *work(void *unused)
{
    pthread_mutex_lock(&worker.lock);
    while (!worker.stops) {
        long pause = next_pause(look_at_all());

        if (worker.idle > IDLE_PAUSES) {
            worker.sleeps = true;
            pthread_cond_wait(&worker.wake, &worker.lock);
            worker.sleeps = false;
        }
        pthread_mutex_unlock(&worker.lock);
        pause_for(pause);
        pthread_mutex_lock(&worker.lock);
    }
    pthread_mutex_unlock(&worker.lock);
    return unused;
}

static bool start_thread(void)
{
    bool runs;

    pthread_mutex_lock(&worker.lock);
    if (!worker.runs) {
        worker.stops = false;
        worker.runs = pw_thread_start(&worker.thread, 0, work, NULL) == 0;
    }
    runs = worker.runs;
    pthread_mutex_unlock(&worker.lock);
    return runs;
}

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
    q = start_thread() ? make(r) : NULL;
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
    pthread_mutex_lock(&worker.lock);
    q->next = worker.first;
    q->link = &worker.first;
    if (q->next)
        q->next->link = &q->next;
    worker.first = q;
    pthread_mutex_unlock(&worker.lock);
    if (q->group.nout + q->group.nin > 0)
        return q;
    pw_remote_request_close(q);
    return NULL;
}

/* ---- starts ------------------------------------------------------------------------------------------------------ */

void pw_remote_request_start(pw_remote_request *q)
{
    pthread_mutex_lock(&worker.lock);
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
    worker.idle = 0;
    if (worker.sleeps)
        pthread_cond_signal(&worker.wake);
    pthread_mutex_unlock(&worker.lock);
}

bool pw_remote_request_is_over(pw_remote_request *q)
{
    bool over;
    int flag;

    pthread_mutex_lock(&worker.lock);
    if (q->open > 0) {
        worker.attended = true;
        pw_net->progress();
        take_steps(q);
    }
    over = q->open == 0;
    pthread_mutex_unlock(&worker.lock);
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

/* ---- freeing ----------------------------------------------------------------------------------------------------- */

/* Frees the request's blocks, unless it is under way. */
static void clear(pw_remote_request *q)
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
    pthread_mutex_lock(&worker.lock);
    free_now = q->open == 0;
    if (free_now) {
        *q->link = q->next;
        if (q->next)
            q->next->link = q->link;
    }
    pthread_mutex_unlock(&worker.lock);
    if (!free_now)
        return;
    clear(q);
    pw_pool_give(q->counts, q->bytes);
    free(q);
}

void pw_remote_thread_stop(void)
{
    bool runs;

    pthread_mutex_lock(&worker.lock);
    runs = worker.runs;
    worker.stops = true;
    worker.runs = false;
    pthread_cond_signal(&worker.wake);
    pthread_mutex_unlock(&worker.lock);
    if (runs)
        pthread_join(worker.thread, NULL);
    for (pw_remote_request *q = worker.first; q; q = q->next)
        clear(q);
}
