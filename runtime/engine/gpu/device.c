/*
 * The table of GPU contexts. Slots are filled in order under the lock and are never emptied before the end, so readers
 * take no lock. A context is known by its address and the driver's number for it, since an address may come again.
 */
#include "runtime/engine/gpu/device.h"

#include "base/lock.h"
#include "base/log.h"
#include "runtime/engine/gpu/code.h"
#include "runtime/engine/gpu/pool.h"

#include <stdlib.h>

enum { MAX_CONTEXTS = 64 };

/* The singleton. Slots are filled in order, under the lock, and read without it. Dependents need no lock. */
static struct {
    _Atomic(pw_gpu *) gpus[MAX_CONTEXTS];
    _Atomic(pw_gpu_dependent *) dependents;
    pthread_mutex_t lock;
} table = {.lock = PTHREAD_MUTEX_INITIALIZER};

static unsigned long long id_of(void *context)
{
    unsigned long long id = 0;

    if (!pw_cu.context_id || pw_cu.context_id(context, &id) != PW_CU_OK)
        return 0;
    return id;
}

static pw_gpu *find(void *context, unsigned long long id)
{
    for (int i = 0; i < MAX_CONTEXTS; i++) {
        pw_gpu *gpu = atomic_load_explicit(&table.gpus[i], memory_order_acquire);

        if (!gpu)
            return NULL;
        if (gpu->context == context && gpu->id == id)
            return gpu;
    }
    return NULL;
}

static pw_status read_limits(pw_gpu *gpu)
{
    const struct {
        int attribute;
        int *out;
    } wanted[] = {{PW_CU_MULTIPROCESSORS, &gpu->limits.multiprocessors},
                  {PW_CU_THREADS, &gpu->limits.threads},
                  {PW_CU_MAJOR, &gpu->major},
                  {PW_CU_MINOR, &gpu->minor}};
    int device;
    pw_status status = pw_cu_check(pw_cu.device_get(&device, gpu->ordinal), "cuDeviceGet");

    for (size_t i = 0; i < sizeof wanted / sizeof *wanted && status == PW_OK; i++)
        status =
            pw_cu_check(pw_cu.device_attribute(wanted[i].out, wanted[i].attribute, device), "cuDeviceGetAttribute");
    return status;
}

void pw_gpu_depend(pw_gpu_dependent *dependent)
{
    if (atomic_exchange(&dependent->known, true))
        return;
    dependent->next = atomic_load(&table.dependents);
    while (!atomic_compare_exchange_weak(&table.dependents, &dependent->next, dependent))
        ;
}

static void close_dependents(const pw_gpu *gpu, bool driver)
{
    for (pw_gpu_dependent *d = atomic_load(&table.dependents); d; d = d->next)
        d->close(gpu, driver);
}

static void destroy(pw_gpu *gpu)
{
    PW_GPU_SCOPE(scope);
    /* Entering fails when the driver or the context has ended; the memory of the context is gone then, too. */
    bool driver = pw_gpu_is_alive(gpu) && pw_gpu_enter(gpu, &scope) == PW_OK;

    pw_gpu_pool_destroy(gpu->pool, driver);
    close_dependents(gpu, driver);
    if (driver)
        pw_gpu_modules_free(gpu); /* after the lanes' graphs, which use their functions */
    pw_gpu_leave(&scope);
    if (gpu->primary)
        pw_cu.primary_release(gpu->ordinal);
    pthread_mutex_destroy(&gpu->lock);
    free(gpu);
}

static pw_gpu *create(void *context, unsigned long long id, int ordinal)
{
    pw_gpu *gpu = calloc(1, sizeof *gpu);
    pw_status status;

    if (!gpu)
        return NULL;
    gpu->context = context;
    gpu->id = id;
    gpu->ordinal = ordinal;
    pthread_mutex_init(&gpu->lock, NULL);
    if (pw_gpu_pool_create(gpu, &gpu->pool) != PW_OK) {
        pthread_mutex_destroy(&gpu->lock);
        free(gpu);
        return NULL;
    }
    status = read_limits(gpu);
    if (status != PW_OK) {
        pw_log(PW_LOG_WARN, "GPU %d cannot be used: %s", ordinal, pw_status_text(status));
        atomic_store(&gpu->lost, true);
        return gpu;
    }
    gpu->code = pw_gpu_code_of(gpu->major, gpu->minor);
    return gpu;
}

static pw_gpu *add(void *context, unsigned long long id, int ordinal)
{
    PW_HOLD(&table.lock);
    pw_gpu *gpu = find(context, id);
    int at = 0;

    while (at < MAX_CONTEXTS && atomic_load_explicit(&table.gpus[at], memory_order_relaxed))
        at++;
    if (!gpu && at < MAX_CONTEXTS) {
        gpu = create(context, id, ordinal);
        atomic_store_explicit(&table.gpus[at], gpu, memory_order_release);
    }
    return gpu;
}

pw_gpu *pw_gpu_get(void *context, int ordinal)
{
    unsigned long long id = id_of(context);
    pw_gpu *gpu = find(context, id);

    return gpu ? gpu : add(context, id, ordinal);
}

static pw_gpu *find_primary(int ordinal)
{
    for (int i = 0; i < MAX_CONTEXTS; i++) {
        pw_gpu *gpu = atomic_load_explicit(&table.gpus[i], memory_order_acquire);

        if (!gpu)
            return NULL;
        if (gpu->primary && gpu->ordinal == ordinal && id_of(gpu->context) == gpu->id)
            return gpu;
    }
    return NULL;
}

pw_gpu *pw_gpu_get_primary(int ordinal)
{
    void *current = NULL;
    int device = -1, on = -2;
    pw_gpu *gpu;

    if (pw_cu.context_current(&current) == PW_CU_OK && current && pw_cu.context_device(&on) == PW_CU_OK &&
        pw_cu.device_get(&device, ordinal) == PW_CU_OK && on == device)
        return pw_gpu_get(current, ordinal);
    gpu = find_primary(ordinal);
    if (gpu)
        return gpu;
    if (pw_cu.device_get(&device, ordinal) != PW_CU_OK ||
        pw_cu_check(pw_cu.primary_retain(&current, device), "cuDevicePrimaryCtxRetain") != PW_OK)
        return NULL;
    gpu = pw_gpu_get(current, ordinal);
    if (!gpu || atomic_exchange(&gpu->primary, true))
        pw_cu.primary_release(device);
    return gpu;
}

bool pw_gpu_is_alive(const pw_gpu *gpu)
{
    return !atomic_load_explicit(&gpu->lost, memory_order_relaxed) && id_of(gpu->context) == gpu->id;
}

pw_status pw_gpu_enter(const pw_gpu *gpu, pw_gpu_scope *scope)
{
    void *current = NULL;

    if (pw_cu.context_current(&current) == PW_CU_OK && current == gpu->context)
        return PW_OK;
    scope->pushed = pw_cu.context_push(gpu->context) == PW_CU_OK;
    return scope->pushed ? PW_OK : PW_ERR_IO;
}

void pw_gpu_leave(pw_gpu_scope *scope)
{
    void *context;

    if (scope->pushed)
        pw_cu.context_pop(&context);
    scope->pushed = false;
}

pw_status pw_gpu_register(void *memory, size_t bytes, bool read_only, pw_cu_ptr *device)
{
    unsigned flags = PW_CU_REGISTER_PORTABLE | PW_CU_REGISTER_MAPPED | (read_only ? PW_CU_REGISTER_READ : 0);
    pw_status status;

    if (!pw_cu.host_register || !pw_cu.host_unregister)
        return PW_ERR_NOT_FOUND;
    status = pw_cu_check(pw_cu.host_register(memory, bytes, flags), "cuMemHostRegister");
    if (status != PW_OK)
        return status;
    status = pw_cu_check(pw_cu.host_device_pointer(device, memory, 0), "cuMemHostGetDevicePointer");
    if (status != PW_OK)
        pw_gpu_unregister(memory);
    return status;
}

void pw_gpu_unregister(void *memory)
{
    pw_cu_check(pw_cu.host_unregister(memory), "cuMemHostUnregister");
}

/* After a fault of the GPU every call in its context fails. */
static bool still_works(const pw_gpu *gpu)
{
    PW_GPU_SCOPE(scope);
    int result;

    if (pw_gpu_enter(gpu, &scope) != PW_OK)
        return false;
    result = pw_cu.stream_query(NULL);
    return result == PW_CU_OK || result == PW_CU_NOT_READY;
}

pw_status pw_gpu_judge(pw_gpu *gpu, pw_status status)
{
    if (status == PW_OK || status == PW_ERR_NOMEM || still_works(gpu))
        return status;
    if (!atomic_exchange(&gpu->lost, true))
        pw_log(PW_LOG_WARN, "GPU %d no longer answers: transfers of its memory fail from now on", gpu->ordinal);
    return status;
}

void pw_gpu_close(void)
{
    pthread_mutex_lock(&table.lock);
    for (int i = 0; i < MAX_CONTEXTS; i++) {
        pw_gpu *gpu = atomic_exchange(&table.gpus[i], NULL);

        if (gpu)
            destroy(gpu);
    }
    pthread_mutex_unlock(&table.lock);
    pw_gpu_code_close();
}
