/*
 * How a type was made, where that is said in few words: one constructor over a basic type (MPI 4.0 section 5.1.13).
 * Programs that make a type for each message make the same ones over and over, and what was learned of the last is
 * found by this in a third of the time that learning takes.
 */
#ifndef PW_RUNTIME_CONSTRUCTED_H
#define PW_RUNTIME_CONSTRUCTED_H

#include "frontend/mpi/contents.h"

#include <stdbool.h>
#include <stdint.h>

enum { PW_CONSTRUCTED_NUMS = 11 /* a subarray of three dimensions */, PW_CONSTRUCTED_BITS = 5 };

typedef struct pw_constructed {
    uint64_t type;    /* the basic one */
    int64_t combiner; /* with the lengths of all arrays */
    int64_t nums[PW_CONSTRUCTED_NUMS];
    int nnums;
} pw_constructed;

struct pw_entry;

/* Not thread safe; to begin with of zeros. What is remembered last drives others out. */
typedef struct pw_constructed_table {
    struct {
        pw_constructed how;
        struct pw_entry *entry; /* NULL: free */
    } places[1 << PW_CONSTRUCTED_BITS];
} pw_constructed_table;

/*
 * Of a type with this envelope. False: not in few words, or MPI has failed. *found: what the table has, NULL for
 * nothing; then *basic tells whether the constructor is one over a basic type, so that it may be put there.
 */
bool pw_constructed_read(const pw_constructed_table *table, MPI_Datatype type, const pw_envelope *envelope,
                         pw_constructed *out, struct pw_entry **found, bool *basic);

/* Returns what was there before, or NULL. */
struct pw_entry *pw_constructed_put(pw_constructed_table *table, const pw_constructed *how, struct pw_entry *entry);

#endif
