/* What the files of this folder share, by the file that defines it. */
#ifndef PW_RUNTIME_IO_INTERNAL_H
#define PW_RUNTIME_IO_INTERNAL_H

#include "runtime/mpi/entry/gate.h"
#include "runtime/mpi/mpi_compat.h"
#include "runtime/mpi/strategy/operand.h"

#include <stdbool.h>
#include <stdint.h>

/* ---- io_type.c --------------------------------------------------------------------------------------------------- */

/*
 * Types that ROMIO does not write as their typemaps say. Files outlive programs, and programs without Packwright read
 * and write them too. Such types are therefore left to MPI, so that files do not depend on whether Packwright was
 * there.
 */

/* Returns whether the file would hold the packed bytes of the type. Looks into the type each time, which takes some
 * hundred nanoseconds for each constructor. */
bool pw_io_type_is_plain(MPI_Datatype type);

/* Tells views apart that MPIs may treat differently, by the bounds of their file type: a number below 1 << 11. Ranks
 * that divide an array alike get the same one. */
unsigned pw_io_view_kind(MPI_Datatype filetype);

#endif
