/*
 * The cache's own structures, shared by cache.c (table), build.c (how a kernel is had), worker.c.
 *
 * Which thread may touch a slot: `kernel` is atomic and any thread may read it; `busy`, `queued`, `users`, `want` and
 * the retry times belong to the cache's mutex; `image` and the making of the kernel belong to the thread that set
 * `busy`.
 */
#ifndef PW_JIT_CACHE_INTERNAL_H
#define PW_JIT_CACHE_INTERNAL_H

#include "jit-cache/cache.h"
#include "jit-cache/disk.h"
#include "jit-cache/hash_map.h"

#include <pthread.h>
#include <sys/types.h>

typedef struct pw_slot {
    pw_kernel kernel; /* first: pw_kernel* and pw_slot* convert */
    pw_shape *shape;
    pw_image image;
    bool busy;     /* a thread is getting it ready */
    bool queued;   /* in a worker's queue */
    int64_t users; /* pw_cache_kernel less pw_cache_release */
    pw_cache_want want;
    bool waiting;                 /* another process is compiling it ... */
    int64_t retry_at, give_up_at; /* ... look again; compile it ourselves. CLOCK_MONOTONIC ns */
    int64_t backoff;
    struct pw_slot *next_queued;
    struct pw_slot *prev, *next; /* all slots of the cache */
} pw_slot;

/* A thread and its queue. Under the cache's mutex. */
typedef struct pw_worker {
    bool started, stop;
    bool working; /* on a slot that is no longer in the queue */
    pthread_t thread;
    pw_slot *first, *last; /* the queue */
} pw_worker;

struct pw_cache {
    pid_t pid; /* a forked child has our memory but not our threads and maybe a locked mutex */
    pw_target target;
    char backend_name[32];
    const char *slow_path;
    const pw_backend *(*load_backend)(const char *name, pw_diag *diag);
    pw_disk disk;
    pw_disk system;        /* looked into before `disk` */
    void *(*common)(void); /* pw_cache_config.common, if there is a disk; looked into before both */
    pthread_mutex_t lock;
    pthread_cond_t changed; /* a slot stopped being busy; a queue or a worker's `stop` changed */
    pw_hash_map kernels;    /* hash of a shape -> pw_slot */
    pw_slot *slots;
    pw_worker reader, compiler;
    bool no_worker;              /* a thread could not be had, or the threads have ended for good */
    int64_t finish_by;           /* when to leave what is queued, once the workers are stopped; CLOCK_MONOTONIC ns */
    _Atomic bool has_backend;    /* loaded, and the end of the process waits for it */
    _Atomic bool no_backend;     /* said so; not tried again */
    _Atomic bool compile_failed; /* said so once; later ones at level info */
    _Atomic int64_t compiles;    /* done here */
};

/* With the cache's mutex held: forgets a slot that nobody has, that nobody works on, and that holds no code. */
void pw_slot_retire(pw_cache *cache, pw_slot *slot);
/* Nothing more can or need be done for this want. */
bool pw_slot_is_settled(const pw_slot *slot, pw_cache_want want);

/* ---- build.c ------------------------------------------------------------------------------------ */

typedef enum pw_build_result {
    PW_BUILD_DONE,  /* the slot is READY, ABSENT or FAILED */
    PW_BUILD_LOCKED /* another process is compiling it; ask again in a while */
} pw_build_result;

/* Gets a kernel ready. The caller has set slot->busy and holds no lock. `patient`: PW_BUILD_LOCKED may be
 * returned. `waited`: it was, last time. */
pw_build_result pw_build(pw_cache *cache, pw_slot *slot, pw_cache_want want, bool patient, bool waited);

/* ---- worker.c ------------------------------------------------------------------------------------ */

/* With the cache's mutex held. Starts a thread if there is none; false: there cannot be one. */
bool pw_worker_enqueue(pw_cache *cache, pw_slot *slot);
/* Without the mutex. Works on for a bounded time on compiles that can be kept for the next run, except those that wait
 * for other processes; joins the threads. */
void pw_worker_stop(pw_cache *cache);

#endif
