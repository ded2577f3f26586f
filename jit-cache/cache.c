#include "jit-cache/internal.h"

#include "base/clock.h"
#include "jit-cache/exit_guard.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    KERNEL_ABI = 1, /* of pw_kernel_fn and pw_kernel_args */
    /* How long pw_cache_get, which holds up the application, waits for another process's compile. */
    GET_PATIENCE_MS = 5000,
    FIRST_NAP_US = 500,
    LONGEST_NAP_US = 50000
};

/* False in a child of fork(): there the cache must be left alone. */
static bool is_ours(const pw_cache *cache)
{
    return getpid() == cache->pid;
}

bool pw_slot_is_settled(const pw_slot *slot, pw_cache_want want)
{
    pw_kernel_state state = atomic_load_explicit(&slot->kernel.state, memory_order_acquire);

    return state == PW_KERNEL_READY || state == PW_KERNEL_FAILED || (state == PW_KERNEL_ABSENT && want == PW_WANT_LOAD);
}

static void init_sync(pw_cache *cache)
{
    pthread_condattr_t attr;

    pthread_mutex_init(&cache->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&cache->changed, &attr);
    pthread_condattr_destroy(&attr);
}

pw_status pw_cache_create(const pw_cache_config *config, pw_cache **out)
{
    pw_cache *cache = calloc(1, sizeof *cache);

    if (!cache)
        return PW_ERR_NOMEM;
    if (pw_disk_init(&cache->disk, config->dir, config->max_bytes)) {
        free(cache);
        return PW_ERR_NOMEM;
    }
    /* Without memory for these, kernels are compiled. */
    if (pw_disk_init(&cache->system, config->system, 0))
        pw_disk_init(&cache->system, NULL, 0);
    cache->system.system = true;
    cache->system.foreign = config->foreign;
    cache->common = cache->disk.common = cache->system.common = config->dir && !config->foreign ? config->common : NULL;
    cache->disk.shipped = config->foreign && config->shipped ? strdup(config->shipped) : NULL;
    pw_exit_guard_thread();
    cache->pid = getpid();
    cache->target = *config->target;
    snprintf(cache->backend_name, sizeof cache->backend_name, "%s", config->backend);
    cache->load_backend = config->load_backend ? config->load_backend : pw_backend_load;
    cache->disk.foreign = config->foreign;
    cache->slow_path = config->slow_path ? config->slow_path : "the interpreter";
    init_sync(cache);
    *out = cache;
    return PW_OK;
}

static void destroy_slots(pw_cache *cache)
{
    while (cache->slots) {
        pw_slot *slot = cache->slots;

        cache->slots = slot->next;
        pw_image_close(&slot->image);
        pw_shape_unref(slot->shape);
        free(slot);
    }
}

void pw_cache_stop(pw_cache *cache)
{
    if (cache && is_ours(cache))
        pw_worker_stop(cache);
}

void pw_cache_destroy(pw_cache *cache)
{
    if (!cache || !is_ours(cache))
        return;
    pw_worker_stop(cache);
    destroy_slots(cache);
    pw_hash_map_clear(&cache->kernels);
    pw_disk_fini(&cache->disk);
    pw_disk_fini(&cache->system);
    pthread_cond_destroy(&cache->changed);
    pthread_mutex_destroy(&cache->lock);
    free(cache);
}

static pw_hash with_text(pw_hash hash, const char *text)
{
    return pw_hash_mix(hash, pw_hash_bytes(text, strlen(text)));
}

pw_hash pw_cache_key(const pw_shape *shape, const pw_target *target, const char *backend)
{
    const char *version = pw_backend_version(backend);
    pw_hash key = pw_hash_mix(shape->hash, (pw_hash){.lo = KERNEL_ABI});

    return with_text(with_text(with_text(with_text(key, target->arch), target->cpu), backend), version ? version : "");
}

static pw_slot *add_slot(pw_cache *cache, pw_shape *shape)
{
    pw_slot *slot = calloc(1, sizeof *slot);

    if (!slot || pw_hash_map_put(&cache->kernels, shape->hash, slot)) {
        free(slot);
        return NULL;
    }
    slot->kernel.key = pw_cache_key(shape, &cache->target, cache->backend_name);
    slot->shape = pw_shape_ref(shape);
    slot->next = cache->slots;
    if (slot->next)
        slot->next->prev = slot;
    cache->slots = slot;
    return slot;
}

void pw_slot_retire(pw_cache *cache, pw_slot *slot)
{
    if (slot->users > 0 || slot->busy || slot->queued || slot->image.handle || slot->image.code.data)
        return;
    pw_hash_map_remove(&cache->kernels, slot->shape->hash);
    *(slot->prev ? &slot->prev->next : &cache->slots) = slot->next;
    if (slot->next)
        slot->next->prev = slot->prev;
    pw_shape_unref(slot->shape);
    free(slot);
}

/* `shape` NULL: only if it is known. */
static pw_kernel *find_or_add(pw_cache *cache, pw_hash hash, pw_shape *shape)
{
    pw_slot *slot;

    if (!is_ours(cache))
        return NULL;
    pthread_mutex_lock(&cache->lock);
    slot = pw_hash_map_get(&cache->kernels, hash);
    if (!slot && shape)
        slot = add_slot(cache, shape);
    if (slot)
        slot->users++;
    pthread_mutex_unlock(&cache->lock);
    return slot ? &slot->kernel : NULL;
}

pw_kernel *pw_cache_kernel(pw_cache *cache, pw_shape *shape)
{
    return find_or_add(cache, shape->hash, shape);
}

pw_kernel *pw_cache_find(pw_cache *cache, pw_hash shape)
{
    return find_or_add(cache, shape, NULL);
}

pw_shape *pw_kernel_shape(pw_kernel *kernel)
{
    return ((pw_slot *)kernel)->shape;
}

void pw_cache_release(pw_cache *cache, pw_kernel *kernel)
{
    pw_slot *slot = (pw_slot *)kernel;

    if (!kernel || !is_ours(cache))
        return;
    pthread_mutex_lock(&cache->lock);
    slot->users--;
    pw_slot_retire(cache, slot);
    pthread_mutex_unlock(&cache->lock);
}

/* In this thread, with naps while another process compiles. */
static void build_here(pw_cache *cache, pw_slot *slot, pw_cache_want want)
{
    int64_t give_up = pw_clock_ns() + GET_PATIENCE_MS * INT64_C(1000000);
    long nap = FIRST_NAP_US;
    bool waited = false;

    while (pw_build(cache, slot, want, pw_clock_ns() < give_up, waited) == PW_BUILD_LOCKED) {
        struct timespec t = {.tv_nsec = nap * 1000};

        nanosleep(&t, NULL);
        nap = 2 * nap < LONGEST_NAP_US ? 2 * nap : LONGEST_NAP_US;
        waited = true;
    }
}

void pw_cache_get(pw_cache *cache, pw_kernel *kernel, pw_cache_want want)
{
    pw_slot *slot = (pw_slot *)kernel;

    if (pw_slot_is_settled(slot, want) || !is_ours(cache))
        return;
    pthread_mutex_lock(&cache->lock);
    while (!pw_slot_is_settled(slot, want)) {
        if (slot->busy) {
            pthread_cond_wait(&cache->changed, &cache->lock);
            continue;
        }
        slot->busy = true;
        pthread_mutex_unlock(&cache->lock);
        build_here(cache, slot, want);
        pthread_mutex_lock(&cache->lock);
        slot->busy = false;
        pthread_cond_broadcast(&cache->changed);
    }
    pthread_mutex_unlock(&cache->lock);
}

void pw_cache_request(pw_cache *cache, pw_kernel *kernel, pw_cache_want want)
{
    pw_slot *slot = (pw_slot *)kernel;

    if (pw_slot_is_settled(slot, want) || !is_ours(cache))
        return;
    pw_exit_guard_thread();
    pthread_mutex_lock(&cache->lock);
    if (want > slot->want)
        slot->want = want;
    if (!slot->queued && !pw_slot_is_settled(slot, want) && !pw_worker_enqueue(cache, slot) && !slot->busy)
        atomic_store_explicit(&kernel->state, PW_KERNEL_FAILED, memory_order_release);
    pthread_mutex_unlock(&cache->lock);
}

void pw_cache_drain(pw_cache *cache)
{
    if (!is_ours(cache))
        return;
    pthread_mutex_lock(&cache->lock);
    while (cache->reader.first || cache->reader.working || cache->compiler.first || cache->compiler.working)
        pthread_cond_wait(&cache->changed, &cache->lock);
    pthread_mutex_unlock(&cache->lock);
}
