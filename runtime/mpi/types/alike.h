/*
 * Types that look like one that was learned before.
 *
 * Programs that make a type for each message make types of few shapes over and over, often with other counts each time.
 * Learning such a type is in vain if its messages turn out to be left to MPI, as those of long blocks are, and costs as
 * much as a short message each time. So the last learned types are kept here by what MPI says of a type: the classes
 * (pw_site_size) of its size, of its true extent, and of the length of the blocks that its constructor was given, which
 * types of one shape share if their counts are close. Where MPI does not say at once how long blocks are, the size and
 * the extent must be the same.
 * A noted type that looks like one of them, and whose message would be left to MPI with that type's layout, is not
 * learned for this message (pw_registry_alike). Two layouts that look alike may be different; then the message is
 * carried out by MPI all the same, and the type that is learned next takes the place: the site of the first one asks
 * for that when its next trial is due.
 */
#ifndef PW_RUNTIME_ALIKE_H
#define PW_RUNTIME_ALIKE_H

#include "runtime/mpi/mpi_compat.h"

#include <stdbool.h>
#include <stdint.h>

enum { PW_ALIKE_BITS = 6 };

typedef struct pw_look {
    uint64_t blocks;       /* tells apart what the classes do not */
    uint16_t size, extent; /* classes; the extent is the true one */
} pw_look;

struct pw_entry;

/* The table: entries by looks. All zeros is an empty one. A new type replaces an older one in its slot. Not thread
 * safe. */
typedef struct pw_alike_table {
    struct {
        pw_look look;
        struct pw_entry *entry; /* NULL: the slot is free */
    } places[1 << PW_ALIKE_BITS];
} pw_alike_table;

/* Asks MPI. Returns false if MPI has failed, or the type moves no bytes. */
bool pw_look_read(MPI_Datatype type, pw_look *out);

/* Returns the entry of the last type with this look, or NULL. */
struct pw_entry *pw_alike_find(const pw_alike_table *table, const pw_look *look);

/* Puts an entry into the table. Returns the entry that had its slot, or NULL. */
struct pw_entry *pw_alike_put(pw_alike_table *table, const pw_look *look, struct pw_entry *entry);

#endif
