/*
 * exit() while a kernel is being compiled. Compilers have static objects, whose destructors run on the thread that
 * exits, under the feet of the one that compiles; a program that ends without MPI_Finalize would crash at its exit.
 * So the end of the process waits for a compile under way, and none begins after it.
 */
#ifndef PW_JIT_CACHE_EXIT_GUARD_H
#define PW_JIT_CACHE_EXIT_GUARD_H

#include <stdbool.h>

/* Around all use of a compiler, its loading included. False: the process is ending; leave the compiler alone. */
bool pw_exit_guard_enter(void);
void pw_exit_guard_leave(void);

/*
 * exit() destroys the thread_local objects of its thread before it runs any exit handler, so there the wait comes in
 * time whatever the compiler has registered. Call it in the threads that ask for kernels; acts in the main thread only,
 * since another may end long before the process.
 */
void pw_exit_guard_thread(void);

/* For exit() in other threads: puts the wait in front of all exit handlers there are by now. The last
 * to be registered runs first, so call it when the compiler is loaded, and when it has made what it makes at first use.
 */
void pw_exit_guard_first(void);

#endif
