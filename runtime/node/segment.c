#include "runtime/node/segment.h"

#include "base/env.h"
#include "base/log.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    HEADER = PW_SEGMENT_HEADER,
    FIRST_SHIFT = 12,
    LAST_SHIFT = 28, /* the largest message that is staged, unless PACKWRIGHT_STAGING says otherwise */
    CLASSES = LAST_SHIFT - FIRST_SHIFT + 1,
    FREED = 64 /* blocks of a class that wait to be taken again; the addresses of more are lost */
};

static const uint64_t reserved = (uint64_t)4 << 30;
static const size_t widest_alignment = (size_t)2 << 20;

/* The singleton. Blocks come from the end of what is used, or are those that were given back; both happens seldom,
 * since the pool keeps idle ones. */
static struct {
    pthread_mutex_t lock;
    _Atomic(pw_segment_header *) header; /* NULL: there is none, or this is a child of the process that has it */
    _Atomic uintptr_t base;              /* its address, which a child does not forget; 0: there never was one */
    uint64_t used;
    bool refused;
    void *freed[CLASSES][FREED];
    int nfreed[CLASSES];
} segment = {.lock = PTHREAD_MUTEX_INITIALIZER};

static pw_segment_header *header(void)
{
    return atomic_load_explicit(&segment.header, memory_order_acquire);
}

/* ---- opening and closing ----------------------------------------------------------------------------------------- */

/* Addresses for the segment, of pages that are not there. */
static char *reserve(void)
{
    char *all = mmap(NULL, reserved + widest_alignment, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    size_t before;

    if (all == MAP_FAILED)
        return NULL;
    before = (widest_alignment - (uintptr_t)all % widest_alignment) % widest_alignment;
    if (before > 0)
        munmap(all, before);
    if (before < widest_alignment)
        munmap(all + before + reserved, widest_alignment - before);
    return all + before;
}

static bool map_at(char *base, int fd)
{
    return !ftruncate(fd, (off_t)reserved) &&
           mmap(base, reserved, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED, fd, 0) != MAP_FAILED &&
           !madvise(base, reserved, MADV_DONTFORK);
}

/* The file stays open: others open it by its number. */
static pw_segment_header *map(void)
{
    int fd = memfd_create(PW_SEGMENT_NAME, MFD_CLOEXEC);
    char *base = fd >= 0 ? reserve() : NULL;

    if (base && map_at(base, fd)) {
        madvise(base, reserved, MADV_HUGEPAGE); /* a hint; refusal costs nothing */
        return (pw_segment_header *)base;
    }
    if (base)
        munmap(base, reserved);
    if (fd >= 0)
        close(fd);
    return NULL;
}

/* In the child of a fork, which has the file, but not the mapping. */
static void forget(void)
{
    atomic_store_explicit(&segment.header, NULL, memory_order_relaxed);
    segment.refused = true;
}

static void create(void)
{
    pw_segment_header *h = map();

    if (!h) {
        segment.refused = true;
        pw_log(PW_LOG_INFO, "no memory to share within the node (%s): messages are copied once more", strerror(errno));
        return;
    }
    h->title = (pw_segment_title){.name = PW_SEGMENT_NAME,
                                  .version = PW_SEGMENT_VERSION,
                                  .pid = getpid(),
                                  .base = (uint64_t)(uintptr_t)h,
                                  .bytes = reserved};
    segment.used = HEADER;
    pthread_atfork(NULL, NULL, forget);
    atomic_store_explicit(&segment.base, (uintptr_t)h, memory_order_relaxed);
    atomic_store_explicit(&segment.header, h, memory_order_release);
}

void pw_segment_open(void)
{
    if (!pw_env_bool(PW_ENV_SHARED) || pw_env_bool(PW_ENV_DISABLE))
        return;
    pthread_mutex_lock(&segment.lock);
    if (!header() && !segment.refused)
        create();
    if (header())
        atomic_store_explicit(&header()->open, 1, memory_order_release);
    pthread_mutex_unlock(&segment.lock);
}

/* Also when a process ends without MPI_Finalize. */
__attribute__((destructor)) void pw_segment_close(void)
{
    if (header())
        atomic_store_explicit(&header()->open, 0, memory_order_release);
}

bool pw_segment_is_open(void)
{
    return header() && atomic_load_explicit(&header()->open, memory_order_relaxed);
}

bool pw_segment_is_read(void)
{
    return header() && atomic_load_explicit(&header()->read, memory_order_relaxed);
}

bool pw_segment_wants_replicas(void)
{
    return header() && atomic_load_explicit(&header()->wanted, memory_order_relaxed);
}

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

static int class_of(size_t bytes)
{
    return __builtin_ctzll(bytes) - FIRST_SHIFT;
}

pw_segment_block *pw_segment_find(pw_segment_header *h, uint64_t at)
{
    uint32_t low = 0, high = atomic_load_explicit(&h->nblocks, memory_order_acquire);

    high = high < PW_SEGMENT_BLOCKS ? high : PW_SEGMENT_BLOCKS;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        pw_segment_block *b = &h->blocks[middle];

        if (at - b->at < b->bytes)
            return b;
        if (at < b->at)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

/* Blocks for which the directory has no room are shared like others, but the lengths of their messages are not told. */
static void note_block(pw_segment_header *h, uint64_t at, uint64_t bytes)
{
    uint32_t n = atomic_load_explicit(&h->nblocks, memory_order_relaxed);

    if (n == PW_SEGMENT_BLOCKS)
        return;
    h->blocks[n].at = at;
    h->blocks[n].bytes = bytes;
    atomic_store_explicit(&h->nblocks, n + 1, memory_order_release);
}

static void *take_new(size_t bytes)
{
    size_t alignment = bytes < widest_alignment ? bytes : widest_alignment;
    uint64_t at = (segment.used + alignment - 1) / alignment * alignment;

    if (at + bytes > reserved)
        return NULL;
    segment.used = at + bytes;
    note_block(header(), at, bytes);
    return (char *)header() + at;
}

void *pw_segment_take(size_t bytes)
{
    int class = class_of(bytes);
    void *block;

    if (!header() || class < 0 || class >= CLASSES)
        return NULL;
    pthread_mutex_lock(&segment.lock);
    block = segment.nfreed[class] > 0 ? segment.freed[class][--segment.nfreed[class]] : take_new(bytes);
    pthread_mutex_unlock(&segment.lock);
    return block;
}

/* NULL: not in the segment, or not in its directory. */
static pw_segment_block *entry_of(const void *block)
{
    return header() ? pw_segment_find(header(), (uint64_t)((uintptr_t)block - (uintptr_t)header())) : NULL;
}

/* NULL: it does not begin there, or is too small to be noted. */
static pw_segment_block *beginning_at(const void *data)
{
    pw_segment_block *b = entry_of(data);

    return b && b->bytes > (uint64_t)1 << FIRST_SHIFT && (const char *)header() + b->at == (const char *)data ? b
                                                                                                              : NULL;
}

static void note(const void *data, size_t bytes, bool replicated)
{
    pw_segment_block *b = beginning_at(data);

    if (!b)
        return;
    if (atomic_load_explicit(&b->replicated, memory_order_relaxed) != replicated)
        atomic_store_explicit(&b->replicated, replicated, memory_order_release);
    atomic_store_explicit(&b->message, bytes, memory_order_release);
}

void pw_segment_note_message(const void *data, size_t bytes)
{
    note(data, bytes, false);
}

void pw_segment_note_replicated(const void *data, size_t bytes)
{
    note(data, bytes, true);
}

bool pw_segment_add_replica(const void *block, const pw_segment_replica *replica)
{
    pw_segment_block *b = beginning_at(block);

    if (b)
        b->replica = *replica;
    return b;
}

/* Also in a child, where it is an address that nothing is mapped at. */
static bool is_within(const void *block)
{
    uintptr_t base = atomic_load_explicit(&segment.base, memory_order_relaxed);

    return base && (uintptr_t)block - base < reserved;
}

bool pw_segment_give(void *block, size_t bytes)
{
    int class = class_of(bytes);
    pw_segment_block *b;

    if (!is_within(block))
        return false;
    if (!header())
        return true;
    b = entry_of(block);
    if (b) {
        atomic_store_explicit(&b->message, 0, memory_order_relaxed);
        atomic_store_explicit(&b->replicated, 0, memory_order_relaxed);
        b->replica.number = 0;
        atomic_fetch_add_explicit(&b->removed, 1, memory_order_release);
    }
    madvise(block, bytes, MADV_REMOVE);
    pthread_mutex_lock(&segment.lock);
    if (segment.nfreed[class] < FREED)
        segment.freed[class][segment.nfreed[class]++] = block;
    pthread_mutex_unlock(&segment.lock);
    return true;
}
