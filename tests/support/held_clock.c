#include "tests/support/held_clock.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static atomic_bool held;
/* What a held clock shows, and how far one that is not is from the system's. */
static _Atomic int64_t shown, ahead;
static _Atomic int64_t step;

static int64_t system_ns(void)
{
    struct timespec t;

    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

__attribute__((visibility("default"))) int clock_gettime(clockid_t id, struct timespec *t)
{
    int64_t ns;

    if (id != CLOCK_MONOTONIC)
        return (int)syscall(SYS_clock_gettime, id, t);
    ns = held ? atomic_fetch_add(&shown, step) : system_ns() + ahead;
    *t = (struct timespec){.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
    return 0;
}

void test_clock_hold(int64_t step_ns)
{
    shown = system_ns() + ahead;
    step = step_ns;
    held = true;
}

void test_clock_pass(int64_t ns)
{
    shown += ns;
}

void test_clock_release(void)
{
    ahead = shown - system_ns();
    held = false;
}
