/*
 * What the driver says of this process's allocations for other processes: range, handle and number. The driver gives
 * each allocation a number of its own, so an answer that is kept under its number stays right however memory is freed
 * and allocated.
 */
#include "runtime/exchange/gpu/exported.h"

#include "base/lock.h"
#include "runtime/engine/gpu/memory.h"

#include <string.h>

enum { KEPT = 64 };

/* What the driver has said of one allocation. */
typedef struct answer {
    pw_segment_exported memory; /* number 0: the slot is free */
    pw_status status;
} answer;

/* The singleton, guarded by the lock: answers, in a slot chosen by the number; and that for the allocation that
 * pw_memory_held stands for. */
static struct {
    pthread_mutex_t lock;
    answer kept[KEPT], last;
    unsigned held; /* that `last` is for; 0: for none */
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

/* Asks the driver for the number alone if an answer is kept under it. */
static answer find(const pw_gpu *gpu, pw_cu_ptr address)
{
    uint64_t number;
    answer a = {.status = ask_number(address, &number)}, *kept = &table.kept[number % KEPT];

    if (a.status != PW_OK)
        return a;
    pthread_mutex_lock(&table.lock);
    a = *kept;
    pthread_mutex_unlock(&table.lock);
    if (a.memory.number == number)
        return a;
    a = ask(gpu, address, number);
    PW_HOLD(&table.lock);
    *kept = a;
    return a;
}

/* An allocation in which operations are under way stays what it is, so messages of one exchange ask once. */
pw_status pw_gpu_export(const pw_gpu *gpu, pw_cu_ptr address, pw_segment_exported *out)
{
    const void *at = (const void *)(uintptr_t)address;
    unsigned held = pw_memory_held(at);
    bool known;
    answer a;

    pthread_mutex_lock(&table.lock);
    known = held != 0 && table.held == held;
    a = table.last;
    pthread_mutex_unlock(&table.lock);
    if (!known) {
        a = find(gpu, address);
        PW_HOLD(&table.lock);
        table.held = pw_memory_held(at) == held ? held : 0;
        table.last = a;
    }
    *out = a.memory;
    return a.status;
}
