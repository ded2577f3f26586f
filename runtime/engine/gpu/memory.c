#include "runtime/engine/gpu/memory.h"

#include "base/log.h"
#include "runtime/engine/gpu/driver.h"
#include "runtime/engine/gpu/place.h"

#include <errno.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

_Atomic pw_memory_world pw_memory_now = PW_MEMORY_HOST_ONLY;
_Atomic unsigned pw_memory_generation;
_Thread_local uintptr_t pw_memory_seen[PW_MEMORY_SEEN];

/* How many objects the loader had ever mapped when the last look at them was over. */
static _Atomic unsigned long long objects_seen;
/* The CUDA driver was among them, but nobody had initialised it. */
static _Atomic bool cuda_sleeps;

/* What one look at the mapped objects finds. */
typedef struct gpu_runtimes {
    bool cuda, other;
    unsigned long long objects; /* that the loader had ever mapped */
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
    found->objects = info->dlpi_adds;
    if (found->objects == atomic_load_explicit(&objects_seen, memory_order_acquire))
        return 1;
    found->cuda = found->cuda || !strncmp(name, "libcuda.so", 10);
    found->other = found->other || !strncmp(name, "libamdhip64.so", 14) || !strncmp(name, "libze_loader.so", 15);
    return 0;
}

static void enter(pw_memory_world world)
{
    atomic_store(&pw_memory_now, world);
    atomic_fetch_add_explicit(&pw_memory_generation, 1, memory_order_acq_rel);
}

/*
 * The driver is in the process. Libraries of networks map it for themselves, also under programs that never use a GPU:
 * as long as it sleeps there is no memory of a GPU.
 */
static void look_at_cuda(void)
{
    bool sleeps = pw_cu_find() && pw_cu_sleeps();

    atomic_store(&cuda_sleeps, sleeps);
    if (!sleeps)
        enter(pw_cu_find() ? PW_MEMORY_ASK_CUDA : PW_MEMORY_UNKNOWN);
}

/*
 * Which GPU runtimes are in use by now? What was looked at is noted last, and as counted by the look itself: a thread
 * that takes another's look for its own must find what that has concluded, and a library that comes in between must be
 * looked at by the next one.
 */
static void look(void)
{
    gpu_runtimes found = {.objects = 0};

    dl_iterate_phdr(look_at_object, &found);
    if (found.other) {
        pw_log(PW_LOG_INFO, "a GPU runtime other than CUDA is in the process: buffers are left to MPI");
        enter(PW_MEMORY_UNKNOWN);
    } else if (found.cuda || atomic_load(&cuda_sleeps)) {
        look_at_cuda();
    }
    atomic_store_explicit(&objects_seen, found.objects, memory_order_release);
}

/*
 * Can the CPU read the word at this address? The system call with an argument that it refuses looks at the word
 * first, and does nothing. Unknown systems say no, and then the driver is asked every time.
 */
static bool is_readable(const void *address)
{
#ifdef SYS_rt_sigprocmask
    enum { NO_SUCH_HOW = -1 };
    uintptr_t word = (uintptr_t)address & ~(uintptr_t)7;

    return syscall(SYS_rt_sigprocmask, NO_SUCH_HOW, word, NULL, 8) == -1 && errno == EINVAL;
#else
    (void)address;
    return false;
#endif
}

/* Was this region host memory when last looked at, and is it still memory of the CPU? */
static bool is_known_host(const void *address, uintptr_t *slot, uintptr_t region)
{
    int saved = errno;
    bool known = *slot == region + 1 && is_readable(address);

    errno = saved;
    if (!known)
        *slot = 0;
    return known;
}

static pw_memory_place ask_cuda(const void *address)
{
    uintptr_t region = (uintptr_t)address >> PW_MEMORY_REGION_SHIFT;
    uintptr_t *slot = pw_memory_slot(region);
    pw_memory_place place = {.kind = PW_PLACE_HOST};

    if (is_known_host(address, slot, region))
        return place;
    place = pw_gpu_place_of(address);
    if (place.kind == PW_PLACE_HOST)
        *slot = region + 1;
    return place;
}

bool pw_memory_has_cuda(void)
{
    if (atomic_load(&pw_memory_now) == PW_MEMORY_HOST_ONLY)
        look();
    return atomic_load(&pw_memory_now) == PW_MEMORY_ASK_CUDA;
}

pw_memory_place pw_memory_look(const void *address)
{
    uintptr_t region = (uintptr_t)address >> PW_MEMORY_REGION_SHIFT;

    if (atomic_load(&pw_memory_now) == PW_MEMORY_HOST_ONLY)
        look();
    switch (atomic_load(&pw_memory_now)) {
    case PW_MEMORY_HOST_ONLY:
        /* MPI_BOTTOM's region stands for no memory that was in use. */
        *pw_memory_slot(region) = address ? region + 1 : 0;
        return (pw_memory_place){.kind = PW_PLACE_HOST};
    case PW_MEMORY_ASK_CUDA: return ask_cuda(address);
    case PW_MEMORY_UNKNOWN: break;
    }
    return (pw_memory_place){.kind = PW_PLACE_UNKNOWN};
}
