/*
 * The table of pending nodes: chains of caller's nodes in 4096 buckets, guarded by 64 spin locks. A bucket's chain
 * changes only under its lock; a look at an empty bucket takes none. A claimed node stays in its chain, hidden from
 * other threads.
 */
#include "base/pending_table.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

enum { BUCKET_BITS = 12, BUCKETS = 1 << BUCKET_BITS, LOCKS = 64, LINE = 64, YIELDS = 64 };

/* A spin lock, held for a few instructions, three times for each operation. Without contention it costs half as much as
 * a mutex. */
typedef struct lock {
    _Alignas(LINE) _Atomic bool taken;
} lock;

/* The singleton. A lock guards the buckets whose number is its own modulo LOCKS: chains and nodes. Heads are atomic
 * for the look that takes no lock. */
static struct {
    _Atomic(pw_pending_node *) heads[BUCKETS];
    lock locks[LOCKS];
} table;

static size_t bucket_of(uint64_t key)
{
    return (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - BUCKET_BITS));
}

static lock *lock_of(size_t bucket)
{
    return &table.locks[bucket % LOCKS];
}

/* Yields: the holder may have been interrupted, and need this processor. */
static void wait_for(lock *l)
{
    const struct timespec moment = {.tv_nsec = 1000};

    for (int i = 0; atomic_load_explicit(&l->taken, memory_order_relaxed); i++)
        if (i < YIELDS)
            sched_yield();
        else
            nanosleep(&moment, NULL);
}

static void take(lock *l)
{
    while (atomic_exchange_explicit(&l->taken, true, memory_order_acquire))
        wait_for(l);
}

static void give(lock *l)
{
    atomic_store_explicit(&l->taken, false, memory_order_release);
}

static pw_pending_node *head(size_t bucket)
{
    return atomic_load_explicit(&table.heads[bucket], memory_order_relaxed);
}

static void set_head(size_t bucket, pw_pending_node *node)
{
    atomic_store_explicit(&table.heads[bucket], node, memory_order_relaxed);
}

void pw_pending_node_insert(pw_pending_node *node, uint64_t key)
{
    size_t bucket = bucket_of(key);

    node->key = key;
    node->claimed = false;
    take(lock_of(bucket));
    node->next = head(bucket);
    set_head(bucket, node);
    give(lock_of(bucket));
}

pw_pending_node *pw_pending_node_claim(uint64_t key, bool *elsewhere)
{
    size_t bucket = bucket_of(key);
    pw_pending_node *node;
    bool others = false;

    if (!head(bucket))
        return NULL;
    take(lock_of(bucket));
    for (node = head(bucket); node; node = node->next) {
        if (node->key == key && !node->claimed)
            break;
        others |= node->key == key;
    }
    if (node)
        node->claimed = true;
    give(lock_of(bucket));
    *elsewhere |= others && !node;
    return node;
}

void pw_pending_node_release(pw_pending_node *node)
{
    lock *l = lock_of(bucket_of(node->key));

    take(l);
    node->claimed = false;
    give(l);
}

/* The bucket's lock must be held. */
static void unlink_node(size_t bucket, pw_pending_node *node)
{
    pw_pending_node *before = head(bucket);

    if (before == node) {
        set_head(bucket, node->next);
        return;
    }
    while (before->next != node)
        before = before->next;
    before->next = node->next;
}

void pw_pending_node_remove(pw_pending_node *node)
{
    size_t bucket = bucket_of(node->key);

    take(lock_of(bucket));
    unlink_node(bucket, node);
    give(lock_of(bucket));
}

void pw_pending_node_each(void (*fn)(void *arg, pw_pending_node *node), void *arg)
{
    for (size_t bucket = 0; bucket < BUCKETS; bucket++) {
        if (!head(bucket))
            continue;
        take(lock_of(bucket));
        for (pw_pending_node *node = head(bucket); node; node = node->next)
            fn(arg, node);
        give(lock_of(bucket));
    }
}

pw_pending_node *pw_pending_node_take_any(void)
{
    for (size_t bucket = 0; bucket < BUCKETS; bucket++) {
        pw_pending_node *node;

        take(lock_of(bucket));
        node = head(bucket);
        if (node)
            unlink_node(bucket, node);
        give(lock_of(bucket));
        if (node)
            return node;
    }
    return NULL;
}
