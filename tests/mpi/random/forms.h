/* What can be said of a type without moving a byte: that every form of it has the naive typemap, and that its
 * canonical form does not depend on how it was built. */
#ifndef PW_TESTS_MPI_RANDOM_FORMS_H
#define PW_TESTS_MPI_RANDOM_FORMS_H

#include "ir/ir.h"
#include "tests/support/random_mpi.h"

/* Decodes, canonicalises and compares; `raw` gets the decoded type, in `arena`. False with the reason in `what`. */
bool pw_forms_check(const pw_random_mpi *t, pw_arena *arena, pw_type *raw, char *what, size_t what_size);

#endif
