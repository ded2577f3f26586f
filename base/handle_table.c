/*
 * The handle table: a front, whose slots threads fill and clear without a lock, and lists of nodes for all other keys,
 * under a lock. A node stays in its list when its key goes, for the next key there, so a reader never touches freed
 * memory.
 */
#include "base/handle_table.h"

#include <stdlib.h>

typedef pw_handle_slot slot;

/* Constant, but for the slot. */
typedef struct pw_handle_node {
    slot slot;
    struct pw_handle_node *next;
} node;

/*
 * Loads are acquire and stores release throughout: a reader that has seen the value of another key also sees that the
 * slot is no longer the key's that it looks for.
 */
static uint64_t load_key(slot *s)
{
    return atomic_load_explicit(&s->key, memory_order_acquire);
}

static void *load_value(slot *s)
{
    return atomic_load_explicit(&s->value, memory_order_acquire);
}

static _Atomic(node *) *list_of(pw_handle_table *table, uint64_t key)
{
    return &table->rest[pw_handle_hash(key) << PW_HANDLE_FRONT_BITS >> (64 - PW_HANDLE_REST_BITS)];
}

/* The slot of a key in a list. NULL: there is none, and *empty is a free slot, unless it is NULL, too. */
static slot *seek(_Atomic(node *) *list, uint64_t key, slot **empty)
{
    *empty = NULL;
    for (node *n = atomic_load_explicit(list, memory_order_acquire); n; n = n->next) {
        uint64_t found = load_key(&n->slot);

        if (found == key)
            return &n->slot;
        if (!found)
            *empty = &n->slot;
    }
    return NULL;
}

void *pw_handle_table_seek(pw_handle_table *table, uint64_t key)
{
    slot *empty, *at = key ? seek(list_of(table, key), key, &empty) : NULL;

    return at ? pw_handle_slot_look(at, key) : NULL;
}

/* ---- the front -------------------------------------------------------------------------------------------------- */

static slot *front_of(pw_handle_table *table, uint64_t key)
{
    return pw_handle_front(table, key);
}

/* False: the slot is another key's, or the key lies in the rest. */
static bool enter_front(pw_handle_table *table, uint64_t key, void *value)
{
    return (atomic_load_explicit(&table->used, memory_order_acquire) == 0 || !pw_handle_table_seek(table, key)) &&
           pw_handle_table_take(table, key, value);
}

/* ---- the rest (under the lock) ---------------------------------------------------------------------------------- */

static slot *add_slot(_Atomic(node *) *list)
{
    node *n = calloc(1, sizeof *n);

    if (!n)
        return NULL;
    n->next = atomic_load_explicit(list, memory_order_relaxed);
    atomic_store_explicit(list, n, memory_order_release);
    return &n->slot;
}

static pw_status enter_rest(pw_handle_table *table, uint64_t key, void *value, bool replace, bool *is_new)
{
    _Atomic(node *) *list = list_of(table, key);
    slot *empty, *at = seek(list, key, &empty);

    *is_new = !at;
    if (!at)
        at = empty ? empty : add_slot(list);
    if (!at)
        return PW_ERR_NOMEM;
    table->used += *is_new;
    if (*is_new || replace)
        pw_handle_slot_store(at, key, value);
    return PW_OK;
}

static void *leave_rest(pw_handle_table *table, uint64_t key)
{
    slot *empty, *at = seek(list_of(table, key), key, &empty);

    if (!at)
        return NULL;
    atomic_store_explicit(&at->key, 0, memory_order_release);
    table->used--;
    return load_value(at);
}

/* ---- writing ---------------------------------------------------------------------------------------------------- */

static pw_status enter(pw_handle_table *table, uint64_t key, void *value, bool replace, bool *is_new)
{
    pw_status status;

    *is_new = false;
    if (!key || key == PW_HANDLE_TAKEN || !value)
        return PW_ERR_INVALID;
    *is_new = enter_front(table, key, value);
    if (*is_new)
        return PW_OK;
    if (load_key(front_of(table, key)) == key) {
        if (replace)
            atomic_store_explicit(&front_of(table, key)->value, value, memory_order_release);
        return PW_OK;
    }
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

bool pw_handle_table_add_other(pw_handle_table *table, uint64_t key, void *value)
{
    bool is_new;

    return enter(table, key, value, false, &is_new) == PW_OK && is_new;
}

void pw_handle_table_swap_other(pw_handle_table *table, uint64_t key, void *old, void *value)
{
    slot *empty, *at = seek(list_of(table, key), key, &empty);

    if (at)
        atomic_compare_exchange_strong_explicit(&at->value, &old, value, memory_order_acq_rel, memory_order_relaxed);
}

void *pw_handle_table_remove(pw_handle_table *table, uint64_t key)
{
    void *value = key ? pw_handle_table_leave(table, key) : NULL;

    if (value || !key || atomic_load_explicit(&table->used, memory_order_acquire) == 0)
        return value;
    pthread_mutex_lock(&table->lock);
    value = leave_rest(table, key);
    pthread_mutex_unlock(&table->lock);
    return value;
}

static void forget(void *table, uint64_t key, void *value)
{
    (void)value;
    pw_handle_table_remove(table, key);
}

void pw_handle_table_clear(pw_handle_table *table)
{
    pw_handle_table_each(table, forget, table);
}

static void visit(slot *at, void (*fn)(void *arg, uint64_t key, void *value), void *arg)
{
    if (load_key(at))
        fn(arg, load_key(at), load_value(at));
}

void pw_handle_table_each(pw_handle_table *table, void (*fn)(void *arg, uint64_t key, void *value), void *arg)
{
    for (int i = 0; i < 1 << PW_HANDLE_FRONT_BITS; i++)
        visit(&table->front[i], fn, arg);
    for (int i = 0; table->used > 0 && i < 1 << PW_HANDLE_REST_BITS; i++)
        for (node *n = atomic_load_explicit(&table->rest[i], memory_order_acquire); n; n = n->next)
            visit(&n->slot, fn, arg);
}
