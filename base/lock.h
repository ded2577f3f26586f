/*
 * Locks that are held to the end of a block, however the block is left: what is returned is found under the lock.
 */
#ifndef PW_BASE_LOCK_H
#define PW_BASE_LOCK_H

#include <pthread.h>

static inline pthread_mutex_t *pw_lock_take(pthread_mutex_t *lock)
{
    pthread_mutex_lock(lock);
    return lock;
}

static inline void pw_lock_give(pthread_mutex_t **held)
{
    pthread_mutex_unlock(*held);
}

/* Holds a mutex from here to the end of the block. Stands among the declarations of the block, of which those behind it
 * are initialised under the lock, or behind what is done without the lock. */
#define PW_HOLD(lock) __attribute__((cleanup(pw_lock_give), unused)) pthread_mutex_t *held_lock = pw_lock_take(lock)

#endif
