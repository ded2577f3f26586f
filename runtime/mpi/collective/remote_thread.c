/*
 * The thread makes persistent requests go on while the program computes, or is in a call of MPI: a rank that waits for
 * its own request may need this one to read, or the network may need it to answer. It sleeps while no request is under
 * way, and between looks, the longer the longer nothing has been started. It looks at nothing while the program looks
 * itself, which would only be disturbed, and stays awake for a while, since waking it takes as long as some exchanges.
 * It calls no MPI.
 */
#include "base/lock.h"
#include "base/thread.h"
#include "runtime/mpi/collective/remote_slot.h"

#include <time.h>

/* Nanoseconds between looks, and pauses without a request under way until it sleeps. */
enum { LEAST_PAUSE = 20000, LONGEST_PAUSE = 1000000, IDLE_PAUSES = 100 };

/* The singleton: the thread, and its requests. The lock guards the network, and the slots of blocks that go over it. */
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
        pw_remote_take_steps(q);
    }
    return any;
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
        nanosleep(&(struct timespec){.tv_nsec = pause}, NULL);
        pthread_mutex_lock(&worker.lock);
    }
    pthread_mutex_unlock(&worker.lock);
    return unused;
}

bool pw_remote_thread_start(void)
{
    PW_HOLD(&worker.lock);

    if (!worker.runs) {
        worker.stops = false;
        worker.runs = pw_thread_start(&worker.thread, 0, work, NULL) == 0;
    }
    return worker.runs;
}

void pw_remote_watch(pw_remote_request *q)
{
    pthread_mutex_lock(&worker.lock);
    q->next = worker.first;
    q->link = &worker.first;
    if (q->next)
        q->next->link = &q->next;
    worker.first = q;
    pthread_mutex_unlock(&worker.lock);
}

bool pw_remote_unwatch(pw_remote_request *q)
{
    PW_HOLD(&worker.lock);

    if (q->open > 0)
        return false;
    *q->link = q->next;
    if (q->next)
        q->next->link = q->link;
    return true;
}

pw_remote_request *pw_remote_thread_stop(void)
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
    return worker.first;
}

/* ---- for the program's calls ------------------------------------------------------------------------------------- */

void pw_remote_start_blocks(pw_remote_request *q)
{
    pthread_mutex_lock(&worker.lock);
    for (int i = 0; i < q->n; i++)
        if (q->slots[i].agreed && pw_remote_transport->move)
            pw_remote_transport->move(&q->slots[i]);
    q->open = q->n;
    worker.idle = 0;
    if (worker.sleeps)
        pthread_cond_signal(&worker.wake);
    pthread_mutex_unlock(&worker.lock);
}

/* Blocks between GPUs, which the thread never looks after, need no lock. */
bool pw_remote_attend(pw_remote_request *q)
{
    PW_HOLD(&worker.lock);

    if (q->open == 0)
        return true;
    worker.attended = true;
    pw_net->progress();
    return pw_remote_take_steps(q);
}
