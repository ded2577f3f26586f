/*
 * The queue of deferred sends: first those whose packing has begun, then the gathered ones, in the order of the calls.
 * MPI starts them from the front only. A send that has left the queue counts in the gate until MPI has started it.
 */
#include "runtime/mpi/requests/deferred.h"

#include "base/clock.h"
#include "base/env.h"
#include "runtime/engine/gpu/transfer.h"
#include "runtime/exchange/gpu/shown.h"
#include "runtime/mpi/entry/calls.h"
#include "runtime/mpi/errors.h"

#include "next.h"

#include <pthread.h>

enum {
    LONG_NS = 30000, /* a pause after a send in which the program computes: several times what packing takes */
    AGAIN = 64       /* every so many rounds the prediction of the last send is tested */
};

/* The singleton, guarded by its lock but for what start sets. */
static struct {
    pthread_mutex_t lock;
    pw_deferred *first, *last;
    pw_deferred *gathered; /* the first one whose packing has not begun; NULL: none */
    bool grown;            /* a send was added since the last call that began something else */
    unsigned nested;       /* calls that came here while MPI was starting a send, from an error handler */
    /* Rounds of sends (deferred.h); a round ends when a call starts all of the queue, or in a pause. */
    int64_t last_ns;   /* when the last send had been added */
    int round;         /* sends of this round */
    int paused;        /* sends of the last round, if a pause followed it; 0: none did */
    int predicted;     /* a pause is expected after so many sends; 0: never */
    bool as_predicted; /* the last round was started because a pause was expected */
    unsigned kept;     /* rounds that were started as predicted */
} queue = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local bool is_at_work; /* this thread holds the lock */

void pw_deferred_start(void)
{
    atomic_fetch_sub_explicit(&pw_gate_unfinished, PW_GATE_DEFERRED, memory_order_release);
}

/* ---- which sends ------------------------------------------------------------------------------------------------- */

/* Whether every call that may have to start a send comes here. */
static bool is_seen(void)
{
    static pw_calls all = {.symbols = pw_exported};

    return pw_calls_are_ours(&all);
}

bool pw_deferred_can(const pw_staging *out)
{
    return pw_buffer_is_on_device(&out->buffer) && pw_env_bool(PW_ENV_GATHER) && is_seen() &&
           pw_staging_is_fusable(out);
}

/* ---- the queue --------------------------------------------------------------------------------------------------- */

/* False: this thread is at work already, and its error handler has called MPI. */
static bool begin_work(void)
{
    if (is_at_work) {
        queue.nested++;
        return false;
    }
    pthread_mutex_lock(&queue.lock);
    is_at_work = true;
    return true;
}

static void end_work(void)
{
    is_at_work = false;
    pthread_mutex_unlock(&queue.lock);
}

/* Until a send is started it counts as deferred, so that threads that wait for it come to the lock. */
static void started(int sends)
{
    atomic_fetch_sub_explicit(&pw_gate_unfinished, sends * PW_GATE_DEFERRED, memory_order_release);
}

/* What is gathered begins to be packed. Where the GPU has no room, the rest stays gathered. */
static void launch(void)
{
    if (!queue.gathered)
        return;
    for (pw_deferred *d = queue.gathered; d && pw_staging_begin_pack(d->out); d = d->next)
        queue.gathered = d->next;
    pw_gpu_launch_begun();
}

static pw_deferred *pop(void)
{
    pw_deferred *d = queue.first;

    if (!d)
        return NULL;
    queue.first = d->next;
    if (queue.gathered == d)
        queue.gathered = d->next;
    return d;
}

/* Waits until the message of a send that has left the queue is packed, and starts it. MPI calls the error handler if it
 * cannot; the handler may complete the operation, and then it is gone. */
static void start(pw_deferred *d)
{
    pw_pending *p = d->pending;
    MPI_Request request = p->request;
    unsigned nested = queue.nested;
    int rc = pw_mpi_error(pw_staging_pack(d->out));

    p->error = rc == MPI_SUCCESS ? MPI_ERR_OTHER : rc;
    if (rc == MPI_SUCCESS)
        rc = pw_next.MPI_Start(&request);
    if (queue.nested == nested)
        p->error = rc;
}

void pw_deferred_close(void)
{
    if (!begin_work())
        return;
    while (pop())
        started(1);
    end_work();
}

/* Ends the round if a pause has followed its last send. The pause has delayed what is in the queue; the second such
 * pause after as many sends makes the next one expected. (One alone may be the system's.) Returns whether there was a
 * pause. */
static bool end_paused_round(int64_t now)
{
    if (now - queue.last_ns <= LONG_NS)
        return false;
    if (queue.first && queue.round > 0) {
        queue.predicted = queue.round == queue.paused ? queue.round : 0;
        queue.paused = queue.round;
    }
    queue.round = 0;
    return true;
}

static void expect_no_pause(void)
{
    queue.predicted = queue.paused = 0;
}

static void poll(void)
{
    for (; queue.first && queue.first != queue.gathered && pw_staging_is_packed(queue.first->out); started(1))
        start(pop());
}

void pw_deferred_poll_slow(void)
{
    if (!begin_work())
        return;
    end_paused_round(pw_clock_ns());
    if (!queue.grown)
        launch();
    queue.grown = false;
    poll();
    end_work();
}

static void flush(void)
{
    pw_deferred *d;
    int n = 0;

    queue.round = 0;
    launch();
    pw_gpu_show_together(true);
    for (; (d = pop()) != NULL; n++)
        start(d);
    pw_gpu_show_together(false);
    started(n);
}

void pw_deferred_flush_slow(void)
{
    bool mine = begin_work();

    if (mine && queue.first && !end_paused_round(pw_clock_ns()))
        expect_no_pause();
    flush();
    if (mine)
        end_work();
}

void pw_deferred_add(pw_deferred *d, pw_pending *p, pw_staging *out)
{
    bool mine = begin_work();
    int64_t now = pw_clock_ns();

    if (!end_paused_round(now) && queue.as_predicted)
        expect_no_pause();
    d->pending = p;
    d->out = out;
    d->next = NULL;
    if (queue.first)
        queue.last->next = d;
    else
        queue.first = d;
    queue.last = d;
    if (!queue.gathered)
        queue.gathered = d;
    queue.grown = true;
    atomic_fetch_add_explicit(&pw_gate_unfinished, PW_GATE_DEFERRED, memory_order_relaxed);
    queue.as_predicted = ++queue.round == queue.predicted && ++queue.kept % AGAIN != 0;
    if (queue.as_predicted) {
        flush();
        now = pw_clock_ns();
    } else
        poll();
    queue.last_ns = now;
    if (mine)
        end_work();
}
