/*
 * Regions of blocks, registered with userfaultfd, and the thread that makes the bytes of blocks that somebody reads. A
 * block's lock is held while it is filled, so its maker runs in one thread at a time and not after pw_lazy_clear.
 */
#include "runtime/exchange/lazy.h"

#include "base/lock.h"
#include "base/log.h"
#include "base/thread.h"
#include "runtime/engine/memory/pool.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef UFFD_USER_MODE_ONLY /* Linux 5.11 */
#define UFFD_USER_MODE_ONLY 1
#endif
#ifndef USERFAULTFD_IOC_NEW /* Linux 6.1 */
#define USERFAULTFD_IOC_NEW _IO(0xAA, 0x00)
#endif

enum {
    REGIONS = 256,
    ALIGNMENT = 2 << 20,
    STACK = 1 << 20 /* the driver of a GPU may run on it */
};

typedef struct block {
    pthread_mutex_t lock; /* held while the block is filled */
    pw_lazy_maker *make;  /* NULL: the block stands for nothing */
    void *arg;
    int64_t bytes;
    bool read, made; /* since pw_lazy_set */
    bool filled;     /* it has pages, or no access (`closed`) */
    bool closed;
} block;

typedef struct region {
    char *base;
    uint32_t shift, count;
    block *blocks;
} region;

/* The singleton. Regions are added under the lock and never removed. */
static struct {
    pthread_mutex_t lock;
    pthread_once_t begun;
    _Atomic int serves; /* pw_lazy_readers, once it has begun */
    int fd;
    region regions[REGIONS];
    _Atomic int nregions;
} lazy = {.lock = PTHREAD_MUTEX_INITIALIZER, .begun = PTHREAD_ONCE_INIT, .fd = -1};

static size_t page(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

static void end_service(void)
{
    atomic_store_explicit(&lazy.serves, PW_LAZY_NOBODY, memory_order_relaxed);
}

/* Whether the descriptor is still a userfaultfd: a program may close descriptors that it does not know. */
static bool has_descriptor(void)
{
    struct uffdio_range some = {.start = (uintptr_t)&lazy & -page(), .len = page()};

    return ioctl(lazy.fd, UFFDIO_WAKE, &some) == 0;
}

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

/* The region that has the byte. NULL: none. */
static region *region_of(const void *byte)
{
    for (int i = atomic_load_explicit(&lazy.nregions, memory_order_acquire); i-- > 0;) {
        region *r = &lazy.regions[i];

        if ((uintptr_t)byte - (uintptr_t)r->base < (uint64_t)r->count << r->shift)
            return r;
    }
    return NULL;
}

static uint32_t number_of(const region *r, const void *byte)
{
    return (uint32_t)((uintptr_t)((const char *)byte - r->base) >> r->shift);
}

static block *block_of(const void *byte)
{
    region *r = region_of(byte);

    return &r->blocks[number_of(r, byte)];
}

/* Takes the block's pages away again. The lock of the block must be held. */
static void empty(const region *r, block *b, char *base)
{
    if (!b->filled)
        return;
    if (madvise(base, (size_t)1 << r->shift, MADV_DONTNEED) != 0 ||
        (b->closed && mprotect(base, (size_t)1 << r->shift, PROT_READ | PROT_WRITE) != 0)) {
        /* The program has locked its memory: what is there stays there, and no later message may use it. */
        pw_log(PW_LOG_INFO, "lazy memory cannot be emptied (%s): there is no more", strerror(errno));
        end_service();
        return;
    }
    b->filled = b->closed = false;
}

/* ---- filling ----------------------------------------------------------------------------------------------------- */

/* Whether the system has refused for a moment: mappings change, or it is short of memory. Threads that wait for pages
 * have no other way on than that it is tried again. */
static bool is_passing(void)
{
    bool passing = errno == EAGAIN || errno == ENOMEM;

    if (passing)
        sched_yield();
    return passing;
}

/* Gives a block these bytes, in whole pages, also where it has pages: those of an earlier message, which the system did
 * not take away, or ordinary ones, since the descriptor is closed. */
static bool put(char *to, const char *from, size_t bytes)
{
    while (bytes > 0) {
        struct uffdio_copy c = {
            .dst = (uintptr_t)to, .src = (uintptr_t)from, .len = bytes, .mode = UFFDIO_COPY_MODE_DONTWAKE};
        size_t done = 0;

        if (ioctl(lazy.fd, UFFDIO_COPY, &c) == 0)
            return true;
        if (c.copy > 0)
            done = (size_t)c.copy;
        else if (errno == EEXIST || !has_descriptor())
            memcpy(to, from, done = page());
        else if (!is_passing())
            return false;
        to += done;
        from += done;
        bytes -= done;
    }
    return true;
}

/* Bytes are lost: whoever reads the block gets an error. */
static void shut(const region *r, block *b, char *base)
{
    b->closed = mprotect(base, (size_t)1 << r->shift, PROT_NONE) == 0;
}

/* Makes the bytes of a block. The lock of the block must be held. */
static void fill(const region *r, block *b, char *base)
{
    size_t bytes = ((size_t)b->bytes + page() - 1) / page() * page();
    char *all = pw_pool_take((int64_t)bytes);

    b->filled = true;
    if (all && !b->closed && b->make(b->arg, all, b->bytes)) {
        memset(all + b->bytes, 0, bytes - (size_t)b->bytes);
        b->made = put(base, all, bytes);
    }
    pw_pool_give(all, (int64_t)bytes);
    if (!b->made)
        shut(r, b, base);
}

/* Gives zeros to a page that holds nothing of a message. */
static bool put_zeros(char *at)
{
    struct uffdio_zeropage z = {.range = {.start = (uintptr_t)at, .len = page()},
                                .mode = UFFDIO_ZEROPAGE_MODE_DONTWAKE};

    while (ioctl(lazy.fd, UFFDIO_ZEROPAGE, &z) != 0)
        if (errno == EEXIST || !is_passing())
            return errno == EEXIST;
    return true;
}

/* Between the two calls of pw_lazy_together: whether this thread has found the descriptor. */
static _Thread_local bool together, found;

void pw_lazy_together(bool on)
{
    together = on;
    found = false;
}

void pw_lazy_set(void *at, int64_t bytes, pw_lazy_maker *make, void *arg, bool now)
{
    region *r = region_of(at);
    block *b = block_of(at);
    PW_HOLD(&b->lock);

    empty(r, b, at);
    if (!b->filled && !found) {
        b->filled = !has_descriptor(); /* the memory is ordinary then */
        found = together && !b->filled;
        if (b->filled)
            end_service();
    }
    b->make = make;
    b->arg = arg;
    b->bytes = bytes;
    b->read = b->made = false;
    if (now || b->filled)
        fill(r, b, at);
}

bool pw_lazy_clear(void *at)
{
    block *b = block_of(at);
    PW_HOLD(&b->lock);
    bool read = b->read;

    b->make = NULL;
    b->read = false;
    empty(region_of(at), b, at);
    return read;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* Answers a fault at an address. Several readers of a block may wait: the first one's fault fills it. */
static void answer(char *at)
{
    region *r = region_of(at);
    block *b = block_of(at);
    char *base = r->base + ((size_t)number_of(r, at) << r->shift);
    struct uffdio_range all = {.start = (uintptr_t)base, .len = (size_t)1 << r->shift};
    PW_HOLD(&b->lock);

    if (b->make && !b->made)
        fill(r, b, base);
    if (!b->closed && (!b->make || at >= base + b->bytes) && !put_zeros((char *)((uintptr_t)at & -page())))
        shut(r, b, base);
    b->read = b->read || b->make;
    b->filled = true;
    ioctl(lazy.fd, UFFDIO_WAKE, &all);
}

static void *serve(void *unused)
{
    struct uffd_msg message;

    (void)unused;
    for (;;) {
        ssize_t n = read(lazy.fd, &message, sizeof message);

        /* When the program has closed the descriptor, the system ends all faults as soon as this call returns. */
        if ((n < 0 && errno != EINTR && errno != EAGAIN) || !has_descriptor())
            break;
        if (n == (ssize_t)sizeof message && message.event == UFFD_EVENT_PAGEFAULT)
            answer((char *)(uintptr_t)message.arg.pagefault.address);
    }
    end_service();
    return NULL;
}

/* ---- beginning --------------------------------------------------------------------------------------------------- */

/* Opens a userfaultfd that handles faults of the kernel, too, or else only those of threads in user code. */
static int open_faults(pw_lazy_readers *serves)
{
    int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC), device = -1;

    if (fd < 0)
        device = open("/dev/userfaultfd", O_RDWR | O_CLOEXEC);
    if (device >= 0) {
        fd = ioctl(device, USERFAULTFD_IOC_NEW, O_CLOEXEC);
        close(device);
    }
    *serves = fd >= 0 ? PW_LAZY_EVERYBODY : PW_LAZY_THREADS;
    if (fd >= 0)
        return fd;
    pw_log(PW_LOG_INFO,
           "no userfaultfd for other processes (%s): messages that a GPU packs are copied to host memory, too",
           strerror(errno));
    return (int)syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);
}

static bool start_thread(void)
{
    pthread_t thread;

    return pw_thread_start(&thread, STACK, serve, NULL) == 0 && pthread_detach(thread) == 0;
}

/* Runs in the child of a fork, which has neither the thread nor the memory. A process that waits for a page is let go
 * when this process's parent has ended, unless the child keeps the descriptor open. */
static void forget(void)
{
    if (lazy.fd >= 0 && has_descriptor())
        close(lazy.fd);
    end_service();
}

static pw_lazy_readers begin(void)
{
    struct uffdio_api api = {.api = UFFD_API};
    pw_lazy_readers serves;

    lazy.fd = open_faults(&serves);
    if (lazy.fd < 0)
        return PW_LAZY_NOBODY;
    if (ioctl(lazy.fd, UFFDIO_API, &api) == 0 && pthread_atfork(NULL, NULL, forget) == 0 && start_thread())
        return serves;
    close(lazy.fd);
    lazy.fd = -1;
    return PW_LAZY_NOBODY;
}

static void try_to_begin(void)
{
    pw_lazy_readers serves = begin();

    if (serves == PW_LAZY_NOBODY)
        pw_log(PW_LOG_INFO, "no userfaultfd (%s): there is no lazy memory", strerror(errno));
    atomic_store_explicit(&lazy.serves, (int)serves, memory_order_release);
}

pw_lazy_readers pw_lazy_serves(void)
{
    pthread_once(&lazy.begun, try_to_begin);
    return (pw_lazy_readers)atomic_load_explicit(&lazy.serves, memory_order_acquire);
}

/* ---- addresses --------------------------------------------------------------------------------------------------- */

char *pw_reserve(size_t bytes, size_t alignment)
{
    char *all = mmap(NULL, bytes + alignment, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    size_t before;

    if (all == MAP_FAILED)
        return NULL;
    before = (alignment - (uintptr_t)all % alignment) % alignment;
    if (before > 0)
        munmap(all, before);
    if (before < alignment)
        munmap(all + before + bytes, alignment - before);
    return all + before;
}

/* Whether the system counts writable addresses as memory, though they have no pages (vm.overcommit_memory is 2). */
static bool is_strict(void)
{
    int fd = open("/proc/sys/vm/overcommit_memory", O_RDONLY | O_CLOEXEC);
    char mode = 0;
    bool strict = fd >= 0 && read(fd, &mode, 1) == 1 && mode == '2';

    if (fd >= 0)
        close(fd);
    return strict;
}

/* Whether writable addresses without pages take nothing that the program may need. They do where its addresses or its
 * data are limited (RLIMIT_AS, RLIMIT_DATA), and where the system promises no more memory than it has. */
static bool is_free(void)
{
    struct rlimit all, data;

    return getrlimit(RLIMIT_AS, &all) == 0 && all.rlim_cur == RLIM_INFINITY && getrlimit(RLIMIT_DATA, &data) == 0 &&
           data.rlim_cur == RLIM_INFINITY && !is_strict();
}

/* ---- mapping ----------------------------------------------------------------------------------------------------- */

/* Pages that are there before the memory is registered would hide faults, so there must be none. In a program that
 * locks all of its memory MADV_DONTNEED fails, before the system makes pages for what may be written. Core dumps must
 * not read the memory either. */
static bool prepare(char *base, size_t bytes)
{
    struct uffdio_register r = {.range = {.start = (uintptr_t)base, .len = bytes},
                                .mode = UFFDIO_REGISTER_MODE_MISSING};
    const uint64_t needed = 1 << _UFFDIO_COPY | 1 << _UFFDIO_ZEROPAGE | 1 << _UFFDIO_WAKE;

    if (madvise(base, bytes, MADV_DONTNEED) != 0 || mprotect(base, bytes, PROT_READ | PROT_WRITE) != 0)
        return false;
    madvise(base, bytes, MADV_NOHUGEPAGE); /* a kernel without huge pages refuses */
    return madvise(base, bytes, MADV_DONTFORK) == 0 && madvise(base, bytes, MADV_DONTDUMP) == 0 &&
           ioctl(lazy.fd, UFFDIO_REGISTER, &r) == 0 && (r.ioctls & needed) == needed &&
           madvise(base, bytes, MADV_DONTNEED) == 0;
}

static bool add(region r)
{
    PW_HOLD(&lazy.lock);
    int n = atomic_load_explicit(&lazy.nregions, memory_order_relaxed);

    r.blocks = n < REGIONS ? calloc(r.count, sizeof *r.blocks) : NULL;
    if (!r.blocks)
        return false;
    for (uint32_t i = 0; i < r.count; i++)
        pthread_mutex_init(&r.blocks[i].lock, NULL);
    lazy.regions[n] = r;
    atomic_store_explicit(&lazy.nregions, n + 1, memory_order_release);
    return true;
}

char *pw_lazy_map(uint32_t shift, uint32_t count)
{
    size_t bytes = (size_t)count << shift, one = (size_t)1 << shift;
    char *base = pw_lazy_serves() != PW_LAZY_NOBODY && one >= page() && is_free()
                     ? pw_reserve(bytes, one < ALIGNMENT ? one : ALIGNMENT)
                     : NULL;

    if (!base || (prepare(base, bytes) && add((region){.base = base, .shift = shift, .count = count})))
        return base;
    munmap(base, bytes);
    return NULL;
}
