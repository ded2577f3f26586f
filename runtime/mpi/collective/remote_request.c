/* Moving the remote blocks of a call, and the thread that makes those of persistent calls go on. */
#include "base/log.h"
#include "base/thread.h"
#include "runtime/engine/memory/pool.h"
#include "runtime/mpi/collective/remote_slot.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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
    pw_remote_request *first; /* of all persistent ones */
    long pause;
} worker = {.lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER};

/* ---- steps ------------------------------------------------------------------------------------------------------- */

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
    q->open = step(q->out, q->nout, q->rank) + step(q->in, q->nin, q->rank);
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

pw_remote_request *pw_remote_request_make(const pw_remote_request *comm)
{
    pw_remote_request *q = start_thread() ? calloc(1, sizeof *q) : NULL;

    if (!q)
        return NULL;
    *q = (pw_remote_request){.id = pw_remote_new_id(),
                             .rank = comm->rank,
                             .persistent = true,
                             .least = comm->least,
                             .nout = comm->nout,
                             .nin = comm->nin,
                             .out = copy_of(comm->out, comm->nout),
                             .in = copy_of(comm->in, comm->nin)};
    if (q->out && q->in)
        return q;
    free(q->out);
    free(q->in);
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
static void rename_peers(pw_remote_request *q)
{
    for (int i = 0; i < q->nout; i++)
        q->out[i].id = q->out[i].answer.id;
    for (int i = 0; i < q->nin; i++)
        q->in[i].id = q->in[i].offer.id;
}

void pw_remote_request_keep(pw_remote_request *q)
{
    q->nout = keep_agreed(q->out, q->nout);
    q->nin = keep_agreed(q->in, q->nin);
    rename_peers(q);
    pthread_mutex_lock(&worker.lock);
    q->next = worker.first;
    q->link = &worker.first;
    if (q->next)
        q->next->link = &q->next;
    worker.first = q;
    pthread_mutex_unlock(&worker.lock);
}

/* ---- starts ------------------------------------------------------------------------------------------------------ */

/* The block of a blocking call has just been offered. */
static void start_in(pw_remote_slot *s, const pw_remote_request *q)
{
    s->stage = q->persistent ? PW_REMOTE_AWAITED : PW_REMOTE_READING;
    if (!q->persistent) {
        pw_remote_read(s);
        return;
    }
    s->op = (pw_net_op){0};
    s->done = false;
    pw_net->receive(pw_remote_tag(q->id, PW_REMOTE_OFFER, s->rank), &s->offer, sizeof s->offer, &s->op);
}

static void start_out(pw_remote_slot *s, const pw_remote_request *q)
{
    s->stage = PW_REMOTE_OFFERED;
    if (q->persistent)
        pw_remote_offer_again(s, q->id, q->rank);
    else
        pw_net->receive(pw_remote_tag(q->id, PW_REMOTE_DONE, s->rank), &s->done, sizeof s->done, &s->op);
}

void pw_remote_start_blocks(pw_remote_request *q)
{
    pthread_mutex_lock(&worker.lock);
    for (int i = 0; i < q->nin; i++)
        if (q->in[i].agreed)
            start_in(&q->in[i], q);
    for (int i = 0; i < q->nout; i++)
        if (q->out[i].agreed)
            start_out(&q->out[i], q);
    q->open = q->nin + q->nout;
    worker.idle = 0;
    if (worker.sleeps)
        pthread_cond_signal(&worker.wake);
    pthread_mutex_unlock(&worker.lock);
}

bool pw_remote_is_over(pw_remote_request *q)
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

static void finish(pw_remote_request *q)
{
    enum { PATIENCE = 64 };

    for (int tries = 1; !pw_remote_is_over(q); tries++)
        if (tries % PATIENCE == 0)
            sched_yield();
}

static bool all_done(const pw_remote_slot *slots, int n)
{
    for (int i = 0; i < n; i++)
        if (slots[i].lost || (slots[i].agreed && !slots[i].done))
            return false;
    return true;
}

pw_status pw_remote_wait(pw_remote_request *q)
{
    finish(q);
    if (all_done(q->out, q->nout) && all_done(q->in, q->nin))
        return PW_OK;
    pw_log(PW_LOG_ERROR, "a block of a %scollective could not be read over the network",
           q->persistent ? "persistent " : "");
    return PW_ERR_IO;
}

/* ---- freeing ----------------------------------------------------------------------------------------------------- */

static void withdraw(pw_remote_request *q)
{
    for (int i = 0; i < q->nout; i++)
        pw_remote_withdraw(&q->out[i]);
    pw_pool_give(q->counts, q->bytes);
    q->counts = NULL;
}

/* Frees the blocks of a persistent request, unless it is under way. */
static void clear(pw_remote_request *q)
{
    if (q->open > 0)
        return;
    withdraw(q);
    pw_remote_slots_close(q);
}

/* After an error of MPI, operations of a persistent request may still be open, which write to it. It is not freed then.
 */
static void close_persistent(pw_remote_request *q)
{
    bool free_now;

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
    free(q);
}

void pw_remote_close(pw_remote_request *q)
{
    if (q && q->persistent) {
        close_persistent(q);
    } else if (q) {
        finish(q);
        withdraw(q);
    }
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
