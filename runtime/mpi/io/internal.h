/* What the files of this folder share, by the file that defines it. */
#ifndef PW_RUNTIME_IO_INTERNAL_H
#define PW_RUNTIME_IO_INTERNAL_H

#include "runtime/mpi/entry/gate.h"
#include "runtime/mpi/mpi_compat.h"
#include "runtime/mpi/strategy/operand.h"

#include <stdbool.h>
#include <stdint.h>

/* When the MPI may do the work: in the call, or after it, for this rank alone (MPI_File_iread) or for all ranks that
 * have opened the file (MPI_File_iread_all). */
typedef enum pw_io_time { PW_IO_NOW, PW_IO_LATER, PW_IO_LATER_TOGETHER } pw_io_time;

/* ---- io_type.c --------------------------------------------------------------------------------------------------- */

/*
 * Types that ROMIO does not write as their typemaps say. Files outlive programs, and programs without Packwright read
 * and write them too. Such types are therefore left to MPI, so that files do not depend on whether Packwright was
 * there.
 */

/* Returns whether the file would hold the packed bytes of the type. Looks into the type each time, which takes some
 * hundred nanoseconds for each constructor. */
bool pw_io_type_is_plain(MPI_Datatype type);

/* ---- io_view.c --------------------------------------------------------------------------------------------------- */

/*
 * The views of files, as far as they decide whether a buffer may be written or read as bytes. They are noted when the
 * program sets them, because MPI_File_get_view makes datatypes, which takes as long as a short write. Thread safe.
 */

typedef struct pw_io_view {
    bool native; /* the data representation: the file holds the bytes as memory does */
    bool plain;  /* the file type is predefined: the view has no holes */
} pw_io_view;

/* Returns the view of a file. A view that cannot be known is not native. */
pw_io_view pw_io_view_of(MPI_File fh);

/* MPI has set the view of a file. */
void pw_io_view_set(MPI_File fh, MPI_Datatype filetype, const char *representation);
/* MPI is about to close the file, and may reuse its handle for the next. */
void pw_io_view_forget(MPI_File fh);

/* ---- io_staging.c ----------------------------------------------------------------------------------------------- */

/*
 * The substitute for a buffer that is written to a file or read from one. MPI gets it as bytes. For GPU memory and a
 * file whose data representation is not "native", MPI gets a mirror in host memory with the program's type.
 */

typedef enum pw_io_use { PW_IO_WRITE, PW_IO_READ } pw_io_use;

/* A call as the program has made it. */
typedef struct pw_io_call {
    pw_io_use use;
    pw_io_time time;
    MPI_File fh;
    const void *buf; /* not written if use is PW_IO_WRITE */
    MPI_Count count;
    MPI_Datatype type;
} pw_io_call;

/* Plain data: may be moved. */
typedef struct pw_io_staging {
    pw_operand operand; /* with a mirror for GPU memory if MPI must get the program's type */
    void *data;
    MPI_Count count;
    MPI_Datatype type;
} pw_io_staging;

/* Opens the staging buffer of a call, and packs into it what a write needs. Returns false if there is no staging
 * buffer: the hook then returns *verdict, with *rc set. */
bool pw_io_staging_open(pw_io_staging *s, const pw_io_call *call, pw_verdict *verdict, int *rc);
/* Does the same for an operation that outlives the call. Returns `bytes` bytes of the pool in which the caller keeps
 * what it needs later. They are taken before MPI is called, because an operation that has begun cannot be taken back.
 * NULL: as false above. */
void *pw_io_staging_open_kept(pw_io_staging *s, int64_t bytes, const pw_io_call *call, pw_verdict *verdict, int *rc);
/* MPI has read into the staging buffer: unpacks what came to the program's buffer. */
pw_status pw_io_staging_unpack(pw_io_staging *s, const MPI_Status *status);
void pw_io_staging_close(pw_io_staging *s);

/* Reports a failure of the runtime as a failure of the call on `fh`, as pw_mpi_fail does. */
int pw_io_fail(MPI_File fh, pw_status status);

#endif
