/*
 * Staging buffers: per thread those of the smallest size class, behind them shelves that all threads share (idle.h),
 * behind these the shared source (messages that leave) or malloc. At most IDLE_BYTES lie on the shelves. Cells lie in a
 * list of the thread that gave them back, at most CELLS of them.
 */
#include "runtime/engine/memory/pool.h"

#include "base/pages.h"
#include "runtime/engine/memory/idle.h"
#include "runtime/engine/memory/source.h"
#include "runtime/engine/memory/thread_end.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>

enum {
    SIDES = PW_POOL_OUTBOUND + 1,
    OWN = 16,     /* buffers of the smallest class that each thread keeps for itself */
    CELLS = 4096, /* idle cells of one thread */
    LINE = 64,
    IDLE_BYTES = 256 << 20, /* of both sides together */
    HUGE_SHIFT = 21         /* buffers from this size on are aligned to huge pages, and ask for them */
};

static pw_idle_slots slots[SIDES * PW_SIZE_CLASSES];

static void release(void *unused, void *buffer)
{
    (void)unused;
    if (!pw_source_give(buffer))
        free(buffer);
}

/* The singleton. */
static struct {
    pw_idle idle;
    _Atomic int64_t allocations;
} pool = {.idle = {.slots = slots,
                   .shelves = SIDES * PW_SIZE_CLASSES,
                   .at_once = INT_MAX,
                   .most = IDLE_BYTES,
                   .release = release}};

/* A cell that is idle. */
typedef struct cell {
    struct cell *next;
} cell;

/* What atomic operations cost is felt by short messages: each thread keeps some of their buffers for itself, the last
 * ones it has used, and all cells. */
static _Thread_local struct {
    void *idle[SIDES][OWN];
    int n[SIDES];
    cell *cells;
    int ncells;
    bool ends; /* pw_thread_end_call has been told */
} own;

static void *allocate(pw_pool_side side, int class)
{
    int64_t bytes = pw_size_class_bytes(class);
    size_t align = class + PW_SIZE_FIRST_SHIFT >= HUGE_SHIFT ? (size_t)1 << HUGE_SHIFT : LINE;
    void *buffer = side == PW_POOL_OUTBOUND ? pw_source_take((size_t)bytes) : NULL;
    bool shared = buffer;

    if (!buffer && posix_memalign(&buffer, align, (size_t)bytes) != 0)
        return NULL;
    if (align > LINE)
        madvise(buffer, (size_t)bytes, MADV_HUGEPAGE); /* only a hint, which may fail */
    if (shared)
        pw_pages_make(buffer, (size_t)bytes); /* maps what is there: one call takes less than a fault for each page */
    atomic_fetch_add_explicit(&pool.allocations, 1, memory_order_relaxed);
    return buffer;
}

void *pw_pool_take_from(pw_pool_side side, int64_t bytes)
{
    int class = pw_size_class(bytes);
    void *buffer;

    if (class >= PW_SIZE_CLASSES)
        return NULL;
    if (class == 0 && own.n[side] > 0)
        return own.idle[side][--own.n[side]];
    buffer = pw_idle_take(&pool.idle, pw_idle_shelf(side, class));
    return buffer ? buffer : allocate(side, class);
}

static void give_own(void)
{
    for (int side = 0; side < SIDES; side++)
        while (own.n[side] > 0)
            pw_idle_give(&pool.idle, own.idle[side][--own.n[side]], pw_idle_shelf(side, 0));
    while (own.cells) {
        cell *next = own.cells->next;

        free(own.cells);
        own.cells = next;
    }
    own.ncells = 0;
    own.ends = false;
}

/* Whether what the thread keeps will be given when it ends. */
static bool ends(void)
{
    return own.ends || (own.ends = pw_thread_end_call(give_own));
}

static bool keep_own(pw_pool_side side, void *buffer)
{
    if (own.n[side] == OWN || !ends())
        return false;
    own.idle[side][own.n[side]++] = buffer;
    return true;
}

void pw_pool_give_to(pw_pool_side side, void *buffer, int64_t bytes)
{
    int class = pw_size_class(bytes);

    if (buffer && (class != 0 || !keep_own(side, buffer)))
        pw_idle_give(&pool.idle, buffer, pw_idle_shelf(side, class));
}

void *pw_cell_take(void)
{
    cell *c = own.cells;

    if (c) {
        own.cells = c->next;
        own.ncells--;
        return c;
    }
    atomic_fetch_add_explicit(&pool.allocations, 1, memory_order_relaxed);
    return malloc(PW_CELL_BYTES);
}

void pw_cell_give(void *given)
{
    cell *c = given;

    if (!c)
        return;
    if (own.ncells == CELLS || !ends()) {
        free(c);
        return;
    }
    c->next = own.cells;
    own.cells = c;
    own.ncells++;
}

void pw_pool_trim(void)
{
    give_own();
    pw_idle_clear(&pool.idle);
}

pw_pool_usage pw_pool_usage_now(void)
{
    return (pw_pool_usage){.allocations = atomic_load(&pool.allocations), .idle_bytes = pw_idle_bytes(&pool.idle)};
}
