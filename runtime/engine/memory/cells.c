/* Cells lie in a list of the thread that gave them back, at most KEPT of them; what is beyond is freed. */
#include "runtime/engine/memory/cells.h"

#include "runtime/engine/memory/thread_end.h"

#include <stdatomic.h>
#include <stdlib.h>

enum { KEPT = 4096 }; /* idle cells of one thread */

/* A cell that is idle. */
typedef struct cell {
    struct cell *next;
} cell;

static _Atomic int64_t allocations;

static _Thread_local struct {
    cell *first;
    int n;
} own;

void *pw_cell_take(void)
{
    cell *c = own.first;

    if (c) {
        own.first = c->next;
        own.n--;
        return c;
    }
    atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
    return malloc(PW_CELL_BYTES);
}

void pw_cell_give(void *given)
{
    cell *c = given;

    if (!c)
        return;
    if (own.n == KEPT || !pw_thread_end_call(pw_cell_trim)) {
        free(c);
        return;
    }
    c->next = own.first;
    own.first = c;
    own.n++;
}

void pw_cell_trim(void)
{
    while (own.first) {
        cell *next = own.first->next;

        free(own.first);
        own.first = next;
    }
    own.n = 0;
}

int64_t pw_cell_allocations(void)
{
    return atomic_load_explicit(&allocations, memory_order_relaxed);
}
