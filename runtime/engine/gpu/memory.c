/*
 * Where an address lies. A thread remembers regions of 2 MiB that were host memory; before it relies on one it asks
 * the system whether the CPU can read it, since what the CPU can read is never a GPU's. The list of loaded objects is
 * looked at anew only when the loader's count has changed.
 */
#include "runtime/engine/gpu/memory.h"

#include "base/epoch.h"
#include "base/lock.h"
#include "base/log.h"
#include "runtime/engine/gpu/driver.h"
#include "runtime/engine/gpu/place.h"
#include "runtime/engine/memory/view.h"

#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

_Atomic pw_memory_world pw_memory_now = PW_MEMORY_HOST_ONLY;
_Thread_local uintptr_t pw_memory_seen[PW_MEMORY_SEEN];

/* The number of objects that the loader had ever mapped at the last look at them. */
static _Atomic unsigned long long objects_seen;
/* The CUDA driver was among them, but was not initialised. */
static _Atomic bool cuda_sleeps;

/* The result of one look at the mapped objects. */
typedef struct gpu_runtimes {
    bool cuda, other;
    unsigned long long objects; /* mapped by the loader since the start of the process */
} gpu_runtimes;

/* Looks at the name of one mapped object. (Asking dlopen for libraries that are not mapped would search the file system
 * each time.) Ends the iteration at the first object if nothing was loaded since the last look. */
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

/* To be called when the driver is mapped. Network libraries map it for themselves, also in programs that never use a
 * GPU: as long as it is not initialised, no address is a GPU's. */
static void look_at_cuda(void)
{
    bool sleeps = pw_cu_find() && pw_cu_sleeps();

    atomic_store(&cuda_sleeps, sleeps);
    if (!sleeps)
        atomic_store(&pw_memory_now, pw_cu_find() ? PW_MEMORY_ASK_CUDA : PW_MEMORY_UNKNOWN);
}

/*
 * Finds out which GPU runtimes are in use. Stores the number of objects last, so that a thread which skips its look
 * because of that number finds the conclusion; the number is the one that this look has seen, so that the next look
 * notices a library that was loaded meanwhile.
 */
static void look(void)
{
    gpu_runtimes found = {.objects = 0};

    dl_iterate_phdr(look_at_object, &found);
    if (found.other) {
        pw_log(PW_LOG_INFO, "a GPU runtime other than CUDA is in the process: buffers are left to MPI");
        atomic_store(&pw_memory_now, PW_MEMORY_UNKNOWN);
    } else if (found.cuda || atomic_load(&cuda_sleeps)) {
        look_at_cuda();
    }
    if (atomic_load(&pw_memory_now) != PW_MEMORY_HOST_ONLY)
        pw_epoch_end();
    atomic_store_explicit(&objects_seen, found.objects, memory_order_release);
}

/* Whether the CPU can read the word at this address. The system call reads the word, and then fails because of its
 * first argument. On other systems the answer is no, and the driver is asked every time. */
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

/* Whether this region was host memory at the last look, and the CPU can still read it. */
static bool is_known_host(const void *address, uintptr_t *slot, uintptr_t region)
{
    int saved = errno;
    bool known = *slot == region + 1 && is_readable(address);

    errno = saved;
    if (!known)
        *slot = 0;
    return known;
}

/* ---- what stays -------------------------------------------------------------------------------------------------- */

enum { REST = 256 /* operations that ask for nothing after one whose allocation the driver did not tell */ };

/* The singleton: the allocation in which operations are under way. The lock guards all writes. Whoever reads a field of
 * the next allocation finds the version that came before it. */
static struct {
    pthread_mutex_t lock;
    int operations, rest;
    _Atomic unsigned version; /* odd: there is an allocation, which the other fields describe */
    _Atomic uintptr_t begin, bytes;
    _Atomic int device;
    _Atomic(struct pw_gpu *) gpu;
} held = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool is_held(const void *address)
{
    return (uintptr_t)address - atomic_load_explicit(&held.begin, memory_order_acquire) <
           atomic_load_explicit(&held.bytes, memory_order_acquire);
}

unsigned pw_memory_held(const void *address)
{
    unsigned version = atomic_load_explicit(&held.version, memory_order_acquire);
    bool lies_there = version % 2 != 0 && is_held(address);

    return lies_there && atomic_load_explicit(&held.version, memory_order_relaxed) == version ? version : 0;
}

/* Whether the address lies in the allocation, and did so until after its place was read. */
static bool find_held(const void *address, pw_memory_place *place)
{
    unsigned version = pw_memory_held(address);

    if (version == 0)
        return false;
    *place = (pw_memory_place){.kind = PW_PLACE_DEVICE,
                               .device = atomic_load_explicit(&held.device, memory_order_acquire),
                               .gpu = atomic_load_explicit(&held.gpu, memory_order_acquire)};
    return atomic_load_explicit(&held.version, memory_order_relaxed) == version;
}

static void next_version(void)
{
    atomic_fetch_add_explicit(&held.version, 1, memory_order_release);
}

static bool fill_held(const void *address, const pw_memory_place *place)
{
    uintptr_t begin, bytes;

    if (held.rest > 0 || !pw_gpu_allocation_of(address, place->gpu, &begin, &bytes)) {
        held.rest = held.rest > 0 ? held.rest - 1 : REST;
        return false;
    }
    atomic_store_explicit(&held.begin, begin, memory_order_release);
    atomic_store_explicit(&held.bytes, bytes, memory_order_release);
    atomic_store_explicit(&held.device, place->device, memory_order_release);
    atomic_store_explicit(&held.gpu, place->gpu, memory_order_release);
    next_version();
    return true;
}

static bool hold(const void *first, const pw_memory_place *place)
{
    PW_HOLD(&held.lock);
    bool holds = held.operations > 0 ? is_held(first) : fill_held(first, place);

    held.operations += holds;
    return holds;
}

bool pw_memory_hold(const pw_buffer *b)
{
    return hold(pw_view_first(b), &b->place);
}

void pw_memory_release(void)
{
    PW_HOLD(&held.lock);

    if (--held.operations == 0)
        next_version();
}

/* What pw_memory_together has begun: a series, in which an allocation is kept in mind. */
static _Thread_local bool together, holds_together;

void pw_memory_together_now(bool on)
{
    together = on;
    if (!on && holds_together)
        pw_memory_release();
    holds_together = holds_together && on;
}

/* ---- asking ------------------------------------------------------------------------------------------------------ */

static pw_memory_place ask_cuda(const void *address)
{
    uintptr_t region = pw_memory_region(address);
    uintptr_t *slot = pw_memory_slot(region);
    pw_memory_place place;

    if (find_held(address, &place))
        return place;
    place = (pw_memory_place){.kind = PW_PLACE_HOST};
    if (is_known_host(address, slot, region))
        return place;
    place = pw_gpu_place_of(address);
    if (place.kind == PW_PLACE_HOST)
        *slot = region + 1;
    else if (together && !holds_together && place.kind == PW_PLACE_DEVICE)
        holds_together = hold(address, &place);
    return place;
}

bool pw_memory_is_where_it_was(const pw_buffer *b)
{
    const pw_memory_place now = pw_memory_place_of(pw_view_first(b));

    return now.kind == b->place.kind && now.gpu == b->place.gpu;
}

bool pw_memory_has_cuda(void)
{
    if (atomic_load(&pw_memory_now) == PW_MEMORY_HOST_ONLY)
        look();
    return atomic_load(&pw_memory_now) == PW_MEMORY_ASK_CUDA;
}

pw_memory_place pw_memory_look(const void *address)
{
    uintptr_t region = pw_memory_region(address);

    if (atomic_load(&pw_memory_now) == PW_MEMORY_HOST_ONLY)
        look();
    switch (atomic_load(&pw_memory_now)) {
    case PW_MEMORY_HOST_ONLY:
        /* The region of a null address, as MPI_BOTTOM is, is no evidence of host memory. */
        *pw_memory_slot(region) = address ? region + 1 : 0;
        return (pw_memory_place){.kind = PW_PLACE_HOST};
    case PW_MEMORY_ASK_CUDA: return ask_cuda(address);
    case PW_MEMORY_UNKNOWN: break;
    }
    return (pw_memory_place){.kind = PW_PLACE_UNKNOWN};
}
