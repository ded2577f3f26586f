/*
 * What a thread keeps for itself is given back when it ends.
 */
#ifndef PW_RUNTIME_THREAD_END_H
#define PW_RUNTIME_THREAD_END_H

#include <stdbool.h>

typedef void pw_thread_end_fn(void);

/* `fn` is called in the calling thread when it ends, once, however often it is named here; at most four of a thread
 * are. Not in the thread that ends the process. False: that cannot be had, the thread may keep nothing. */
bool pw_thread_end_call(pw_thread_end_fn *fn);

#endif
