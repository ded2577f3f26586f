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

/*
 * Reads how a type with this envelope was made. Returns false if it was not made by few numbers, or MPI has failed.
 * *found: the entry in the table, or NULL. Without an entry, *basic says whether this is one constructor over a basic
 * type, so that the caller may put an entry there.
 */
bool pw_constructed_read(const pw_constructed_table *table, MPI_Datatype type, const pw_envelope *envelope,
                         pw_constructed *out, struct pw_entry **found, bool *basic);

/* Puts an entry into the table. Returns the entry that had its slot, or NULL. */
struct pw_entry *pw_constructed_put(pw_constructed_table *table, const pw_constructed *how, struct pw_entry *entry);

#endif
