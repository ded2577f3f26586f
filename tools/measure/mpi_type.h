/* MPI datatypes from the datatype language. Included by files that know mpi.h only. */
#ifndef PW_TOOLS_MEASURE_MPI_TYPE_H
#define PW_TOOLS_MEASURE_MPI_TYPE_H

#include "frontend/ddt/ddt.h"

#include <mpi.h>

/*
 * Makes and commits variant `variant` of entry i by the constructors that the text is written in, since MPIs take
 * different times for one layout that is built in different ways. Predefined types are those of the same size, and
 * pair types are structs.
 *
 * Bytes that the text calls `byte` are those of a layout without elements, as in traces: so many of the largest
 * elements in a row that they are a multiple of.
 *
 * False: a count does not fit an int, or memory is short.
 */
bool pw_measure_mpi_type(const pw_ddt_unit *unit, int64_t i, int64_t variant, MPI_Datatype *out);

#endif
