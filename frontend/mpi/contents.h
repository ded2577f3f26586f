/*
 * What MPI remembers of how a type was made: envelope and contents (MPI 4.0 section 5.1.13), read into one
 * form whatever the decoders (int or large count) and whoever filled which array.
 *
 * For decoders, and for others that walk types (runtime/mpi/io/io_type.c). A pw_contents belongs to one thread; it is
 * large for a struct (about 600 bytes) so that types of ordinary size are read without an allocation.
 */
#ifndef PW_FRONTEND_MPI_CONTENTS_H
#define PW_FRONTEND_MPI_CONTENTS_H

#include "base/status.h"

#include "frontend/mpi/handles.h"
#include "frontend/mpi/weak.h"

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct pw_envelope {
    int combiner;
    int64_t nints, naddrs, ncounts, ntypes;
} pw_envelope;

pw_status pw_envelope_read(MPI_Datatype type, pw_envelope *out, pw_diag *diag);

/* The handle stands for itself: get_contents has nothing to say, or what it returns must not be freed. */
bool pw_envelope_is_basic(const pw_envelope *e);

/* "MPI_COMBINER_VECTOR"; NULL for one that this build does not know. */
const char *pw_combiner_name(int combiner);

enum { PW_CONTENTS_NUMS = 48, PW_CONTENTS_TYPES = 16 };

typedef struct pw_contents {
    pw_envelope envelope;
    int64_t *nums; /* ints, then addresses, then large counts */
    int64_t next_int, next_addr, next_count;
    MPI_Datatype *types;
    bool short_of; /* more was asked for than there is */
    int64_t fixed_nums[PW_CONTENTS_NUMS];
    MPI_Datatype fixed_types[PW_CONTENTS_TYPES];
    void *heap_nums, *heap_types;
} pw_contents;

/* Exact array sizes are passed to MPI. On PW_OK the caller owes pw_contents_release. */
pw_status pw_contents_read(MPI_Datatype type, const pw_envelope *e, pw_contents *out, pw_diag *diag);

/* Frees those of the types that are derived, and the memory. */
void pw_contents_release(pw_contents *c);

/* Returns whether a type certainly has basic elements of one size: it is made by one constructor over a basic type.
 * `c`: its contents, or NULL if they have not been read. */
bool pw_contents_are_uniform(MPI_Datatype type, const pw_contents *c);

/*
 * The next n arguments, in the order of the standard's tables. "Counts" are arguments that are MPI_Count in the
 * large-count forms and int otherwise; "addresses" are MPI_Aint, MPI_Count or, in the old Fortran forms,
 * INTEGER. NULL, and short_of set, when there are not that many.
 */
const int64_t *pw_contents_ints(pw_contents *c, int64_t n);
const int64_t *pw_contents_counts(pw_contents *c, int64_t n);
const int64_t *pw_contents_addrs(pw_contents *c, int64_t n);

#endif
