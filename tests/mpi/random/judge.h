/* Packs, unpacks and partial ranges of one type, every subject against the naive typemap, byte for byte. */
#ifndef PW_TESTS_MPI_RANDOM_JUDGE_H
#define PW_TESTS_MPI_RANDOM_JUDGE_H

#include "buffers.h"
#include "subjects.h"

/* Buffers for any type within the limits; reused from type to type. */
typedef struct pw_judge {
    pw_watched memory, packed;
    unsigned char *expected; /* the packed bytes as they must be */
    unsigned char *mask;
    int64_t room; /* bytes of each of the above */
    int64_t bytes_judged;
} pw_judge;

void pw_judge_create(pw_judge *j, int64_t room);
void pw_judge_destroy(pw_judge *j);

/* True when all subjects agree with the typemap for this count. Else `what` tells who failed how. */
bool pw_judge_count(pw_judge *j, const pw_subject_type *t, int64_t count, uint64_t seed, char *what, size_t what_size);

/* Does a call of this count fit the buffers? */
bool pw_judge_fits(const pw_judge *j, const pw_random_mpi *t, int64_t count);

#endif
