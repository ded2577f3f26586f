/* What a datatype is made of. */
#ifndef PW_RUNTIME_BASIC_TYPE_H
#define PW_RUNTIME_BASIC_TYPE_H

#include "runtime/mpi/mpi_compat.h"

/* A predefined type whose objects lie one after the other without gaps. */
typedef struct pw_basic_type {
    MPI_Datatype type;
    int64_t size; /* bytes */
} pw_basic_type;

/*
 * The one predefined type that `type`, which MPI has accepted, consists of. False: it has members of several types, as
 * far as can be told without looking at them all, or its basic type has a gap (as MPI_DOUBLE_INT).
 *
 * Costs as much as MPI takes to say how the type was made.
 */
bool pw_basic_type_of(MPI_Datatype type, pw_basic_type *out);

/* Whether all of a type's objects are bytes one after another. */
bool pw_type_is_contiguous(MPI_Datatype type);

#endif
