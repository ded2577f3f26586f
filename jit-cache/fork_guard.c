#include "jit-cache/fork_guard.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

enum { NAP_US = 500, MOST_NAPS = 4000 };

/* The singleton. Counts instead of a lock: a signal handler may fork anywhere. */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Atomic int inside; /* enter less leave, of all threads */
static _Atomic int forks;  /* under way */
static _Thread_local int inside_here;

static void nap(void)
{
    nanosleep(&(struct timespec){.tv_nsec = NAP_US * 1000L}, NULL);
}

static void before_fork(void)
{
    atomic_fetch_add(&forks, 1);
    for (int i = 0; i < MOST_NAPS && atomic_load(&inside) > inside_here; i++)
        nap();
}

static void in_parent(void)
{
    atomic_fetch_sub(&forks, 1);
}

/* The child has the counts, but only this thread. */
static void in_child(void)
{
    atomic_store(&forks, 0);
    atomic_store(&inside, inside_here);
}

/* Without memory for it forks do not wait. */
static void follow_forks(void)
{
    pthread_atfork(before_fork, in_parent, in_child);
}

/* `inside_here` is never less than this thread's part of `inside`, also for a signal handler in between. */
void pw_fork_guard_enter(void)
{
    pthread_once(&once, follow_forks);
    for (;;) {
        inside_here++;
        atomic_fetch_add(&inside, 1);
        if (inside_here > 1 || atomic_load(&forks) == 0)
            return;
        pw_fork_guard_leave();
        nap();
    }
}

void pw_fork_guard_leave(void)
{
    atomic_fetch_sub(&inside, 1);
    inside_here--;
}
