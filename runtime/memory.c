#include "runtime/memory.h"

#include "base/log.h"

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* From the CUDA driver API, whose header is not needed for one call. */
enum { CUDA_OK = 0, CUDA_ATTRIBUTE_MEMORY_TYPE = 2, CUDA_MEMORY_HOST = 1 };
typedef int cuda_pointer_attribute_fn(void *data, int attribute, unsigned long long address);

_Atomic pw_memory_world pw_memory_now = PW_MEMORY_HOST_ONLY;
_Thread_local uintptr_t pw_memory_seen[PW_MEMORY_SEEN];
static _Atomic(cuda_pointer_attribute_fn *) cuda_pointer_attribute;

/* How many objects the loader had ever mapped when last looked at. */
static _Atomic unsigned long long objects_seen;

typedef struct gpu_runtimes {
    bool cuda, other;
} gpu_runtimes;

/*
 * Looks at names of mapped objects only: asking dlopen for libraries that are not there would search the file system
 * each time. Ends at the first object when nothing was loaded since the last look.
 */
static int look_at_object(struct dl_phdr_info *info, size_t size, void *arg)
{
    gpu_runtimes *found = arg;
    const char *slash = strrchr(info->dlpi_name, '/');
    const char *name = slash ? slash + 1 : info->dlpi_name;

    (void)size;
    if (info->dlpi_adds == atomic_load_explicit(&objects_seen, memory_order_relaxed))
        return 1;
    found->cuda = found->cuda || !strncmp(name, "libcuda.so", 10);
    found->other = found->other || !strncmp(name, "libamdhip64.so", 14) || !strncmp(name, "libze_loader.so", 15);
    return 0;
}

static int count_objects(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size, (void)arg;
    atomic_store_explicit(&objects_seen, info->dlpi_adds, memory_order_relaxed);
    return 1;
}

/* Without the one function there is no telling what an address is. */
static pw_memory_world world_with_cuda(void)
{
    void *cuda = dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_LAZY);
    void *symbol = cuda ? dlsym(cuda, "cuPointerGetAttribute") : NULL;

    atomic_store(&cuda_pointer_attribute, (cuda_pointer_attribute_fn *)symbol);
    return symbol ? PW_MEMORY_ASK_CUDA : PW_MEMORY_UNKNOWN;
}

/* Which GPU runtimes are mapped by now? */
static void look(void)
{
    gpu_runtimes found = {false, false};

    if (dl_iterate_phdr(look_at_object, &found) == 1)
        return;
    dl_iterate_phdr(count_objects, NULL);
    if (found.other) {
        pw_log(PW_LOG_INFO, "a GPU runtime other than CUDA is in the process: buffers are left to MPI");
        atomic_store(&pw_memory_now, PW_MEMORY_UNKNOWN);
    } else if (found.cuda) {
        atomic_store(&pw_memory_now, world_with_cuda());
    }
}

/* An error means that the driver has never heard of the address: ordinary host memory. Managed memory reports itself as
 * device memory and is left to MPI, too. MPI_BOTTOM tells nothing of where a type's absolute addresses lead. */
static bool ask_cuda(const void *address)
{
    cuda_pointer_attribute_fn *ask = atomic_load(&cuda_pointer_attribute);
    unsigned type = 0;

    if (!address)
        return false;
    return ask(&type, CUDA_ATTRIBUTE_MEMORY_TYPE, (unsigned long long)(uintptr_t)address) != CUDA_OK ||
           type == CUDA_MEMORY_HOST;
}

bool pw_memory_check(const void *address)
{
    uintptr_t region = (uintptr_t)address >> PW_MEMORY_REGION_SHIFT;

    if (atomic_load(&pw_memory_now) == PW_MEMORY_HOST_ONLY)
        look();
    switch (atomic_load(&pw_memory_now)) {
    case PW_MEMORY_HOST_ONLY:
        /* MPI_BOTTOM's region stands for no memory that was in use. */
        *pw_memory_slot(region) = address ? region + 1 : 0;
        return true;
    case PW_MEMORY_ASK_CUDA: return ask_cuda(address);
    case PW_MEMORY_UNKNOWN: break;
    }
    return false;
}
