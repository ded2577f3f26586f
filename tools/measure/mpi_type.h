/* MPI datatypes from layouts. Included by files that know mpi.h only. */
#ifndef PW_TOOLS_MEASURE_MPI_TYPE_H
#define PW_TOOLS_MEASURE_MPI_TYPE_H

#include "ir/ir.h"

#include <mpi.h>

/* Makes and commits the datatype that moves the bytes of `type`, by the constructors that a program would use for such
 * a layout. Elements are doubles, integers or bytes, the largest that blocks are multiples of. False: a count does not
 * fit an int. */
bool pw_measure_mpi_type(const pw_type *type, MPI_Datatype *out);

#endif
