/*
 * A seeded generator of types by the library's constructors, each with the typemap it must have. The typemap is written
 * out element by element from the definitions of MPI 4.0 section 5.1, with the bounds of inner types as the library
 * gives them; it shares no code with the library's algebra, so it can test it. Bounds have tests of their own.
 */
#ifndef PW_TESTS_LIBRARY_RANDOM_TYPES_H
#define PW_TESTS_LIBRARY_RANDOM_TYPES_H

#include "tests/support/naive.h"
#include "tests/support/rng.h"

#include <packwright/packwright.h>

/* Which constructors were used ("contiguous", "darray", …), so that a test can check that all were. */
#define RANDOM_CONSTRUCTORS(X)        \
    X(BYTES, bytes)                   \
    X(CONTIGUOUS, contiguous)         \
    X(VECTOR, vector)                 \
    X(HVECTOR, hvector)               \
    X(INDEXED, indexed)               \
    X(HINDEXED, hindexed)             \
    X(INDEXED_BLOCK, indexed_block)   \
    X(HINDEXED_BLOCK, hindexed_block) \
    X(STRUCT, struct)                 \
    X(SUBARRAY, subarray)             \
    X(DARRAY, darray)                 \
    X(RESIZED, resized)               \
    X(DUP, dup)

typedef enum random_constructor {
#define X(symbol, name) RANDOM_##symbol,
    RANDOM_CONSTRUCTORS(X)
#undef X
        RANDOM_CONSTRUCTOR_COUNT
} random_constructor;

typedef struct random_type {
    packwright_type *type;
    pw_naive_map map;
    uint32_t used; /* a bit for each random_constructor */
} random_type;

/* The result has few thousand entries, and spans less than a megabyte. Ends the process when a legal call fails. */
random_type random_type_make(pw_rng *rng);
void random_type_free(random_type *t);

/* Bytes from the first to behind the last that `count` objects touch, relative to the first object's address. */
void random_type_span(const random_type *t, int64_t count, int64_t *lo, int64_t *hi);
int64_t random_type_extent(const random_type *t);

#endif
