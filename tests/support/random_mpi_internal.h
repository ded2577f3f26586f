/* What the files of the generator of MPI types share. */
#ifndef PW_TESTS_SUPPORT_RANDOM_MPI_INTERNAL_H
#define PW_TESTS_SUPPORT_RANDOM_MPI_INTERNAL_H

#include "tests/support/random_mpi.h"

enum { PW_MAKER_MAX_DIMS = 4, PW_MAKER_MAX_LIST = 256, PW_MAKER_MAX_MEMBERS = 5 };

/* The state of one generation, and the type under construction. */
typedef struct pw_maker {
    pw_rng *rng;
    const pw_random_mpi_limits *limits;
    int64_t max_entries; /* of this type; less than the limits' for members of a struct */
    int64_t members;     /* of the list or struct to make; 0: as many as come */
    bool large;          /* make this one with the large-count constructor, if there is one */
} pw_maker;

/* A constructor: picks arguments, fills out->type, ->map and ->text. False when the type would be too big; then
 * only ->type (when not MPI_DATATYPE_NULL), ->map and ->text need freeing. */
typedef bool pw_make_fn(pw_maker *m, const pw_random_mpi *old, pw_random_mpi *out);

pw_make_fn pw_make_dup, pw_make_contiguous, pw_make_vector, pw_make_hvector, pw_make_resized;
pw_make_fn pw_make_indexed, pw_make_hindexed, pw_make_indexed_block, pw_make_hindexed_block;
pw_make_fn pw_make_subarray, pw_make_darray;
bool pw_make_struct(pw_maker *m, int n, const pw_random_mpi *const *olds, pw_random_mpi *out);

/* A predefined, pair or f90 type. */
void pw_make_basic(pw_rng *rng, pw_random_mpi *out);

/* A count: mostly small, now and then 0, some dozens or many. */
int64_t pw_make_count(pw_maker *m);

/* Returns whether `copies` times the old type still fits. */
bool pw_make_fits(const pw_maker *m, const pw_random_mpi *old, int64_t copies);

/* `blocklen` elements in a row from byte displacement `disp`. */
void pw_make_block(pw_random_mpi *out, const pw_random_mpi *old, int64_t disp, int64_t blocklen);

/* Exits with a message unless rc is MPI_SUCCESS. */
void pw_make_check(int rc, const char *what);

/* A growing line of text, malloc'ed in *text. */
void pw_make_text(char **text, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* "1 2 3" */
void pw_make_text_list(char **text, int64_t n, const int64_t *v);
/* How many of n things the text shows, and the words for those that it does not. */
int64_t pw_make_shown(int64_t n);
void pw_make_elision(char **text, int64_t n);

#endif
