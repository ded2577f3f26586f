/*
 * Threads of the library's own inside somebody else's program: they take no signals that are sent to it. Thread safe.
 */
#ifndef PW_BASE_THREAD_H
#define PW_BASE_THREAD_H

#include <pthread.h>
#include <stddef.h>

/*
 * Starts a thread that runs `work(argument)`, which the caller joins or detaches. All signals are blocked but those of
 * faults: the thread may read memory of the program, whose handler of SIGSEGV provides some of it when it is touched.
 * `stack`: the bytes of its stack; 0: as many as the system gives by default. Returns 0, or pthread_create's error
 * number.
 */
int pw_thread_start(pthread_t *thread, size_t stack, void *(*work)(void *), void *argument);

/* For a loop that waits for another processor: lets what shares this core run meanwhile. */
static inline void pw_thread_pause(void)
{
#if defined __x86_64__
    __builtin_ia32_pause();
#elif defined __aarch64__
    __asm__ volatile("yield");
#endif
}

#endif
