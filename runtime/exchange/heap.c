/*
 * The blocks of the segment that the program has, found by address without a lock. The child of a fork would share
 * their pages, so the fork waits until the child has put private copies in their place.
 */
#include "runtime/exchange/heap.h"

#include "runtime/exchange/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { BLOCKS = 256 };

static const size_t most_bytes = (size_t)2 << 30;

/* A block in use. It is found without the lock, by whoever has a pointer into it. */
typedef struct block {
    _Atomic uintptr_t begin; /* 0: the entry is free */
    _Atomic size_t bytes;
} block;

/* The singleton. */
static struct {
    pthread_mutex_t lock;
    block blocks[BLOCKS];
    _Atomic int high, live; /* entries that were ever used; blocks in use */
    size_t bytes;
    bool follows_forks;
    int copied[2]; /* a pipe in which the child of a fork says that it has its copies; -1: none is needed */
} heap = {.lock = PTHREAD_MUTEX_INITIALIZER, .copied = {-1, -1}};

/* ---- fork -------------------------------------------------------------------------------------------------------- */

/* The lock is held from here on until both processes go on. */
static void before_fork(void)
{
    pthread_mutex_lock(&heap.lock);
    heap.copied[0] = heap.copied[1] = -1;
    if (pw_heap_is_used() && pipe2(heap.copied, O_CLOEXEC) != 0)
        heap.copied[0] = heap.copied[1] = -1;
}

static void in_parent(void)
{
    char done;

    if (heap.copied[0] >= 0) {
        close(heap.copied[1]);
        while (read(heap.copied[0], &done, 1) < 0 && errno == EINTR)
            ;
        close(heap.copied[0]);
    }
    pthread_mutex_unlock(&heap.lock);
}

/* Puts private memory with the same contents in the place of a block. UCX puts a function of its own in the place of
 * mremap, which does not pass the new address on. */
static void copy_block(char *begin, size_t bytes)
{
    char *copy = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (copy == MAP_FAILED)
        return;
    memcpy(copy, begin, bytes);
    if (syscall(SYS_mremap, copy, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, begin) != (long)(uintptr_t)begin)
        munmap(copy, bytes);
}

static void in_child(void)
{
    int high = atomic_load_explicit(&heap.high, memory_order_relaxed);

    for (int i = 0; i < high; i++) {
        uintptr_t begin = atomic_load_explicit(&heap.blocks[i].begin, memory_order_relaxed);

        if (begin)
            copy_block((char *)begin, atomic_load_explicit(&heap.blocks[i].bytes, memory_order_relaxed));
    }
    if (heap.copied[1] >= 0) {
        while (write(heap.copied[1], "", 1) < 0 && errno == EINTR)
            ;
        close(heap.copied[0]);
        close(heap.copied[1]);
    }
    pthread_mutex_unlock(&heap.lock);
}

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

static size_t whole_pages(size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    return (bytes + page - 1) / page * page;
}

/* The lock must be held. */
static bool enter(void *memory, size_t bytes)
{
    int i = 0;

    while (i < BLOCKS && atomic_load_explicit(&heap.blocks[i].begin, memory_order_relaxed))
        i++;
    if (i == BLOCKS || madvise(memory, bytes, MADV_DOFORK) != 0)
        return false;
    atomic_store_explicit(&heap.blocks[i].bytes, bytes, memory_order_relaxed);
    atomic_store_explicit(&heap.blocks[i].begin, (uintptr_t)memory, memory_order_release);
    if (i >= atomic_load_explicit(&heap.high, memory_order_relaxed))
        atomic_store_explicit(&heap.high, i + 1, memory_order_release);
    atomic_fetch_add_explicit(&heap.live, 1, memory_order_relaxed);
    heap.bytes += bytes;
    return true;
}

static void *take(size_t bytes)
{
    void *memory = bytes <= most_bytes - heap.bytes ? pw_segment_take_least(bytes) : NULL;

    if (!heap.follows_forks && memory)
        heap.follows_forks = pthread_atfork(before_fork, in_parent, in_child) == 0;
    if (memory && (!heap.follows_forks || !enter(memory, bytes))) {
        pw_segment_give(memory);
        memory = NULL;
    }
    return memory;
}

void *pw_heap_take(size_t bytes)
{
    void *memory = NULL;

    if (bytes == 0 || bytes > most_bytes)
        return NULL;
    bytes = whole_pages(bytes);
    pthread_mutex_lock(&heap.lock);
    memory = take(bytes);
    pthread_mutex_unlock(&heap.lock);
    return memory;
}

/* The entry whose block has this byte. -1: none. */
static int find(const void *byte)
{
    int high = atomic_load_explicit(&heap.high, memory_order_acquire);

    for (int i = 0; i < high; i++) {
        uintptr_t begin = atomic_load_explicit(&heap.blocks[i].begin, memory_order_acquire);

        if (begin && (uintptr_t)byte - begin < atomic_load_explicit(&heap.blocks[i].bytes, memory_order_relaxed))
            return i;
    }
    return -1;
}

bool pw_heap_give(void *memory)
{
    int i = pw_heap_is_used() ? find(memory) : -1;
    size_t bytes;

    if (i < 0 || atomic_load_explicit(&heap.blocks[i].begin, memory_order_relaxed) != (uintptr_t)memory)
        return false;
    pthread_mutex_lock(&heap.lock);
    bytes = atomic_load_explicit(&heap.blocks[i].bytes, memory_order_relaxed);
    atomic_store_explicit(&heap.blocks[i].begin, 0, memory_order_release);
    atomic_fetch_sub_explicit(&heap.live, 1, memory_order_relaxed);
    heap.bytes -= bytes;
    pthread_mutex_unlock(&heap.lock);
    madvise(memory, bytes, MADV_DONTFORK);
    pw_segment_give(memory);
    return true;
}

bool pw_heap_is_used(void)
{
    return atomic_load_explicit(&heap.live, memory_order_relaxed) > 0;
}

bool pw_heap_holds(const void *memory, size_t bytes)
{
    int i = pw_heap_is_used() ? find(memory) : -1;

    return i >= 0 &&
           bytes <= atomic_load_explicit(&heap.blocks[i].bytes, memory_order_relaxed) -
                        ((uintptr_t)memory - atomic_load_explicit(&heap.blocks[i].begin, memory_order_relaxed));
}
