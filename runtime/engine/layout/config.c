/*
 * The engine of layouts: its settings, as the environment says, and its life from creating to stopping. A setting
 * that cannot be taken is reported and left at its default; without a directory for the cache kernels are kept in
 * memory only.
 */
#include "runtime/engine/layout/internal.h"

#include "base/env.h"
#include "base/log.h"

#include <stdlib.h>

static const char *cache_dir(pw_layout_config *config)
{
    if (!pw_env_bool(PW_ENV_CACHE))
        return NULL;
    if (pw_cache_default_dir(config->dir, sizeof config->dir))
        return config->dir;
    pw_warn_once("no disk cache: neither PACKWRIGHT_CACHE_DIR nor XDG_CACHE_HOME nor HOME says where");
    return NULL;
}

static const char *system_dir(pw_layout_config *config)
{
    return pw_env_bool(PW_ENV_CACHE) && pw_cache_system_dir(config->system, sizeof config->system) ? config->system
                                                                                                   : NULL;
}

bool pw_layout_use_is_reported(void)
{
    return pw_env_choice(PW_ENV_STATS) > 0 || *pw_env_string(PW_ENV_REPORT) != '\0' ||
           *pw_env_string(PW_ENV_TRACE) != '\0';
}

pw_jit_mode pw_jit_mode_from_env(void)
{
    return (pw_jit_mode)(PW_JIT_SYNC + pw_env_choice(PW_ENV_JIT));
}

void pw_layout_config_from_env(pw_layout_config *config)
{
    pw_diag diag;

    *config = (pw_layout_config){.mode = pw_jit_mode_from_env(),
                                 .hot_bytes = pw_env_size(PW_ENV_HOT_BYTES),
                                 .counted = pw_layout_use_is_reported(),
                                 .timed = pw_layout_use_is_reported()};
    config->cache.dir = cache_dir(config);
    config->cache.system = system_dir(config);
    config->cache.max_bytes = pw_env_size(PW_ENV_CACHE_SIZE);
    config->cache.backend = "llvm";
    if (pw_target_parse(NULL, pw_env_string(PW_ENV_TARGET_CPU), &config->target, &diag)) {
        pw_log_for_node("PACKWRIGHT_TARGET_CPU: %s; taking this machine's", diag.text);
        config->target = *pw_target_host();
    }
    config->cache.target = &config->target;
}

pw_status pw_layout_engine_create(const pw_layout_config *config, pw_layout_engine **out)
{
    pw_layout_engine *engine = calloc(1, sizeof *engine);
    pw_status status;

    if (!engine)
        return PW_ERR_NOMEM;
    status = pw_cache_create(&config->cache, &engine->cache);
    if (status) {
        free(engine);
        return status;
    }
    engine->mode = config->mode;
    engine->hot_bytes = config->hot_bytes > 0 ? config->hot_bytes : PW_LAYOUT_HOT_BYTES;
    engine->counted = config->counted;
    engine->timed = config->timed;
    pthread_mutex_init(&engine->lock, NULL);
    *out = engine;
    return PW_OK;
}

void pw_layout_engine_destroy(pw_layout_engine *engine)
{
    if (!engine)
        return;
    pw_layout_trim(engine, 0, 0);
    pw_cache_destroy(engine->cache);
    pw_hash_map_clear(&engine->known);
    pthread_mutex_destroy(&engine->lock);
    free(engine);
}

void pw_layout_engine_stop(pw_layout_engine *engine)
{
    if (engine)
        pw_cache_stop(engine->cache);
}

void pw_layout_engine_pause(pw_layout_engine *engine)
{
    pthread_mutex_lock(&engine->lock);
}

void pw_layout_engine_resume(pw_layout_engine *engine)
{
    pthread_mutex_unlock(&engine->lock);
}
