/*
 * What the driver says of this process's allocations for other processes: range, handle and number. The driver gives
 * each allocation a number of its own, so an answer that is kept under its number stays right however memory is freed
 * and allocated.
 */
#include "runtime/exchange/gpu/exported.h"

#include "runtime/engine/gpu/memory.h"

#include <string.h>

enum { KEPT = 64 };

/* What the driver has said of one allocation. */
typedef struct answer {
    pw_segment_exported memory; /* number 0: the slot is free */
    pw_status status;
} answer;

/* The singleton, guarded by the lock: answers, in a slot chosen by the number; and the number of the allocation that
 * pw_memory_held stands for. */
static struct {
    pthread_mutex_t lock;
    answer kept[KEPT];
    unsigned held; /* 0: none is known */
    uint64_t held_number;
} table = {.lock = PTHREAD_MUTEX_INITIALIZER};

_Static_assert(sizeof(pw_cu_ipc) == sizeof((pw_segment_exported *)NULL)->handle, "the directory has room for a handle");
_Static_assert(sizeof(pw_cu_uuid) == sizeof((pw_segment_exported *)NULL)->gpu,
               "the directory has room for a GPU's name");

bool pw_gpu_can_export(void)
{
    return pw_cu.ipc_get && pw_cu.device_uuid && pw_cu.address_range;
}

static pw_status ask_number(pw_cu_ptr address, uint64_t *number)
{
    const int attributes[] = {PW_CU_POINTER_BUFFER_ID};
    unsigned long long id = 0;
    void *values[] = {&id};
    pw_status status = pw_cu_check(pw_cu.pointer_attributes(1, attributes, values, address), "cuPointerGetAttributes");

    *number = id;
    return status == PW_OK && id == 0 ? PW_ERR_UNSUPPORTED : status;
}

/* While operations are under way in an allocation it keeps its number, so messages of one exchange ask once. */
static pw_status find_number(pw_cu_ptr address, uint64_t *number)
{
    const void *at = (const void *)(uintptr_t)address;
    unsigned held = pw_memory_held(at);
    bool known;
    pw_status status;

    pthread_mutex_lock(&table.lock);
    known = held != 0 && table.held == held;
    *number = table.held_number;
    pthread_mutex_unlock(&table.lock);
    if (known)
        return PW_OK;
    status = ask_number(address, number);
    if (status != PW_OK || held == 0 || pw_memory_held(at) != held)
        return status;
    pthread_mutex_lock(&table.lock);
    table.held = held;
    table.held_number = *number;
    pthread_mutex_unlock(&table.lock);
    return status;
}

static pw_status find_range(pw_cu_ptr address, pw_segment_exported *out)
{
    pw_cu_ptr base;
    size_t bytes;
    pw_status status = pw_cu_check(pw_cu.address_range(&base, &bytes, address), "cuMemGetAddressRange");

    out->address = base;
    out->bytes = bytes;
    return status;
}

static pw_status find_handle(const pw_gpu *gpu, pw_segment_exported *out)
{
    pw_cu_ipc handle;
    pw_cu_uuid uuid;
    int device;
    pw_status status = pw_cu_check(pw_cu.ipc_get(&handle, out->address), "cuIpcGetMemHandle");

    if (status == PW_OK)
        status = pw_cu_check(pw_cu.device_get(&device, gpu->ordinal), "cuDeviceGet");
    if (status == PW_OK)
        status = pw_cu_check(pw_cu.device_uuid(&uuid, device), "cuDeviceGetUuid");
    if (status != PW_OK)
        return status;
    memcpy(out->handle, &handle, sizeof handle);
    memcpy(out->gpu, &uuid, sizeof uuid);
    return PW_OK;
}

static answer ask(const pw_gpu *gpu, pw_cu_ptr address, uint64_t number)
{
    answer a = {.memory = {.number = number}};

    a.status = find_range(address, &a.memory);
    if (a.status == PW_OK)
        a.status = find_handle(gpu, &a.memory);
    return a;
}

static bool look_up(uint64_t number, answer *out)
{
    const answer *kept = &table.kept[number % KEPT];
    bool known;

    pthread_mutex_lock(&table.lock);
    known = kept->memory.number == number;
    if (known)
        *out = *kept;
    pthread_mutex_unlock(&table.lock);
    return known;
}

pw_status pw_gpu_export(const pw_gpu *gpu, pw_cu_ptr address, pw_segment_exported *out)
{
    uint64_t number;
    pw_status status = find_number(address, &number);
    answer a;

    if (status != PW_OK)
        return status;
    if (!look_up(number, &a)) {
        a = ask(gpu, address, number);
        pthread_mutex_lock(&table.lock);
        table.kept[number % KEPT] = a;
        pthread_mutex_unlock(&table.lock);
    }
    *out = a.memory;
    return a.status;
}
