/*
 * CLOCK_MONOTONIC in the hands of a test: what depends on time then does the same on a busy machine. A program that
 * links this has it before the C library's clock, for all libraries of the process. Time passes as usual until a test
 * holds the clock. Thread safe.
 */
#ifndef PW_TESTS_SUPPORT_HELD_CLOCK_H
#define PW_TESTS_SUPPORT_HELD_CLOCK_H

#include <stdint.h>

/* From now on every reading moves the clock on by `step_ns` nanoseconds, and nothing else does but test_clock_pass. */
void test_clock_hold(int64_t step_ns);
/* Lets `ns` nanoseconds pass on a clock that is held. */
void test_clock_pass(int64_t ns);
/* Time passes as usual again, from the moment on that the held clock shows. */
void test_clock_release(void);

#endif
