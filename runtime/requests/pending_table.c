#include "runtime/requests/pending_table.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

enum { BUCKET_BITS = 12, BUCKETS = 1 << BUCKET_BITS, LOCKS = 64, LINE = 64 };

typedef struct lock {
    _Alignas(LINE) pthread_mutex_t mutex;
} lock;

/* The singleton. A lock guards the buckets whose number is its own modulo LOCKS: chains and nodes. Heads are atomic
 * for the look that takes no lock. */
static struct {
    _Atomic(pw_pending_node *) heads[BUCKETS];
    lock locks[LOCKS];
} table = {.locks = {[0 ... LOCKS - 1] = {PTHREAD_MUTEX_INITIALIZER}}};

static size_t bucket_of(uint64_t key)
{
    return (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - BUCKET_BITS));
}

static pthread_mutex_t *lock_of(size_t bucket)
{
    return &table.locks[bucket % LOCKS].mutex;
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
    pthread_mutex_lock(lock_of(bucket));
    node->next = head(bucket);
    set_head(bucket, node);
    pthread_mutex_unlock(lock_of(bucket));
}

pw_pending_node *pw_pending_node_claim(uint64_t key)
{
    size_t bucket = bucket_of(key);
    pw_pending_node *node;

    if (!head(bucket))
        return NULL;
    pthread_mutex_lock(lock_of(bucket));
    for (node = head(bucket); node; node = node->next)
        if (node->key == key && !node->claimed)
            break;
    if (node)
        node->claimed = true;
    pthread_mutex_unlock(lock_of(bucket));
    return node;
}

void pw_pending_node_release(pw_pending_node *node)
{
    pthread_mutex_t *mutex = lock_of(bucket_of(node->key));

    pthread_mutex_lock(mutex);
    node->claimed = false;
    pthread_mutex_unlock(mutex);
}

/* Under the bucket's lock. */
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

    pthread_mutex_lock(lock_of(bucket));
    unlink_node(bucket, node);
    pthread_mutex_unlock(lock_of(bucket));
}

void pw_pending_node_each(void (*fn)(void *arg, pw_pending_node *node), void *arg)
{
    for (size_t bucket = 0; bucket < BUCKETS; bucket++) {
        if (!head(bucket))
            continue;
        pthread_mutex_lock(lock_of(bucket));
        for (pw_pending_node *node = head(bucket); node; node = node->next)
            fn(arg, node);
        pthread_mutex_unlock(lock_of(bucket));
    }
}

pw_pending_node *pw_pending_node_take_any(void)
{
    for (size_t bucket = 0; bucket < BUCKETS; bucket++) {
        pw_pending_node *node;

        pthread_mutex_lock(lock_of(bucket));
        node = head(bucket);
        if (node)
            unlink_node(bucket, node);
        pthread_mutex_unlock(lock_of(bucket));
        if (node)
            return node;
    }
    return NULL;
}
