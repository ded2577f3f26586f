/* Internal to frontend/mpi: the state of one decode, and the types that stand for themselves. */
#ifndef PW_FRONTEND_MPI_DECODE_INTERNAL_H
#define PW_FRONTEND_MPI_DECODE_INTERNAL_H

#include "frontend/combiner.h"
#include "frontend/mpi/contents.h"

/* Types deeper than this, or with more constructors (a struct of itself of itself ...), are left to the MPI. */
enum { PW_DECODE_MAX_DEPTH = 128, PW_DECODE_MAX_TYPES = 100000 };

enum { PW_DECODE_MEMO = 8 };

typedef struct pw_decode {
    pw_builder builder;
    /* What an inner level of a type keeps while the levels below it are decoded, taken back when it is done. On the
     * stack it would be too much: types nest deeper than the stacks of some programs' threads would allow. NULL: no
     * inner level has been met. */
    pw_arena *levels;
    pw_diag *diag;
    int depth;
    int64_t visited;
    unsigned element_sizes; /* as in pw_mpi_decode_elements */
    /* Predefined types met lately. Their handles last, so a handle names the same type throughout. */
    struct {
        MPI_Datatype handle;
        pw_dt dt; /* node NULL: free */
    } memo[PW_DECODE_MEMO];
} pw_decode;

/* A predefined type or one of the Fortran 90 types: bytes, in one run but for the pair types with a hole. */
pw_status pw_decode_named(pw_decode *d, MPI_Datatype type, pw_dt *out);

/* Sets lb and extent to what MPI says of the handle. */
pw_status pw_decode_bounds(pw_decode *d, MPI_Datatype type, pw_dt *dt);

#endif
