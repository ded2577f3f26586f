/*
 * The blocks of the segment that the program has, found by address without a lock. The child of a fork does not have
 * the segment, so the parent copies the blocks before it forks, and the child puts the copies in their place.
 */
#include "runtime/exchange/heap.h"

#include "runtime/exchange/segment.h"

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
    void *copies[BLOCKS]; /* during a fork; MAP_FAILED: there is none */
} heap = {.lock = PTHREAD_MUTEX_INITIALIZER};

static uintptr_t begin_of(int i)
{
    return atomic_load_explicit(&heap.blocks[i].begin, memory_order_acquire);
}

static size_t bytes_of(int i)
{
    return atomic_load_explicit(&heap.blocks[i].bytes, memory_order_relaxed);
}

static int high(void)
{
    return atomic_load_explicit(&heap.high, memory_order_acquire);
}

/* ---- fork -------------------------------------------------------------------------------------------------------- */

/* The lock is held from here on until both processes go on. The copies are private memory, which the child inherits. */
static void before_fork(void)
{
    pthread_mutex_lock(&heap.lock);
    for (int i = 0; i < high(); i++) {
        heap.copies[i] = MAP_FAILED;
        if (begin_of(i))
            heap.copies[i] = mmap(NULL, bytes_of(i), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (heap.copies[i] != MAP_FAILED)
            memcpy(heap.copies[i], (const void *)begin_of(i), bytes_of(i));
    }
}

static void in_parent(void)
{
    for (int i = 0; i < high(); i++)
        if (heap.copies[i] != MAP_FAILED)
            munmap(heap.copies[i], bytes_of(i));
    pthread_mutex_unlock(&heap.lock);
}

/* UCX puts a function of its own in the place of mremap, which does not pass the new address on. */
static void in_child(void)
{
    for (int i = 0; i < high(); i++)
        if (heap.copies[i] != MAP_FAILED)
            syscall(SYS_mremap, heap.copies[i], bytes_of(i), bytes_of(i), MREMAP_MAYMOVE | MREMAP_FIXED, begin_of(i));
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

    while (i < BLOCKS && begin_of(i))
        i++;
    if (i == BLOCKS)
        return false;
    atomic_store_explicit(&heap.blocks[i].bytes, bytes, memory_order_relaxed);
    atomic_store_explicit(&heap.blocks[i].begin, (uintptr_t)memory, memory_order_release);
    if (i >= high())
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
    for (int i = 0, n = high(); i < n; i++)
        if (begin_of(i) && (uintptr_t)byte - begin_of(i) < bytes_of(i))
            return i;
    return -1;
}

bool pw_heap_give(void *memory)
{
    int i = pw_heap_is_used() ? find(memory) : -1;

    if (i < 0 || begin_of(i) != (uintptr_t)memory)
        return false;
    pthread_mutex_lock(&heap.lock);
    atomic_store_explicit(&heap.blocks[i].begin, 0, memory_order_release);
    atomic_fetch_sub_explicit(&heap.live, 1, memory_order_relaxed);
    heap.bytes -= bytes_of(i);
    pthread_mutex_unlock(&heap.lock);
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

    return i >= 0 && bytes <= bytes_of(i) - ((uintptr_t)memory - begin_of(i));
}
