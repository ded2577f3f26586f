#include "runtime/cells.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum {
    LISTS = 16,
    KEPT = 4096, /* idle cells of one list */
    LINE = 64
};

/* An idle cell. */
typedef struct cell {
    struct cell *next;
} cell;

typedef struct list {
    _Alignas(LINE) pthread_mutex_t lock;
    cell *first;
    int n;
} list;

/* The singleton. */
static struct {
    list lists[LISTS];
    _Atomic unsigned threads;
    _Atomic int64_t allocations;
} cells = {.lists = {[0 ... LISTS - 1] = {.lock = PTHREAD_MUTEX_INITIALIZER}}};

static list *own_list(void)
{
    static _Thread_local list *own;

    if (!own)
        own = &cells.lists[atomic_fetch_add_explicit(&cells.threads, 1, memory_order_relaxed) % LISTS];
    return own;
}

void *pw_cell_take(void)
{
    list *l = own_list();
    cell *c;

    pthread_mutex_lock(&l->lock);
    c = l->first;
    if (c) {
        l->first = c->next;
        l->n--;
    }
    pthread_mutex_unlock(&l->lock);
    if (c)
        return c;
    atomic_fetch_add_explicit(&cells.allocations, 1, memory_order_relaxed);
    return malloc(PW_CELL_BYTES);
}

void pw_cell_give(void *given)
{
    list *l = own_list();
    cell *c = given;

    if (!c)
        return;
    pthread_mutex_lock(&l->lock);
    if (l->n < KEPT) {
        c->next = l->first;
        l->first = c;
        l->n++;
        c = NULL;
    }
    pthread_mutex_unlock(&l->lock);
    free(c);
}

void pw_cell_trim(void)
{
    for (int i = 0; i < LISTS; i++) {
        list *l = &cells.lists[i];
        cell *idle;

        pthread_mutex_lock(&l->lock);
        idle = l->first;
        l->first = NULL;
        l->n = 0;
        pthread_mutex_unlock(&l->lock);
        while (idle) {
            cell *next = idle->next;

            free(idle);
            idle = next;
        }
    }
}

int64_t pw_cell_allocations(void)
{
    return atomic_load_explicit(&cells.allocations, memory_order_relaxed);
}
