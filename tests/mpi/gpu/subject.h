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

/* Types that can be received into, have bytes, and are none of MPI's pairs with a hole, which are left to MPI. With
 * `plain` none that an MPI gets wrong (tests/mpi/random/subjects.c), for where its own way is taken, too. */
void subject_make(subject *s, uint64_t seed, bool plain);
void subject_free(subject *s);

/* Room for every subject. */
gpu_memory subject_memory(gpu_kind kind);
gpu_memory subject_packed_memory(gpu_kind kind);

/* The address that MPI gets for the user's buffer. */
void *subject_buffer(const subject *s, const gpu_memory *m);
/* Contents that follow from `seed`, guards included; `image` gets them. At least span (packed: size) + 2 guards. */
void subject_fill(const gpu_memory *m, unsigned char *image, int64_t bytes, uint64_t seed);
/* Is the memory as the image says? If not, says where. */
bool subject_same(const subject *s, const char *what, const gpu_memory *m, const unsigned char *image, int64_t bytes);
/* Typemap semantics on images of the user's buffer and of packed bytes (without guards). */
void subject_pack(const subject *s, const unsigned char *image, unsigned char *packed);
void subject_unpack(const subject *s, unsigned char *image, const unsigned char *packed, int64_t bytes);

#endif
