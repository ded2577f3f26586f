/*
 * A map from 64-bit keys (handles, addresses; never 0) to pointers, for lookups on the hot path: no lock and no
 * store in pw_handle_table_find, a few nanoseconds. Writers are serialised by a lock of the table.
 *
 * Open addressing with linear probing. Removal shifts entries back, so there are no tombstones and storms of
 * insertions and removals leave no trace. A version counter, odd while entries move, lets readers notice; after a few
 * attempts they take the lock. When the table grows, the old array stays until the table is destroyed, since readers
 * may be in it; arrays double, so together the old ones are smaller than the current one.
 */
#ifndef PW_RUNTIME_HANDLE_TABLE_H
#define PW_RUNTIME_HANDLE_TABLE_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

typedef struct pw_handle_table pw_handle_table;

pw_status pw_handle_table_create(pw_handle_table **out);
void pw_handle_table_destroy(pw_handle_table *table); /* NULL is allowed */

/* NULL: no such key. */
void *pw_handle_table_find(pw_handle_table *table, uint64_t key);
/* Replaces the value of a key that is there. `value` is not NULL. */
pw_status pw_handle_table_insert(pw_handle_table *table, uint64_t key, void *value);
/* Returns the value, NULL when the key was not there. */
void *pw_handle_table_remove(pw_handle_table *table, uint64_t key);
void pw_handle_table_clear(pw_handle_table *table);
size_t pw_handle_table_size(pw_handle_table *table);

#endif
