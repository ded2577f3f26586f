/* What reading and writing files costs with a buffer that is not contiguous. The figures are of docs/mpi.md. */
#ifndef PW_RUNTIME_IO_COST_H
#define PW_RUNTIME_IO_COST_H

#include <stdbool.h>
#include <stdint.h>

/* When the MPI may do the work: in the call; behind it, for this rank alone (MPI_File_iread) or for all of the file's
 * (MPI_File_iread_all, split collective calls). */
typedef enum pw_io_time { PW_IO_NOW, PW_IO_LATER, PW_IO_LATER_TOGETHER } pw_io_time;

typedef struct pw_io_transfer {
    bool write;
    pw_io_time time;
    bool plain; /* the file's view has no holes */
    int64_t bytes, blocks;
} pw_io_transfer;

/* Whether a stage is faster than what the MPI below does. */
bool pw_io_pays(const pw_io_transfer *t);

#endif
