/* What is tested against the naive typemap: the MPI below, tier 0, and the layout engine without and with kernels. */
#ifndef PW_TESTS_MPI_RANDOM_SUBJECTS_H
#define PW_TESTS_MPI_RANDOM_SUBJECTS_H

#include "runtime/engine/layout/layout.h"
#include "tests/support/random_mpi.h"

/* One type in all its forms. */
typedef struct pw_subject_type {
    const pw_random_mpi *random;
    pw_nest *nest;
    pw_layout *plain;    /* of an engine that never compiles */
    pw_layout *compiled; /* NULL: not compiled this time */
} pw_subject_type;

typedef struct pw_subject {
    const char *name;
    bool lazy_padding; /* may leave padding bytes of long double as they are */
    bool (*applies)(const pw_subject_type *t);
    void (*pack)(const pw_subject_type *t, const void *mem, int64_t count, void *packed);
    void (*unpack)(const pw_subject_type *t, void *mem, int64_t count, const void *packed);
    /* NULL where there is none. */
    void (*pack_range)(const pw_subject_type *t, const void *mem, int64_t count, int64_t first, int64_t last,
                       void *packed);
    void (*unpack_range)(const pw_subject_type *t, void *mem, int64_t count, int64_t first, int64_t last,
                         const void *packed);
} pw_subject;

const pw_subject *pw_subjects(int *n);

#endif
