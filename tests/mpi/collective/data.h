/*
 * Data for trials of collectives: types of equal signature and size but different layouts, blocks placed in memory with
 * gaps between them, and that memory twice, for a run with Packwright and one without.
 */
#ifndef PW_TESTS_INTERPOSER_COLLECTIVE_DATA_H
#define PW_TESTS_INTERPOSER_COLLECTIVE_DATA_H

#include "tests/mpi/collective/calls.h"
#include "tests/support/random_mpi.h"

/* What all ranks of a trial have in common: the signature of one object. */
typedef struct data_base {
    bool random; /* objects of `type`; false: `elements` elements */
    pw_random_mpi type;
    MPI_Datatype element;
    int elements;
    char text[256]; /* describes the data in reports of failures */
} data_base;

/* Makes the same for the same state of *shared. At most `objects` objects will lie in one block. */
void data_base_create(data_base *b, pw_rng *shared, int objects);
void data_base_free(data_base *b);

/* Returns a type of that signature, which now and then was committed behind Packwright's back. Free it with
 * MPI_Type_free. */
MPI_Datatype data_type(const data_base *b, pw_rng *own);

/* A kind of memory for the runs with Packwright. The CPU need not be able to touch it. */
typedef struct data_kind {
    void *(*take)(size_t bytes);
    void (*give)(void *memory);
    void (*copy)(void *to, const void *from, size_t bytes); /* copies between this memory and the host's */
} data_kind;

/* If this is set, types are committed through Packwright, and two sides of three have memory of this kind. */
extern const data_kind *data_other_kind;

/* The memory of one side. */
typedef struct data_side {
    int64_t lo, bytes;        /* of the blocks, counted from the origin, without the guards */
    unsigned char *memory[2]; /* one for the run with Packwright, one for the run without */
    unsigned char *before;    /* the contents of both before the run */
    const data_kind *kind;    /* of the memory with Packwright */
} data_side;

/*
 * Places `blocks` blocks of s->counts and s->types (or s->count and s->type, as `form` wants), fills the
 * displacements, and takes memory for them. Blocks that are only read may be on top of each other.
 */
void data_place(data_side *d, call_side *s, call_form form, bool only_read, int blocks, pw_rng *own);
void data_free(data_side *d);
/* Fills both memories with the same contents. */
void data_fill(data_side *d, pw_rng *own);
/* Returns the address for a call. */
void *data_origin(const data_side *d, bool native);
/* Returns the first difference as text, with places counted from the origin. NULL: there is none. */
const char *data_difference(const data_side *d);

#endif
