/*
 * Functions that a thread calls when it ends: a short list for each thread, called by the destructor of one key. A
 * function is listed once, and the key is made with the first one.
 */
#include "runtime/engine/memory/thread_end.h"

#include <pthread.h>

enum { MOST = 4 };

/* The singleton. A value of the key that is not NULL says that the thread has functions to call. */
static struct {
    pthread_once_t once;
    pthread_key_t key;
    bool made;
} ending = {.once = PTHREAD_ONCE_INIT};

static _Thread_local struct {
    pw_thread_end_fn *many[MOST];
    int n;
} calls;

static void call_all(void *value)
{
    (void)value;
    while (calls.n > 0)
        calls.many[--calls.n]();
}

static void make(void)
{
    ending.made = pthread_key_create(&ending.key, call_all) == 0;
}

bool pw_thread_end_call(pw_thread_end_fn *fn)
{
    for (int i = 0; i < calls.n; i++)
        if (calls.many[i] == fn)
            return true;
    pthread_once(&ending.once, make);
    if (!ending.made || calls.n == MOST || pthread_setspecific(ending.key, &calls) != 0)
        return false;
    calls.many[calls.n++] = fn;
    return true;
}
