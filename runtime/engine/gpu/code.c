/*
 * GPU kernels: a cache of cubins for each architecture, and modules loaded from it for each context. The list of
 * architectures only grows until pw_gpu_code_close; a module that the driver refused is kept as refused, so it is
 * asked once.
 */
#include "runtime/engine/gpu/code.h"

#include "base/lock.h"
#include "base/log.h"
#include "codegen/nvrtc/modules.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct pw_gpu_module {
    pw_hash key;
    void *module; /* NULL: the driver refused it */
    pw_gpu_functions *functions;
    struct pw_gpu_module *next;
} pw_gpu_module;

/* The singleton: the architectures in use. */
static struct {
    pthread_mutex_t lock;
    pw_gpu_code *first;
} codes = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- compilation ------------------------------------------------------------------------------------------------- */

static const pw_backend *nvrtc; /* set before load_backend returns */

static pw_status compile(const pw_compile_job *job, pw_blob *out, pw_diag *diag)
{
    return pw_gpu_module_compile(nvrtc, job, out, diag);
}

/* Loads NVRTC, and returns a backend that compiles through pw_gpu_module_compile: it turns shapes that stand for tier 0
 * or for the fused kernel into these modules. */
static const pw_backend *load_backend(const char *name, pw_diag *diag)
{
    static pw_backend backend;
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    const pw_backend *real = pw_backend_load(name, diag);
    PW_HOLD(&lock);

    if (!real)
        return NULL;
    nvrtc = real;
    backend = (pw_backend){.name = real->name, .version = real->version, .compile = compile};
    return &backend;
}

/* ---- the code of an architecture --------------------------------------------------------------------------------- */

static pw_cache *open_cache(int major, int minor, pw_gpu_code *code)
{
    pw_layout_config config;
    pw_cache *cache = NULL;
    pw_target target = pw_target_gpu(major, minor);
    char shipped[PATH_MAX];

    pw_layout_config_from_env(&config);
    code->mode = config.mode;
    code->hot_bytes = config.hot_bytes;
    config.cache.backend = "nvrtc";
    config.cache.target = &target;
    config.cache.foreign = true;
    config.cache.shipped = pw_backend_beside("nvrtc", PW_GPU_SHIPPED, shipped) ? shipped : NULL;
    config.cache.slow_path = "other means (tier 0, or copies of the driver)";
    config.cache.load_backend = load_backend;
    pw_cache_create(&config.cache, &cache);
    return cache;
}

/* Makes a kernel known to the cache, whose name is all of its shape. NULL: there is no cache, or no memory. */
static pw_kernel *kernel_named(const pw_gpu_code *code, pw_shape *name)
{
    pw_kernel *kernel = name && code->cache ? pw_cache_kernel(code->cache, name) : NULL;

    pw_shape_unref(name);
    return kernel;
}

/* The kernel for fused moves is compiled only once there are several moves. */
static void open_kernels(pw_gpu_code *code)
{
    if (code->cache && pw_gpu_tier0_create(&code->tier0, NULL) == PW_OK)
        code->tier0_kernel = kernel_named(code, pw_gpu_tier0_shape());
    if (code->tier0_kernel && code->mode != PW_JIT_SYNC)
        pw_cache_request(code->cache, code->tier0_kernel, PW_WANT_COMPILE);
    code->fused_kernel = kernel_named(code, pw_gpu_fused_shape());
}

pw_gpu_code *pw_gpu_code_of(int major, int minor)
{
    PW_HOLD(&codes.lock);
    pw_gpu_code *code;

    for (code = codes.first; code; code = code->next)
        if (code->major == major && code->minor == minor)
            break;
    if (!code && (code = calloc(1, sizeof *code)) != NULL) {
        code->major = major;
        code->minor = minor;
        code->cache = open_cache(major, minor, code);
        open_kernels(code);
        code->next = codes.first;
        codes.first = code;
    }
    return code;
}

void pw_gpu_stop(void)
{
    pthread_mutex_lock(&codes.lock);
    for (pw_gpu_code *code = codes.first; code; code = code->next)
        pw_cache_stop(code->cache);
    pthread_mutex_unlock(&codes.lock);
}

void pw_gpu_code_close(void)
{
    pthread_mutex_lock(&codes.lock);
    while (codes.first) {
        pw_gpu_code *code = codes.first;

        codes.first = code->next;
        pw_cache_destroy(code->cache);
        pw_gpu_tier0_destroy(code->tier0);
        free(code);
    }
    pthread_mutex_unlock(&codes.lock);
}

/* ---- modules ----------------------------------------------------------------------------------------------------- */

static pw_status find_functions(void *module, const char *pack, const char *unpack, const char *suffix,
                                pw_gpu_functions *out)
{
    const char *names[] = {pack, unpack};
    char big[80];
    pw_status status = PW_OK;

    for (int i = 0; i < 2 && status == PW_OK; i++) {
        snprintf(big, sizeof big, "%.63s%.8s", names[i], suffix);
        status = pw_cu_check(pw_cu.module_function(&out->fn[i][0], module, names[i]), "cuModuleGetFunction");
        if (status == PW_OK)
            status = pw_cu_check(pw_cu.module_function(&out->fn[i][1], module, big), "cuModuleGetFunction");
    }
    return status;
}

/* The symbols of the jobs of tier 0, or those that the cache gives to a kernel. */
static pw_status find_all(pw_gpu *gpu, const pw_kernel *kernel, pw_gpu_module *m)
{
    char names[2][PW_SYMBOL_TEXT];
    pw_target target = pw_target_gpu(gpu->major, gpu->minor);
    pw_status status = PW_OK;
    int i = 0;

    if (kernel == gpu->code->fused_kernel)
        return find_functions(m->module, PW_GPU_FUSED_PACK, PW_GPU_FUSED_UNPACK, PW_GPU_FUSED_SUFFIX, m->functions);
    if (kernel != gpu->code->tier0_kernel) {
        pw_kernel_symbols(kernel->code_key, names[0], names[1]);
        return find_functions(m->module, names[0], names[1], PW_GPU_BIG_SUFFIX, m->functions);
    }
    PW_HOLD(&codes.lock); /* each call rewrites the jobs */
    for (const pw_compile_job *j = pw_gpu_tier0_jobs(gpu->code->tier0, &target, PW_EMIT_SHARED); j && status == PW_OK;
         j = j->next)
        status = find_functions(m->module, j->pack_name, j->unpack_name, PW_GPU_BIG_SUFFIX, &m->functions[i++]);
    return status;
}

static void say_origin(const pw_gpu *gpu, const pw_kernel *kernel)
{
    char key[PW_HASH_TEXT];

    pw_hash_text(kernel->key, key);
    pw_log(PW_LOG_INFO, "GPU %d (sm_%d%d): kernel %s %s", gpu->ordinal, gpu->major, gpu->minor, key,
           kernel->origin == PW_ORIGIN_COMPILED ? "compiled" : "from the disk cache");
}

static pw_gpu_module *load(pw_gpu *gpu, const pw_kernel *kernel, const pw_blob *code)
{
    size_t n = kernel == gpu->code->tier0_kernel ? PW_GPU_TIER0_KERNELS : 1;
    pw_gpu_module *m = calloc(1, sizeof *m);
    pw_gpu_functions *functions = calloc(n, sizeof *functions);
    pw_status status = PW_ERR_NOMEM;

    if (!m || !functions) {
        free(m);
        free(functions);
        return NULL;
    }
    *m = (pw_gpu_module){.key = kernel->key, .functions = functions, .next = gpu->modules};
    status = pw_cu_check(pw_cu.module_load(&m->module, code->data), "cuModuleLoadData");
    if (status == PW_OK && (status = find_all(gpu, kernel, m)) != PW_OK)
        pw_cu.module_unload(m->module);
    if (status == PW_OK) {
        say_origin(gpu, kernel);
    } else {
        m->module = NULL;
        pw_warn_once("the CUDA driver refuses a kernel for GPU %d (%s); other means are taken", gpu->ordinal,
                     pw_status_text(status));
    }
    gpu->modules = m;
    return m;
}

const pw_gpu_functions *pw_gpu_functions_of(pw_gpu *gpu, pw_kernel *kernel)
{
    PW_HOLD(&gpu->lock);
    const pw_blob *code = kernel ? atomic_load_explicit(&kernel->code, memory_order_acquire) : NULL;
    pw_gpu_module *m;

    if (!code)
        return NULL;
    for (m = gpu->modules; m && !pw_hash_equal(m->key, kernel->key);)
        m = m->next;
    if (!m)
        m = load(gpu, kernel, code);
    return m && m->module ? m->functions : NULL;
}

const pw_gpu_functions *pw_gpu_tier0_functions(pw_gpu *gpu, bool now)
{
    pw_kernel *kernel = gpu->code ? gpu->code->tier0_kernel : NULL;

    if (now && kernel)
        pw_cache_get(gpu->code->cache, kernel, PW_WANT_COMPILE);
    return pw_gpu_functions_of(gpu, kernel);
}

const pw_gpu_functions *pw_gpu_fused_functions(pw_gpu *gpu)
{
    const pw_gpu_functions *f = atomic_load_explicit(&gpu->fused, memory_order_acquire);
    pw_kernel *kernel = gpu->code ? gpu->code->fused_kernel : NULL;

    if (f || !kernel)
        return f;
    if (gpu->code->mode == PW_JIT_SYNC)
        pw_cache_get(gpu->code->cache, kernel, PW_WANT_COMPILE);
    else if (!atomic_load_explicit(&kernel->code, memory_order_acquire))
        pw_cache_request(gpu->code->cache, kernel, PW_WANT_COMPILE);
    f = pw_gpu_functions_of(gpu, kernel);
    if (f)
        atomic_store_explicit(&gpu->fused, f, memory_order_release);
    return f;
}

void pw_gpu_modules_free(pw_gpu *gpu)
{
    atomic_store(&gpu->fused, NULL);
    while (gpu->modules) {
        pw_gpu_module *m = gpu->modules;

        gpu->modules = m->next;
        if (m->module)
            pw_cu.module_unload(m->module);
        free(m->functions);
        free(m);
    }
}
