// Preloaded under MPICH (ch4:ucx): lets go of the core while a rank waits. MPICH polls without end, and with more ranks
// than cores each then waits for the other's time slice: minutes in place of a second.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <time.h>

enum { POLLS_BEFORE_SLEEP = 200 };

unsigned ucp_worker_progress(void *worker);

unsigned ucp_worker_progress(void *worker)
{
    static unsigned (*next)(void *);
    static _Thread_local unsigned idle;
    if (next == NULL)
        next = (unsigned (*)(void *))dlsym(RTLD_NEXT, "ucp_worker_progress");
    unsigned done = next(worker);
    idle = done != 0 ? 0 : idle + 1;
    if (idle >= POLLS_BEFORE_SLEEP) {
        idle = 0;
        nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
    }
    return done;
}
