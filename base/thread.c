#include "base/thread.h"

#include <signal.h>

int pw_thread_start(pthread_t *thread, size_t stack, void *(*work)(void *), void *argument)
{
    sigset_t all, before;
    pthread_attr_t attributes;
    int error = pthread_attr_init(&attributes);

    if (error != 0)
        return error;
    if (stack != 0)
        error = pthread_attr_setstacksize(&attributes, stack);
    if (error == 0) {
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        error = pthread_create(thread, &attributes, work, argument);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    pthread_attr_destroy(&attributes);
    return error;
}
