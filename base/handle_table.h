/*
 * A map from 64-bit keys (handles, addresses; neither 0 nor UINT64_MAX) to pointers, for lookups on the hot path:
 * pw_handle_table_find takes no lock and stores nothing, and its common case is inlined.
 *
 * The table has two parts. The front is a small array with one slot for all keys of a hash: a key that finds its slot
 * free stays there until it is removed. Threads fill and clear front slots without a lock, so short-lived keys cost
 * little. The rest holds all other keys; a lock serialises its writers.
 *
 * A key that goes leaves its slot in the rest to the next key of the same list. A reader that looks for a key which
 * nobody adds or removes meanwhile gets its value, whatever is done with other keys.
 */
#ifndef PW_BASE_HANDLE_TABLE_H
#define PW_BASE_HANDLE_TABLE_H

#include "base/attributes.h"
#include "base/status.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct pw_handle_slot {
    _Atomic uint64_t key; /* 0: the slot is free */
    _Atomic(void *) value;
} pw_handle_slot;

enum { PW_HANDLE_FRONT_BITS = 10, PW_HANDLE_REST_BITS = 13 };

static const uint64_t PW_HANDLE_TAKEN = UINT64_MAX; /* the key of a slot whose new key is about to appear */

/* Begins as PW_HANDLE_TABLE. Large, and pages that no key needs are never touched, so it is a static variable. */
typedef struct pw_handle_table {
    _Alignas(64)
        pw_handle_slot front[1 << PW_HANDLE_FRONT_BITS]; /* the first slot is never used, so that key 0 is not found */
    pthread_mutex_t lock;
    _Atomic size_t used; /* keys in the rest; written under the lock */
    _Atomic(struct pw_handle_node *) rest[1 << PW_HANDLE_REST_BITS];
} pw_handle_table;

#define PW_HANDLE_TABLE                    \
    {                                      \
        .lock = PTHREAD_MUTEX_INITIALIZER, \
    }

/* Handles differ in their low or middle bits; the multiplication carries both to the top bits. */
static inline uint64_t pw_handle_hash(uint64_t key)
{
    return key * UINT64_C(0x9e3779b97f4a7c15);
}

static inline pw_handle_slot *pw_handle_front(pw_handle_table *table, uint64_t key)
{
    return &table->front[pw_handle_hash(key) >> (64 - PW_HANDLE_FRONT_BITS)];
}

/* The value of a key that may have this slot. NULL: it has not. */
PW_INLINE void *pw_handle_slot_look(pw_handle_slot *at, uint64_t key)
{
    void *value;

    if (atomic_load_explicit(&at->key, memory_order_acquire) != key)
        return NULL;
    value = atomic_load_explicit(&at->value, memory_order_acquire);
    /* The slot may have gone to another key meanwhile. */
    return atomic_load_explicit(&at->key, memory_order_relaxed) == key ? value : NULL;
}

/* Looks in the front only, and calls no function. NULL: the key may be in the rest. */
PW_INLINE void *pw_handle_table_peek(pw_handle_table *table, uint64_t key)
{
    return pw_handle_slot_look(pw_handle_front(table, key), key);
}

/* Looks in the rest only. */
void *pw_handle_table_seek(pw_handle_table *table, uint64_t key);

/* Returns the value of a key. NULL: no such key. */
static inline void *pw_handle_table_find(pw_handle_table *table, uint64_t key)
{
    void *value = pw_handle_table_peek(table, key);

    return PW_LIKELY(value != NULL) ? value : pw_handle_table_seek(table, key);
}

/* Inserts a key, or replaces the value of one in the table. `value` is not NULL. Two threads must not insert the same
 * key at the same time. */
pw_status pw_handle_table_insert(pw_handle_table *table, uint64_t key, void *value);

/* The value appears before the key. */
static inline void pw_handle_slot_store(pw_handle_slot *at, uint64_t key, void *value)
{
    atomic_store_explicit(&at->value, value, memory_order_release);
    atomic_store_explicit(&at->key, key, memory_order_release);
}

/* Puts a key that is in neither part in front. False: its slot there is not free. */
static inline bool pw_handle_table_take(pw_handle_table *table, uint64_t key, void *value)
{
    pw_handle_slot *at = pw_handle_front(table, key);
    uint64_t nothing = 0;

    if (at == table->front || !atomic_compare_exchange_strong_explicit(&at->key, &nothing, PW_HANDLE_TAKEN,
                                                                       memory_order_acq_rel, memory_order_relaxed))
        return false;
    pw_handle_slot_store(at, key, value);
    return true;
}

/* The slow part of pw_handle_table_add. It refuses UINT64_MAX, but the part that is inlined would put it in front, as
 * the mark of a slot that is being taken: only the caller sees to it that no key is UINT64_MAX. */
bool pw_handle_table_add_other(pw_handle_table *table, uint64_t key, void *value);

/* Inserts a key that is not in the table. False: the table has the key, which keeps its value, or memory is short. */
static inline bool pw_handle_table_add(pw_handle_table *table, uint64_t key, void *value)
{
    return (atomic_load_explicit(&table->used, memory_order_acquire) == 0 && pw_handle_table_take(table, key, value)) ||
           pw_handle_table_add_other(table, key, value);
}

void pw_handle_table_swap_other(pw_handle_table *table, uint64_t key, void *old, void *value);

/*
 * Puts `value` in the place of `old`, if that is the key's. Takes no lock, and may do nothing while others write: for
 * values of which a change may be lost. If another thread removes the key meanwhile, the key that takes its slot may
 * get `value`: for values that any key may have at any time.
 */
static inline void pw_handle_table_swap(pw_handle_table *table, uint64_t key, void *old, void *value)
{
    pw_handle_slot *at = pw_handle_front(table, key);

    if (atomic_load_explicit(&at->key, memory_order_acquire) != key)
        pw_handle_table_swap_other(table, key, old, value);
    else if (atomic_load_explicit(&at->value, memory_order_relaxed) == old)
        atomic_store_explicit(&at->value, value, memory_order_release);
}

/* Removes a key that is in front, and returns its value; NULL: it is not there. The value stays in the slot until
 * another key brings its own. */
static inline void *pw_handle_table_leave(pw_handle_table *table, uint64_t key)
{
    pw_handle_slot *at = pw_handle_front(table, key);
    void *value = atomic_load_explicit(&at->value, memory_order_acquire);

    return atomic_load_explicit(&at->key, memory_order_acquire) == key &&
                   atomic_compare_exchange_strong_explicit(&at->key, &key, 0, memory_order_acq_rel,
                                                           memory_order_relaxed)
               ? value
               : NULL;
}

/* Removes a key and returns its value. NULL: no such key. */
void *pw_handle_table_remove(pw_handle_table *table, uint64_t key);
void pw_handle_table_clear(pw_handle_table *table);
/* Calls fn for every key. Nobody else may write meanwhile. */
void pw_handle_table_each(pw_handle_table *table, void (*fn)(void *arg, uint64_t key, void *value), void *arg);

#endif
