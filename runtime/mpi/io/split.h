/* Split collective calls: what lies between a `_begin` and its `_end`, one for each file at a time (MPI 4.0 14.4.5). */
#ifndef PW_RUNTIME_IO_SPLIT_H
#define PW_RUNTIME_IO_SPLIT_H

#include "runtime/mpi/mpi_compat.h"

/* The file is about to be closed. What has begun and was not ended, an error of the program, is ended: MPI lets go of
 * memory of ours, and what was read is where both MPIs had put it. */
void pw_io_split_abandon(MPI_File fh);

#endif
