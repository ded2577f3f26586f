/* Nanoseconds: of the wall, and of this thread on a CPU. The second does not count what a shared machine gives to
 * others, but costs a system call. */
#ifndef PW_BENCH_CLOCK_H
#define PW_BENCH_CLOCK_H

#include <time.h>

static inline double bench_clock(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static inline double bench_now(void)
{
    return bench_clock(CLOCK_MONOTONIC);
}

static inline double bench_cpu_now(void)
{
    return bench_clock(CLOCK_THREAD_CPUTIME_ID);
}

#endif
