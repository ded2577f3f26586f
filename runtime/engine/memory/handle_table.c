/*
 * The handle table: a front, whose slots threads fill and clear without a lock, and an array with open addressing
 * under a lock for all other keys. A version, odd while a writer moves entries, tells readers to look again; arrays
 * that were outgrown are kept, so a reader never touches freed memory.
 */
#include "runtime/engine/memory/handle_table.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_SLOTS = 256, READER_ATTEMPTS = 16 };

typedef pw_handle_slot slot;

typedef struct pw_handle_slots {
    struct pw_handle_slots *older; /* retired arrays, which a reader may still look at */
    uint64_t mask;
    slot at[];
} slots;

/*
 * Loads are acquire and stores release throughout: a reader that has seen any store of a writer also sees the version
 * that the writer set before it, and so the reader's second look at the version tells.
 */
static uint64_t load_key(slot *s)
{
    return atomic_load_explicit(&s->key, memory_order_acquire);
}

static void *load_value(slot *s)
{
    return atomic_load_explicit(&s->value, memory_order_acquire);
}

static void store(slot *s, uint64_t key, void *value)
{
    atomic_store_explicit(&s->value, value, memory_order_release);
    atomic_store_explicit(&s->key, key, memory_order_release);
}

static uint64_t home_of(const slots *s, uint64_t key)
{
    return (pw_handle_hash(key) >> 32) & s->mask;
}

static slots *slots_create(uint64_t n)
{
    slots *s = calloc(1, sizeof *s + n * sizeof(slot));

    if (s)
        s->mask = n - 1;
    return s;
}

/* The slot of `key`, or the empty slot where it would go. Terminates because the table is never full. */
static slot *seek(slots *s, uint64_t key)
{
    for (uint64_t i = home_of(s, key), steps = 0; steps <= s->mask; i = (i + 1) & s->mask, steps++) {
        uint64_t found = load_key(&s->at[i]);

        if (found == key || !found)
            return &s->at[i];
    }
    return NULL; /* reached only by a reader while a writer moves entries, which the version shows */
}

static void *probe(slots *s, uint64_t key)
{
    slot *at = seek(s, key);
    void *value = at ? load_value(at) : NULL;

    return at && load_key(at) == key ? value : NULL;
}

pw_status pw_handle_table_open(pw_handle_table *table)
{
    slots *first = slots_create(FIRST_SLOTS);

    if (!first)
        return PW_ERR_NOMEM;
    pthread_mutex_init(&table->lock, NULL);
    atomic_store_explicit(&table->current, first, memory_order_release);
    return PW_OK;
}

void *pw_handle_table_seek(pw_handle_table *table, uint64_t key)
{
    void *value;

    if (!key || !atomic_load_explicit(&table->current, memory_order_acquire))
        return NULL;
    for (int i = 0; i < READER_ATTEMPTS; i++) {
        uint64_t before = atomic_load_explicit(&table->version, memory_order_acquire);

        if (before & 1)
            continue;
        value = probe(atomic_load_explicit(&table->current, memory_order_acquire), key);
        if (atomic_load_explicit(&table->version, memory_order_relaxed) == before)
            return value;
    }
    pthread_mutex_lock(&table->lock);
    value = probe(atomic_load_explicit(&table->current, memory_order_relaxed), key);
    pthread_mutex_unlock(&table->lock);
    return value;
}

/* Makes the array at most half full. */
static pw_status make_room(pw_handle_table *table)
{
    slots *old = atomic_load_explicit(&table->current, memory_order_relaxed);
    slots *grown;

    if ((table->used + 1) * 2 <= old->mask + 1)
        return PW_OK;
    grown = slots_create((old->mask + 1) * 2);
    if (!grown)
        return PW_ERR_NOMEM;
    for (uint64_t i = 0; i <= old->mask; i++)
        if (load_key(&old->at[i]))
            store(seek(grown, load_key(&old->at[i])), load_key(&old->at[i]), load_value(&old->at[i]));
    grown->older = old;
    atomic_store_explicit(&table->current, grown, memory_order_release);
    return PW_OK;
}

/* ---- the front -------------------------------------------------------------------------------------------------- */

static slot *front_of(pw_handle_table *table, uint64_t key)
{
    return pw_handle_front(table, key);
}

static bool is_free(slot *at, uint64_t key)
{
    return key == 0 || (key != PW_HANDLE_TAKEN && !load_value(at));
}

/* Puts a key that is in neither part in front. False: its slot there is not free. The value appears before the key. */
static bool take(pw_handle_table *table, uint64_t key, void *value)
{
    slot *at = front_of(table, key);
    uint64_t before = load_key(at);

    if (at == table->front || !is_free(at, before) ||
        !atomic_compare_exchange_strong_explicit(&at->key, &before, PW_HANDLE_TAKEN, memory_order_acq_rel,
                                                 memory_order_relaxed))
        return false;
    if (!is_free(at, before)) { /* the paused key has come back */
        atomic_store_explicit(&at->key, before, memory_order_release);
        return false;
    }
    store(at, key, value);
    return true;
}

/* False: the slot is another key's, or the key lies in the rest. */
static bool enter_front(pw_handle_table *table, uint64_t key, void *value)
{
    return (atomic_load_explicit(&table->used, memory_order_acquire) == 0 || !pw_handle_table_seek(table, key)) &&
           take(table, key, value);
}

bool pw_handle_table_add_front(pw_handle_table *table, uint64_t key, void *value)
{
    return atomic_load_explicit(&table->used, memory_order_acquire) == 0 && take(table, key, value);
}

/* ---- the rest (under the lock) ---------------------------------------------------------------------------------- */

static pw_status enter_rest(pw_handle_table *table, uint64_t key, void *value, bool replace, bool *is_new)
{
    pw_status status = make_room(table);
    slot *at;

    if (status != PW_OK)
        return status;
    at = seek(atomic_load_explicit(&table->current, memory_order_relaxed), key);
    *is_new = load_key(at) != key;
    table->used += *is_new;
    if (*is_new || replace)
        store(at, key, value);
    return PW_OK;
}

/* Empties slot `hole`, moving back the entries behind it that would not be found any more. */
static void close_hole(slots *s, uint64_t hole)
{
    for (uint64_t i = (hole + 1) & s->mask; load_key(&s->at[i]); i = (i + 1) & s->mask) {
        uint64_t home = home_of(s, load_key(&s->at[i]));

        /* The entry at i may move to the hole unless its home is between the two, cyclically. */
        if (((i - home) & s->mask) >= ((i - hole) & s->mask)) {
            store(&s->at[hole], load_key(&s->at[i]), load_value(&s->at[i]));
            hole = i;
        }
    }
    store(&s->at[hole], 0, NULL);
}

static void *leave_rest(pw_handle_table *table, uint64_t key)
{
    slots *s = atomic_load_explicit(&table->current, memory_order_relaxed);
    slot *at = seek(s, key);
    void *value = load_value(at);

    if (load_key(at) != key)
        return NULL;
    atomic_fetch_add_explicit(&table->version, 1, memory_order_acq_rel);
    close_hole(s, (uint64_t)(at - s->at));
    atomic_fetch_add_explicit(&table->version, 1, memory_order_release);
    table->used--;
    return value;
}

/* ---- writing ---------------------------------------------------------------------------------------------------- */

static pw_status enter(pw_handle_table *table, uint64_t key, void *value, bool replace, bool *is_new)
{
    pw_status status;

    *is_new = false;
    if (!key || key == PW_HANDLE_TAKEN || !value)
        return PW_ERR_INVALID;
    if (load_key(front_of(table, key)) == key && load_value(front_of(table, key))) {
        if (replace)
            atomic_store_explicit(&front_of(table, key)->value, value, memory_order_release);
        return PW_OK;
    }
    *is_new = enter_front(table, key, value);
    if (*is_new)
        return PW_OK;
    pthread_mutex_lock(&table->lock);
    status = enter_rest(table, key, value, replace, is_new);
    pthread_mutex_unlock(&table->lock);
    return status;
}

pw_status pw_handle_table_insert(pw_handle_table *table, uint64_t key, void *value)
{
    bool is_new;

    return enter(table, key, value, true, &is_new);
}

bool pw_handle_table_add(pw_handle_table *table, uint64_t key, void *value)
{
    bool is_new;

    return enter(table, key, value, false, &is_new) == PW_OK && is_new;
}

void pw_handle_table_swap_other(pw_handle_table *table, uint64_t key, void *old, void *value)
{
    slot *at = seek(atomic_load_explicit(&table->current, memory_order_acquire), key);

    if (at && load_key(at) == key)
        atomic_compare_exchange_strong_explicit(&at->value, &old, value, memory_order_acq_rel, memory_order_relaxed);
}

/* A key may lie in both parts: one that was looked for while another thread had tried to take its paused slot. */
void *pw_handle_table_remove(pw_handle_table *table, uint64_t key)
{
    void *value = key ? pw_handle_table_leave(table, key) : NULL, *other;

    if (!key || atomic_load_explicit(&table->used, memory_order_acquire) == 0)
        return value;
    pthread_mutex_lock(&table->lock);
    other = leave_rest(table, key);
    pthread_mutex_unlock(&table->lock);
    return value ? value : other;
}

void pw_handle_table_clear(pw_handle_table *table)
{
    slots *s;

    for (int i = 0; i < 1 << PW_HANDLE_FRONT_BITS; i++)
        pw_handle_table_leave(table, load_key(&table->front[i]));
    pthread_mutex_lock(&table->lock);
    s = atomic_load_explicit(&table->current, memory_order_relaxed);
    atomic_fetch_add_explicit(&table->version, 1, memory_order_acq_rel);
    for (uint64_t i = 0; i <= s->mask; i++)
        store(&s->at[i], 0, NULL);
    atomic_fetch_add_explicit(&table->version, 1, memory_order_release);
    table->used = 0;
    pthread_mutex_unlock(&table->lock);
}

void pw_handle_table_each(pw_handle_table *table, void (*fn)(void *arg, uint64_t key, void *value), void *arg)
{
    slots *s = atomic_load_explicit(&table->current, memory_order_relaxed);

    for (int i = 0; i < 1 << PW_HANDLE_FRONT_BITS; i++)
        if (!is_free(&table->front[i], load_key(&table->front[i])))
            fn(arg, load_key(&table->front[i]), atomic_load(&table->front[i].value));
    for (uint64_t i = 0; s && i <= s->mask; i++)
        if (atomic_load(&s->at[i].value) && !is_free(&s->at[i], load_key(&s->at[i])))
            fn(arg, load_key(&s->at[i]), atomic_load(&s->at[i].value));
}
