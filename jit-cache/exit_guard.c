#include "jit-cache/exit_guard.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* A compile takes some 10 ms. The bound is for one that waits for a lock of the thread that exits. */
enum { NAP_US = 500, MOST_NAPS = 4000 };

/* The singleton; it outlives every cache, and takes no lock: a signal handler may end the process anywhere. */
static _Atomic bool ending;
static _Atomic int compiling;
static _Atomic pid_t process; /* of those: a forked child has the count, but not the threads */
static _Thread_local int compiling_here;

bool pw_exit_guard_enter(void)
{
    atomic_fetch_add(&compiling, 1);
    if (atomic_load(&ending)) {
        atomic_fetch_sub(&compiling, 1);
        return false;
    }
    atomic_store(&process, getpid());
    compiling_here++;
    return true;
}

void pw_exit_guard_leave(void)
{
    compiling_here--;
    atomic_fetch_sub(&compiling, 1);
}

static void wait_for_compilers(void)
{
    const struct timespec nap = {.tv_nsec = NAP_US * 1000L};

    atomic_store(&ending, true);
    if (atomic_load(&process) != getpid())
        return;
    for (int i = 0; i < MOST_NAPS && atomic_load(&compiling) > compiling_here; i++)
        nanosleep(&nap, NULL);
}

/* What C++ compilers call for a thread_local object with a destructor; weak, as not every C library has it. */
extern int __cxa_thread_atexit_impl(void (*destroy)(void *object), void *object, void *dso) __attribute__((weak));
extern void *__dso_handle __attribute__((visibility("hidden")));

static void main_thread_ends(void *object)
{
    (void)object;
    wait_for_compilers();
}

void pw_exit_guard_thread(void)
{
    static _Thread_local bool done;

    if (done)
        return;
    done = true;
    if (__cxa_thread_atexit_impl && gettid() == getpid())
        __cxa_thread_atexit_impl(main_thread_ends, NULL, &__dso_handle);
}

void pw_exit_guard_first(void)
{
    /* Without memory for it there is no wait. */
    if (atexit(wait_for_compilers) != 0)
        return;
}
