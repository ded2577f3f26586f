/*
 * How a type was made, if it was made by one constructor over a basic type (MPI 4.0 section 5.1.13).
 * Programs that make a type for each message make the same few over and over. This table finds the entry of an earlier
 * type that was made in the same way, in a third of the time that learning takes.
 */
#ifndef PW_RUNTIME_CONSTRUCTED_H
#define PW_RUNTIME_CONSTRUCTED_H

#include "frontend/mpi/contents.h"

#include <stdbool.h>
#include <stdint.h>

enum { PW_CONSTRUCTED_NUMS = 11 /* a subarray of three dimensions has 11 numbers */, PW_CONSTRUCTED_BITS = 5 };

typedef struct pw_constructed {
    uint64_t type;    /* the basic type */
    int64_t combiner; /* with the lengths of all lists */
    int64_t nums[PW_CONSTRUCTED_NUMS];
    int nnums;
} pw_constructed;

struct pw_entry;

/* The table: entries by how their types were made. All zeros is an empty one. A new type replaces an older one in its
 * slot. Not thread safe. */
typedef struct pw_constructed_table {
    struct {
        pw_constructed how;
        struct pw_entry *entry; /* NULL: the slot is free */
    } places[1 << PW_CONSTRUCTED_BITS];
} pw_constructed_table;

/* Tells how a type with these contents was made. Returns false if it was not made of one type and few numbers. */
bool pw_constructed_read(const pw_contents *contents, pw_constructed *out);

/* Returns the entry of an earlier type that was made in the same way, or NULL. With an entry the old type is a basic
 * one. */
struct pw_entry *pw_constructed_find(const pw_constructed_table *table, const pw_constructed *how);

/* Puts an entry into the table. `how` must be one constructor over a basic type. Returns the entry that had its slot,
 * or NULL. */
struct pw_entry *pw_constructed_put(pw_constructed_table *table, const pw_constructed *how, struct pw_entry *entry);

#endif
