#include "runtime/handle_table.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

enum { FIRST_SLOTS = 256, READER_ATTEMPTS = 16 };

typedef struct slot {
    _Atomic uint64_t key; /* 0: empty */
    _Atomic(void *) value;
} slot;

typedef struct slots {
    struct slots *older; /* retired arrays, for pw_handle_table_destroy */
    uint64_t mask;
    slot at[];
} slots;

struct pw_handle_table {
    _Atomic(slots *) current;
    _Atomic uint64_t version; /* odd while entries move */
    pthread_mutex_t lock;
    size_t used; /* under lock */
};

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

/* Handles differ in low or in middle bits; a multiplication brings both to the top. */
static uint64_t home_of(const slots *s, uint64_t key)
{
    return ((key * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & s->mask;
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
    return NULL; /* only for a reader whom a writer overtakes; the version tells */
}

static void *probe(slots *s, uint64_t key)
{
    slot *at = seek(s, key);
    void *value = at ? load_value(at) : NULL;

    return at && load_key(at) == key ? value : NULL;
}

pw_status pw_handle_table_create(pw_handle_table **out)
{
    pw_handle_table *table = calloc(1, sizeof *table);
    slots *first = slots_create(FIRST_SLOTS);

    if (!table || !first) {
        free(table);
        free(first);
        return PW_ERR_NOMEM;
    }
    atomic_init(&table->current, first);
    pthread_mutex_init(&table->lock, NULL);
    *out = table;
    return PW_OK;
}

void pw_handle_table_destroy(pw_handle_table *table)
{
    if (!table)
        return;
    for (slots *s = atomic_load(&table->current), *older; s; s = older) {
        older = s->older;
        free(s);
    }
    pthread_mutex_destroy(&table->lock);
    free(table);
}

void *pw_handle_table_find(pw_handle_table *table, uint64_t key)
{
    void *value;

    if (!key)
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

/* At most half full afterwards. */
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

pw_status pw_handle_table_insert(pw_handle_table *table, uint64_t key, void *value)
{
    pw_status status = key && value ? PW_OK : PW_ERR_INVALID;

    if (status != PW_OK)
        return status;
    pthread_mutex_lock(&table->lock);
    status = make_room(table);
    if (status == PW_OK) {
        slot *at = seek(atomic_load_explicit(&table->current, memory_order_relaxed), key);

        table->used += load_key(at) != key;
        store(at, key, value);
    }
    pthread_mutex_unlock(&table->lock);
    return status;
}

/* Empties slot `hole`, moving back the entries behind it that would not be found any more. */
static void close_hole(slots *s, uint64_t hole)
{
    for (uint64_t i = (hole + 1) & s->mask; load_key(&s->at[i]); i = (i + 1) & s->mask) {
        uint64_t home = home_of(s, load_key(&s->at[i]));

        /* May the entry at i move to the hole? Only if its home is not between the two, cyclically. */
        if (((i - home) & s->mask) >= ((i - hole) & s->mask)) {
            store(&s->at[hole], load_key(&s->at[i]), load_value(&s->at[i]));
            hole = i;
        }
    }
    store(&s->at[hole], 0, NULL);
}

void *pw_handle_table_remove(pw_handle_table *table, uint64_t key)
{
    void *value = NULL;
    slots *s;
    slot *at;

    if (!key)
        return NULL;
    pthread_mutex_lock(&table->lock);
    s = atomic_load_explicit(&table->current, memory_order_relaxed);
    at = seek(s, key);
    if (load_key(at) == key) {
        value = load_value(at);
        atomic_fetch_add_explicit(&table->version, 1, memory_order_acq_rel);
        close_hole(s, (uint64_t)(at - s->at));
        atomic_fetch_add_explicit(&table->version, 1, memory_order_release);
        table->used--;
    }
    pthread_mutex_unlock(&table->lock);
    return value;
}

void pw_handle_table_clear(pw_handle_table *table)
{
    slots *s;

    pthread_mutex_lock(&table->lock);
    s = atomic_load_explicit(&table->current, memory_order_relaxed);
    atomic_fetch_add_explicit(&table->version, 1, memory_order_acq_rel);
    for (uint64_t i = 0; i <= s->mask; i++)
        store(&s->at[i], 0, NULL);
    atomic_fetch_add_explicit(&table->version, 1, memory_order_release);
    table->used = 0;
    pthread_mutex_unlock(&table->lock);
}

size_t pw_handle_table_size(pw_handle_table *table)
{
    size_t used;

    pthread_mutex_lock(&table->lock);
    used = table->used;
    pthread_mutex_unlock(&table->lock);
    return used;
}
