/*
 * The blocks of the segment that the program has. The child of a fork does not have the segment, so the parent copies
 * the blocks before it forks, and the child puts the copies in their place.
 */
#include "runtime/exchange/heap.h"

#include "base/lock.h"
#include "runtime/exchange/segment.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { BLOCKS = 256 };

static const size_t most_bytes = (size_t)2 << 30;

typedef struct block {
    char *begin;
    size_t bytes;
    void *copy; /* while the process forks; MAP_FAILED: there was no memory for it */
} block;

/* The singleton, guarded by the lock. */
static struct {
    pthread_mutex_t lock;
    block blocks[BLOCKS];
    int n;
    size_t bytes;
    bool follows_forks;
} heap = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- fork -------------------------------------------------------------------------------------------------------- */

/* The lock is held from here on until both processes go on. The copies are private memory, which the child inherits. */
static void before_fork(void)
{
    pthread_mutex_lock(&heap.lock);
    for (block *b = heap.blocks; b < heap.blocks + heap.n; b++) {
        b->copy = mmap(NULL, b->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (b->copy != MAP_FAILED)
            memcpy(b->copy, b->begin, b->bytes);
    }
}

static void in_parent(void)
{
    for (block *b = heap.blocks; b < heap.blocks + heap.n; b++)
        if (b->copy != MAP_FAILED)
            munmap(b->copy, b->bytes);
    pthread_mutex_unlock(&heap.lock);
}

/* UCX puts a function of its own in the place of mremap, which does not pass the new address on. */
static void in_child(void)
{
    for (block *b = heap.blocks; b < heap.blocks + heap.n; b++)
        if (b->copy != MAP_FAILED)
            syscall(SYS_mremap, b->copy, b->bytes, b->bytes, MREMAP_MAYMOVE | MREMAP_FIXED, b->begin);
    pthread_mutex_unlock(&heap.lock);
}

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

static void *take(size_t bytes)
{
    void *memory;

    if (!heap.follows_forks)
        heap.follows_forks = pthread_atfork(before_fork, in_parent, in_child) == 0;
    if (!heap.follows_forks || heap.n == BLOCKS || bytes > most_bytes - heap.bytes)
        return NULL;
    memory = pw_segment_take(bytes);
    if (memory) {
        heap.blocks[heap.n++] = (block){.begin = memory, .bytes = bytes};
        heap.bytes += bytes;
    }
    return memory;
}

void *pw_heap_take(size_t bytes)
{
    PW_HOLD(&heap.lock);
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    return bytes > 0 && bytes <= most_bytes ? take((bytes + page - 1) / page * page) : NULL;
}

/* The block that has this byte. NULL: none. */
static block *find(const void *byte)
{
    for (block *b = heap.blocks; b < heap.blocks + heap.n; b++)
        if ((uintptr_t)byte - (uintptr_t)b->begin < b->bytes)
            return b;
    return NULL;
}

bool pw_heap_give(void *memory)
{
    PW_HOLD(&heap.lock);
    block *b = find(memory);

    if (!b || b->begin != memory)
        return false;
    heap.bytes -= b->bytes;
    *b = heap.blocks[--heap.n];
    return pw_segment_give(memory);
}

bool pw_heap_holds(const void *memory, size_t bytes)
{
    PW_HOLD(&heap.lock);
    const block *b = find(memory);

    return b && bytes <= b->bytes - ((uintptr_t)memory - (uintptr_t)b->begin);
}
