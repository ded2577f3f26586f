/*
 * A seeded generator of committed MPI datatypes over all combiners, nested, each with the typemap it must
 * have. The typemap is written out element by element from the definitions of MPI 4.0 section 5.1, with the bounds
 * of inner types as the MPI gives them; it shares no code with Packwright's algebra, so it can judge it.
 *
 * Compiled once for each MPI. Types are bounded: entries of the typemap, span in memory. The same seed
 * gives the same type on the same MPI.
 */
#ifndef PW_TESTS_SUPPORT_RANDOM_MPI_H
#define PW_TESTS_SUPPORT_RANDOM_MPI_H

#include "tests/support/naive.h"
#include "tests/support/rng.h"

#include <mpi.h>

/* Which combiners were used ("contiguous", "darray", …), so that a test can check that all were. */
#define PW_RANDOM_COMBINERS(X)          \
    X(NAMED, "named")                   \
    X(PAIR, "pair")                     \
    X(F90, "f90")                       \
    X(DUP, "dup")                       \
    X(CONTIGUOUS, "contiguous")         \
    X(VECTOR, "vector")                 \
    X(HVECTOR, "hvector")               \
    X(INDEXED, "indexed")               \
    X(HINDEXED, "hindexed")             \
    X(INDEXED_BLOCK, "indexed_block")   \
    X(HINDEXED_BLOCK, "hindexed_block") \
    X(STRUCT, "struct")                 \
    X(SUBARRAY, "subarray")             \
    X(DARRAY, "darray")                 \
    X(RESIZED, "resized")

typedef enum pw_random_combiner {
#define X(symbol, name) PW_RANDOM_##symbol,
    PW_RANDOM_COMBINERS(X)
#undef X
        PW_RANDOM_COMBINER_COUNT
} pw_random_combiner;

const char *pw_random_combiner_name(pw_random_combiner c);

/* A type with what is known of it. */
typedef struct pw_random_mpi {
    MPI_Datatype type;
    bool derived; /* the type must be freed */
    int64_t lb, extent;
    pw_naive_map map;
    char *text;    /* one line; counts, lengths and displacements in the order of the MPI calls */
    uint32_t used; /* bit per pw_random_combiner */
    bool large;    /* some constructor was of the large-count kind */
    /* Facts about the type or some type inside it: */
    bool hollow;    /* it has no bytes */
    bool backwards; /* its extent is negative */
    bool creeping;  /* its elements, or blocks, are -1 byte apart */
} pw_random_mpi;

typedef struct pw_random_mpi_limits {
    int depth;           /* constructors above each other */
    int64_t max_entries; /* of the typemap of one object */
    int64_t max_span;    /* bytes from the first to the last byte of one object; also bounds |lb| and |extent| */
} pw_random_mpi_limits;

/* MPI_ERRORS_RETURN must be set on MPI_COMM_WORLD and MPI_COMM_SELF. The result is committed; free it with
 * pw_random_mpi_free. Exits the program with a message when MPI refuses a legal constructor. */
void pw_random_mpi_create(pw_rng *rng, const pw_random_mpi_limits *limits, pw_random_mpi *out);
/* Does what pw_random_mpi_create does, for a list or a struct of `blocks` blocks, whose types are small. */
void pw_random_mpi_create_long(pw_rng *rng, const pw_random_mpi_limits *limits, int64_t blocks, pw_random_mpi *out);
void pw_random_mpi_free(pw_random_mpi *t);

#endif
