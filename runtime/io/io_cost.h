/* What reading and writing files costs with a buffer that is not contiguous. The figures are of docs/mpi.md. */
#ifndef PW_RUNTIME_IO_COST_H
#define PW_RUNTIME_IO_COST_H

#include <stdbool.h>
#include <stdint.h>

typedef struct pw_io_transfer {
    bool write;
    bool plain; /* the file's view has no holes */
    int64_t bytes, blocks;
} pw_io_transfer;

/* Whether a stage is faster than what the MPI below does. */
bool pw_io_pays(const pw_io_transfer *t);

#endif
