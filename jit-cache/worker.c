/*
 * The workers of a cache: one thread reads kernels from disk, another compiles those that are not there, so that no
 * kernel on disk waits for a compile. Each is started when it is first needed, with all signals blocked so that the
 * application's handlers never run on it. A kernel that another process is compiling goes to the end of the
 * compiler's queue, so that ranks that share a directory share the work instead of waiting for each other.
 */
#include "jit-cache/internal.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"

#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>

enum {
    STACK_BYTES = 8 << 20, /* what a compiler may expect, whatever `ulimit -s` says */
    FIRST_BACKOFF_MS = 1,
    LONGEST_BACKOFF_MS = 100,
    PATIENCE_MS = 30000, /* waiting costs nobody anything here */
    /* The compiler gives way: where ranks have a core each, it gets a tenth of it. With less the application would wait
     * longer for its kernels, and for the thread when it ends. */
    NICE = 10
};

#define MS INT64_C(1000000)

static void append(pw_worker *worker, pw_slot *slot)
{
    slot->queued = true;
    slot->next_queued = NULL;
    if (worker->last)
        worker->last->next_queued = slot;
    else
        worker->first = slot;
    worker->last = slot;
}

static void take_out(pw_worker *worker, pw_slot *slot)
{
    pw_slot *before = NULL;

    for (pw_slot *s = worker->first; s != slot; s = s->next_queued)
        before = s;
    if (before)
        before->next_queued = slot->next_queued;
    else
        worker->first = slot->next_queued;
    if (worker->last == slot)
        worker->last = before;
    slot->queued = false;
}

/* The cache is being destroyed, and the next run would have nothing of this slot. */
static bool is_moot(const pw_cache *cache, const pw_worker *worker, const pw_slot *slot, int64_t now)
{
    return worker->stop && (slot->waiting || slot->want < PW_WANT_COMPILE || now >= cache->finish_by);
}

/* The first slot that can be worked on; else NULL, and when to look again (INT64_MAX: when it is woken). */
static pw_slot *pick(const pw_cache *cache, const pw_worker *worker, int64_t *look_again)
{
    int64_t now = pw_clock_ns();

    *look_again = INT64_MAX;
    for (pw_slot *s = worker->first; s; s = s->next_queued) {
        if (s->busy || is_moot(cache, worker, s, now))
            continue;
        if (!s->waiting || s->retry_at <= now)
            return s;
        if (s->retry_at < *look_again)
            *look_again = s->retry_at;
    }
    return NULL;
}

static void put_off(pw_worker *worker, pw_slot *slot)
{
    int64_t now = pw_clock_ns();

    if (!slot->waiting) {
        slot->waiting = true;
        slot->backoff = FIRST_BACKOFF_MS * MS;
        slot->give_up_at = now + PATIENCE_MS * MS;
    }
    slot->retry_at = now + slot->backoff;
    slot->backoff = 2 * slot->backoff < LONGEST_BACKOFF_MS * MS ? 2 * slot->backoff : LONGEST_BACKOFF_MS * MS;
    if (!slot->queued)
        append(worker, slot);
}

/* With the mutex held, which is let go while building. */
static pw_build_result build(pw_cache *cache, pw_worker *worker, pw_slot *slot, pw_cache_want want, bool patient)
{
    bool waited = slot->waiting;
    pw_build_result result;

    slot->busy = worker->working = true;
    pthread_mutex_unlock(&cache->lock);
    result = pw_build(cache, slot, want, patient, waited);
    pthread_mutex_lock(&cache->lock);
    slot->busy = worker->working = false;
    return result;
}

static void compile(pw_cache *cache, pw_slot *slot)
{
    bool patient = !slot->waiting || pw_clock_ns() < slot->give_up_at;

    if (pw_slot_is_settled(slot, slot->want))
        return;
    if (build(cache, &cache->compiler, slot, slot->want, patient) == PW_BUILD_LOCKED)
        put_off(&cache->compiler, slot);
    else
        slot->waiting = false;
}

static bool enqueue(pw_cache *cache, pw_worker *worker, pw_slot *slot);

static void read_from_disk(pw_cache *cache, pw_slot *slot)
{
    if (!pw_slot_is_settled(slot, PW_WANT_LOAD))
        build(cache, &cache->reader, slot, PW_WANT_LOAD, true);
    if (!pw_slot_is_settled(slot, slot->want) && !slot->queued && !enqueue(cache, &cache->compiler, slot))
        atomic_store_explicit(&slot->kernel.state, PW_KERNEL_FAILED, memory_order_release);
}

static void work_on(pw_cache *cache, pw_worker *worker, pw_slot *slot)
{
    take_out(worker, slot);
    if (worker == &cache->reader)
        read_from_disk(cache, slot);
    else
        compile(cache, slot);
    pw_slot_retire(cache, slot);
    pthread_cond_broadcast(&cache->changed);
}

static void wait_until(pw_cache *cache, int64_t when)
{
    struct timespec t = {.tv_sec = when / INT64_C(1000000000), .tv_nsec = when % INT64_C(1000000000)};

    if (when == INT64_MAX)
        pthread_cond_wait(&cache->changed, &cache->lock);
    else
        pthread_cond_timedwait(&cache->changed, &cache->lock, &t);
}

static void work(pw_cache *cache, pw_worker *worker)
{
    pthread_mutex_lock(&cache->lock);
    for (;;) {
        int64_t look_again;
        pw_slot *slot = pick(cache, worker, &look_again);

        if (slot)
            work_on(cache, worker, slot);
        else if (worker->stop)
            break;
        else
            wait_until(cache, look_again);
    }
    pthread_mutex_unlock(&cache->lock);
}

static void *reader_main(void *arg)
{
    pw_cache *cache = arg;

    prctl(PR_SET_NAME, "packwright-read"); /* without a look into /proc, for which the application would wait */
    work(cache, &cache->reader);
    return NULL;
}

/* The application never holds what this thread needs, and sleeps when it waits for this thread, which then has the
 * core. */
static void *compiler_main(void *arg)
{
    pw_cache *cache = arg;

    prctl(PR_SET_NAME, "packwright-jit");
    setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + NICE); /* on Linux, of this thread */
    work(cache, &cache->compiler);
    return NULL;
}

static bool start(pw_cache *cache, pw_worker *worker)
{
    int error;

    if (worker->started || cache->no_worker)
        return worker->started;
    error =
        pw_thread_start(&worker->thread, STACK_BYTES, worker == &cache->reader ? reader_main : compiler_main, cache);
    worker->started = !error;
    cache->no_worker = error;
    if (error)
        pw_log(PW_LOG_WARN, "no compiler thread: %s; types are packed by the interpreter", strerror(error));
    return worker->started;
}

/* Never over READY, which another thread's pw_cache_get may be setting. */
static void mark_queued(pw_kernel *kernel)
{
    pw_kernel_state expected = PW_KERNEL_NEW;

    if (atomic_compare_exchange_strong(&kernel->state, &expected, PW_KERNEL_QUEUED))
        return;
    expected = PW_KERNEL_ABSENT;
    atomic_compare_exchange_strong(&kernel->state, &expected, PW_KERNEL_QUEUED);
}

static bool enqueue(pw_cache *cache, pw_worker *worker, pw_slot *slot)
{
    if (!start(cache, worker))
        return false;
    append(worker, slot);
    mark_queued(&slot->kernel);
    pthread_cond_broadcast(&cache->changed);
    return true;
}

bool pw_worker_enqueue(pw_cache *cache, pw_slot *slot)
{
    return enqueue(cache, &cache->reader, slot);
}

/* Kernels of which nothing is kept are of no use to anybody any more. The directory is made for those that are. */
static int64_t finish_by(pw_cache *cache)
{
    bool queued;

    pthread_mutex_lock(&cache->lock);
    queued = cache->reader.first || cache->reader.working || cache->compiler.first;
    pthread_mutex_unlock(&cache->lock);
    return queued && pw_disk_may_store(&cache->disk) ? pw_clock_ns() + PW_CACHE_FINISH_MS * MS : 0;
}

static void stop(pw_cache *cache, pw_worker *worker)
{
    pthread_mutex_lock(&cache->lock);
    worker->stop = true;
    pthread_cond_broadcast(&cache->changed);
    pthread_mutex_unlock(&cache->lock);
    if (worker->started)
        pthread_join(worker->thread, NULL);
    pthread_mutex_lock(&cache->lock);
    worker->started = false;
    cache->no_worker = true;
    pthread_mutex_unlock(&cache->lock);
}

void pw_worker_stop(pw_cache *cache)
{
    int64_t when = finish_by(cache);

    pthread_mutex_lock(&cache->lock);
    cache->finish_by = when;
    pthread_mutex_unlock(&cache->lock);
    stop(cache, &cache->reader);
    stop(cache, &cache->compiler);
}
