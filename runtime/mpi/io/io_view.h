/*
 * The views of files, as far as they decide whether what a buffer holds may be written or read as bytes. Noted when
 * they are set, since MPI_File_get_view makes datatypes, which takes as long as a short write. Thread safe.
 */
#ifndef PW_RUNTIME_IO_VIEW_H
#define PW_RUNTIME_IO_VIEW_H

#include "runtime/mpi/mpi_compat.h"

#include <stdint.h>

/* A file handle as the key of a table; not 0 for a file. */
static inline uint64_t pw_file_key(MPI_File fh)
{
    uint64_t key = 0;

    memcpy(&key, &fh, sizeof fh);
    return key;
}

typedef struct pw_io_view {
    bool native; /* the data representation: bytes in the file are those in memory */
    bool plain;  /* the file type is predefined: the view has no holes */
} pw_io_view;

/* Not native where it cannot be known. */
pw_io_view pw_io_view_of(MPI_File fh);

/* MPI has set it. */
void pw_io_view_set(MPI_File fh, MPI_Datatype filetype, const char *representation);
/* MPI is about to close the file: the next may have its handle. */
void pw_io_view_forget(MPI_File fh);

#endif
