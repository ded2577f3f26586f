/*
 * Options, and the one layout engine of the process with the kernel cache behind it. It is created by the first move,
 * and lives until the process ends: the library is never unloaded (it is linked with -z nodelete), so that threads
 * which compile, and kernels in use, keep their code.
 *
 * A child of fork() uses the layouts and kernels of its parent. It makes new layouts, but no kernels: the threads that
 * compile are its parent's.
 */
#include "runtime/engine/library/internal.h"

#include "base/env.h"
#include "base/lock.h"
#include "base/log.h"
#include "jit-cache/exit_guard.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* The singleton. */
static struct {
    pthread_mutex_t lock; /* held to set the fields below */
    _Atomic(pw_layout_engine *) engine;
    bool statistics;
} process = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- the end of the process ---------------------------------------------------------------------------- */

/* The thread that loads the library is nearly always the main thread, whose exit() must wait for a compile under way
 * (jit-cache/exit_guard.h) even if it never moves anything itself. */
__attribute__((constructor)) static void watch_loading_thread(void)
{
    pw_exit_guard_thread();
}

/* ---- fork ---------------------------------------------------------------------------------------------- */

/* Locks the engine, so that the child's copy is in no half-changed state. */
static void before_fork(void)
{
    pthread_mutex_lock(&process.lock);
    if (process.engine)
        pw_layout_engine_pause(process.engine);
}

static void after_fork(void)
{
    if (process.engine)
        pw_layout_engine_resume(process.engine);
    pthread_mutex_unlock(&process.lock);
}

/* ---- options ------------------------------------------------------------------------------------------- */

/* Copies the fields that the caller's version of the struct has; the others are zero. Returns false if the caller has
 * set a field that this version does not have. */
static bool known_fields(const packwright_options *given, packwright_options *out)
{
    const char *bytes = (const char *)given;
    size_t n = given->size < sizeof *out ? given->size : sizeof *out;

    memset(out, 0, sizeof *out);
    memcpy(out, given, n);
    for (size_t i = n; i < given->size; i++)
        if (bytes[i])
            return false;
    return true;
}

static packwright_status check_options(const packwright_options *o)
{
    if ((int)o->jit < PACKWRIGHT_JIT_DEFAULT || o->jit > PACKWRIGHT_JIT_OFF)
        return pw_library_fail(PACKWRIGHT_ERR_INVALID, "options.jit is %d, which is no packwright_jit", (int)o->jit);
    if (o->hot_bytes < 0)
        return pw_library_fail(PACKWRIGHT_ERR_INVALID, "options.hot_bytes is %lld, and must not be negative",
                               (long long)o->hot_bytes);
    return PACKWRIGHT_OK;
}

/* Applies the options: an option that is given replaces its environment variable. False: out of memory. */
static bool apply(const packwright_options *o)
{
    char number[24];
    bool done = true;

    snprintf(number, sizeof number, "%lld", (long long)o->hot_bytes);
    if (o->jit != PACKWRIGHT_JIT_DEFAULT)
        done = pw_env_replace_choice(PW_ENV_JIT, (int)o->jit - PACKWRIGHT_JIT_SYNC) && done;
    if (o->hot_bytes > 0)
        done = pw_env_replace(PW_ENV_HOT_BYTES, number) && done;
    if (o->cache_dir && *o->cache_dir)
        done = pw_env_replace(PW_ENV_CACHE_DIR, o->cache_dir) && done;
    else if (o->cache_dir)
        done = pw_env_replace(PW_ENV_CACHE, "0") && done;
    process.statistics = o->statistics;
    pw_log_silence(o->quiet || !pw_env_is_set(PW_ENV_LOG));
    return done;
}

packwright_status packwright_configure(const packwright_options *options)
{
    packwright_options o;
    packwright_status status;
    int saved = errno;

    if (!options || options->size < sizeof options->size)
        return pw_library_fail(PACKWRIGHT_ERR_INVALID, options ? "options.size is not set" : "options is NULL");
    if (!known_fields(options, &o))
        return pw_library_fail(PACKWRIGHT_ERR_UNSUPPORTED, "options has fields that this library, %s, does not know",
                               packwright_version());
    status = check_options(&o);
    if (status)
        return status;
    PW_HOLD(&process.lock);
    if (process.engine)
        status = pw_library_fail(PACKWRIGHT_ERR_INVALID, "a type has been moved: options are for before that");
    else if (!apply(&o))
        status = pw_library_no_memory();
    errno = saved;
    return status;
}

/* ---- the engine ---------------------------------------------------------------------------------------- */

static pw_layout_engine *create(void)
{
    pw_layout_config config;
    pw_layout_engine *engine = NULL;

    if (!pw_env_is_set(PW_ENV_LOG))
        pw_log_silence(true);
    pw_layout_config_from_env(&config);
    config.counted = config.counted || process.statistics;
    config.timed = false;
    pw_layout_engine_create(&config, &engine);
    return engine;
}

pw_layout_engine *pw_library_engine(void)
{
    pw_layout_engine *engine = atomic_load_explicit(&process.engine, memory_order_acquire);

    if (engine)
        return engine;
    PW_HOLD(&process.lock);
    engine = process.engine;
    if (!engine)
        engine = create();
    if (engine && !process.engine) {
        pthread_atfork(before_fork, after_fork, after_fork);
        atomic_store_explicit(&process.engine, engine, memory_order_release);
    }
    return engine;
}
