/*
 * Asks the CUDA driver where an address lies, and where the host's pinned memory is for the GPU. Nothing is
 * remembered here: the driver's answers change with every allocation.
 */
#include "runtime/engine/gpu/place.h"

#include "runtime/engine/gpu/device.h"

typedef struct answer {
    void *context;
    unsigned type;
    bool managed;
    int device;
} answer;

/* Asks the driver about an address. An address that the driver does not know gets type 0. */
static bool ask(const void *address, answer *out)
{
    /* Drivers write either an int or a word of 8 bytes for this flag. */
    unsigned long long managed = 0;
    const int attributes[] = {PW_CU_POINTER_CONTEXT, PW_CU_POINTER_MEMORY_TYPE, PW_CU_POINTER_IS_MANAGED,
                              PW_CU_POINTER_DEVICE};
    void *values[] = {&out->context, &out->type, &managed, &out->device};

    *out = (answer){.device = -1};
    if (pw_cu.pointer_attributes(4, attributes, values, pw_cu_address(address)) != PW_CU_OK)
        return false;
    out->managed = managed & 0xff;
    return true;
}

static bool is_prefetched_to_cpu(const void *address)
{
    int where = 0;

    return pw_cu.range_attribute &&
           pw_cu.range_attribute(&where, sizeof where, PW_CU_RANGE_LAST_PREFETCH, pw_cu_address(address), 1) ==
               PW_CU_OK &&
           where == PW_CU_DEVICE_CPU;
}

pw_memory_place pw_gpu_place_of(const void *address)
{
    pw_memory_place place = {.kind = PW_PLACE_HOST};
    answer a;

    if (!pw_cu_find())
        return (pw_memory_place){.kind = PW_PLACE_UNKNOWN};
    if (!ask(address, &a) || (a.type != PW_CU_MEMORY_DEVICE && a.type != PW_CU_MEMORY_UNIFIED))
        return place;
    if (a.managed && is_prefetched_to_cpu(address))
        return place;
    place.device = a.device;
    place.gpu = a.context ? pw_gpu_get(a.context, a.device) : pw_gpu_get_primary(a.device);
    place.kind = place.gpu ? PW_PLACE_DEVICE : PW_PLACE_UNKNOWN;
    return place;
}

bool pw_gpu_allocation_of(const void *address, const pw_gpu *gpu, uintptr_t *begin, uintptr_t *bytes)
{
    unsigned long long allocated = 0; /* of which drivers write the first byte, or more */
    const int attributes[] = {PW_CU_POINTER_IS_ALLOCATED};
    void *values[] = {&allocated};
    pw_cu_ptr base = 0;
    size_t all = 0;
    PW_GPU_SCOPE(scope);
    bool found;

    if (!pw_cu.address_range || pw_cu.pointer_attributes(1, attributes, values, pw_cu_address(address)) != PW_CU_OK ||
        !(allocated & 0xff) || pw_gpu_enter(gpu, &scope) != PW_OK)
        return false;
    found = pw_cu.address_range(&base, &all, pw_cu_address(address)) == PW_CU_OK;
    *begin = (uintptr_t)base;
    *bytes = all;
    return found;
}

uint64_t pw_gpu_mapped_address(const void *address)
{
    unsigned type = 0;
    pw_cu_ptr device = 0;
    const int attributes[] = {PW_CU_POINTER_MEMORY_TYPE, PW_CU_POINTER_ON_DEVICE};
    void *values[] = {&type, &device};

    if (!pw_cu_find() || pw_cu.pointer_attributes(2, attributes, values, pw_cu_address(address)) != PW_CU_OK ||
        type != PW_CU_MEMORY_HOST)
        return 0;
    return device;
}
