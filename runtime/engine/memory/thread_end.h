/*
 * Calls that a thread makes when it ends, to give back the memory that it keeps for itself.
 */
#ifndef PW_RUNTIME_THREAD_END_H
#define PW_RUNTIME_THREAD_END_H

#include <stdbool.h>

typedef void pw_thread_end_fn(void);

/* Makes the calling thread call `fn` once when it ends, however often this is called. A thread has room for four
 * functions. The thread that ends the process does not call them. False: `fn` will not be called, so the thread must
 * keep nothing. */
bool pw_thread_end_call(pw_thread_end_fn *fn);

#endif
