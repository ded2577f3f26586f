/* A random type with a count, its typemap, and buffers for it in memory of any kind, with guard bytes around them. */
#ifndef PW_TESTS_MPI_GPU_SUBJECT_H
#define PW_TESTS_MPI_GPU_SUBJECT_H

#include "tests/mpi/gpu/memory.h"
#include "tests/mpi/support/harness.h"
#include "tests/support/random_mpi.h"

enum { SUBJECT_GUARD = 64, SUBJECT_SPAN = 1 << 18, SUBJECT_PACKED = 1 << 17 };

typedef struct subject {
    pw_random_mpi random;
    int count;
    int64_t lo, span, size; /* of all objects */
    uint64_t seed;
} subject;

/* Makes a type that can be received into, has bytes, and is none of MPI's pairs with a hole, which are left to MPI.
 * With `plain` it is also none that an MPI gets wrong (tests/mpi/random/subjects.c), for tests in which MPI moves the
 * type itself, too. */
void subject_make(subject *s, uint64_t seed, bool plain);
void subject_free(subject *s);

/* Returns memory that has room for every subject. */
gpu_memory subject_memory(gpu_kind kind);
gpu_memory subject_packed_memory(gpu_kind kind);

/* Returns the address that MPI gets for the user's buffer. */
void *subject_buffer(const subject *s, const gpu_memory *m);
/* Fills memory and `image` with contents that follow from `seed`, guards included. They have at least span (packed:
 * size) + 2 guards. */
void subject_fill(const gpu_memory *m, unsigned char *image, int64_t bytes, uint64_t seed);
/* Returns whether the memory is as the image says, and prints where it is not. */
bool subject_same(const subject *s, const char *what, const gpu_memory *m, const unsigned char *image, int64_t bytes);
/* Pack and unpack images of the user's buffer and of packed bytes (without guards), by the typemap. */
void subject_pack(const subject *s, const unsigned char *image, unsigned char *packed);
void subject_unpack(const subject *s, unsigned char *image, const unsigned char *packed, int64_t bytes);

#endif
