#include "base/thread.h"

#include <signal.h>

/* All but those that the system sends to a thread for what it does itself: to block these ends the process where the
 * program has a handler that would let the thread go on. */
static void fill(sigset_t *signals)
{
    static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};

    sigfillset(signals);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        sigdelset(signals, own[i]);
}

int pw_thread_start(pthread_t *thread, size_t stack, void *(*work)(void *), void *argument)
{
    sigset_t blocked, before;
    pthread_attr_t attributes;
    int error = pthread_attr_init(&attributes);

    if (error != 0)
        return error;
    if (stack != 0)
        error = pthread_attr_setstacksize(&attributes, stack);
    if (error == 0) {
        fill(&blocked);
        pthread_sigmask(SIG_SETMASK, &blocked, &before);
        error = pthread_create(thread, &attributes, work, argument);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    pthread_attr_destroy(&attributes);
    return error;
}
