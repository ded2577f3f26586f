/* Internal to frontend/mpi: from the contents of a type and its decoded old types to the type. */
#ifndef PW_FRONTEND_MPI_COMBINERS_H
#define PW_FRONTEND_MPI_COMBINERS_H

#include "frontend/combiner.h"
#include "frontend/mpi/contents.h"

/*
 * Applies c's combiner to `olds` (one per handle in the contents). Arguments are taken from `c`, which afterwards
 * says with short_of whether they were all there. PW_ERR_UNSUPPORTED, and the builder untouched, for an
 * unknown combiner; PW_OK otherwise, with failures of the algebra in the builder.
 */
pw_status pw_combiner_apply(pw_builder *b, pw_contents *c, const pw_dt *olds, pw_dt *out);

#endif
