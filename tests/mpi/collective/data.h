/*
 * Data for trials of collectives: types of equal signature and size but different layouts, blocks placed in memory with
 * gaps between them, and that memory twice, for a run with Packwright and one without.
 */
#ifndef PW_TESTS_INTERPOSER_COLLECTIVE_DATA_H
#define PW_TESTS_INTERPOSER_COLLECTIVE_DATA_H

#include "tests/mpi/collective/calls.h"
#include "tests/support/random_mpi.h"

/* What all ranks of a trial agree on: the signature of one object. */
typedef struct data_base {
    bool random; /* objects of `type`; else `elements` elements */
    pw_random_mpi type;
    MPI_Datatype element;
    int elements;
    char text[256]; /* what it is, for failures */
} data_base;

/* The same for the same state of *shared. `objects`: at most so many will lie in one block. */
void data_base_create(data_base *b, pw_rng *shared, int objects);
void data_base_free(data_base *b);

/* One type of that signature, committed behind Packwright's back now and then. Free it with MPI_Type_free. */
MPI_Datatype data_type(const data_base *b, pw_rng *own);

/* A kind of memory for runs with Packwright. The CPU need not be able to touch it. */
typedef struct data_kind {
    void *(*take)(size_t bytes);
    void (*give)(void *memory);
    void (*copy)(void *to, const void *from, size_t bytes); /* between this and the host's */
} data_kind;

/* When there is one, types are committed through Packwright, and two sides of three have their memory there. */
extern const data_kind *data_other_kind;

/* The memory of one side. */
typedef struct data_side {
    int64_t lo, bytes;        /* of the blocks, from the origin; without the guards */
    unsigned char *memory[2]; /* with Packwright, and without */
    unsigned char *before;    /* what was in both */
    const data_kind *kind;    /* of the first */
} data_side;

/*
 * Places `blocks` blocks of s->counts and s->types (or s->count and s->type, as `form` wants), fills the
 * displacements, and takes memory for them. Blocks that are only read may be on top of each other.
 */
void data_place(data_side *d, call_side *s, call_form form, bool only_read, int blocks, pw_rng *own);
void data_free(data_side *d);
/* The same in both. */
void data_fill(data_side *d, pw_rng *own);
/* The address for a call. */
void *data_origin(const data_side *d, bool native);
/* The first difference as text, places counted from the origin; NULL: there is none. */
const char *data_difference(const data_side *d);

#endif
