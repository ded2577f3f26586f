/*
 * fork() while a compiler runs or code is loaded. fork() copies the C library's locks as they are. If another thread
 * holds the one of the exit functions just then, as libLLVM does some 3,000 times while it is loaded, the child waits
 * for ever in exit(). So fork() waits until no thread is between enter and leave, and none enters before the fork is
 * done. vfork(), posix_spawn() and system() do not wait: their children end by exec or _exit.
 */
#ifndef PW_JIT_CACHE_FORK_GUARD_H
#define PW_JIT_CACHE_FORK_GUARD_H

/* Around what may register or run exit functions, or changes the list of loaded objects. May be nested. fork() waits
 * for at most 2 s, since the caller may need a lock of the thread that forks. */
void pw_fork_guard_enter(void);
void pw_fork_guard_leave(void);

#endif
