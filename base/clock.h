/* The clock by which our own work is timed: nanoseconds since some moment, never set back. Thread safe. */
#ifndef PW_BASE_CLOCK_H
#define PW_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t pw_clock_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static inline double pw_clock_seconds(void)
{
    return (double)pw_clock_ns() * 1e-9;
}

#endif
