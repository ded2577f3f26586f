/* What the files of this folder share, by the file that defines it. */
#ifndef PW_RUNTIME_IO_INTERNAL_H
#define PW_RUNTIME_IO_INTERNAL_H

#include "runtime/mpi/entry/gate.h"
#include "runtime/mpi/mpi_compat.h"
#include "runtime/mpi/strategy/mirror.h"

#include <stdbool.h>
#include <stdint.h>

/* ---- io_cost.c --------------------------------------------------------------------------------------------------- */

/* What reading and writing files costs with a buffer that is not contiguous. The figures are of docs/mpi.md. */

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

/* ---- io_type.c --------------------------------------------------------------------------------------------------- */

/*
 * Types that ROMIO writes otherwise than the typemap says. Files outlive programs, and not all that read and write them
 * have us: what an MPI makes of a type is left as it is.
 */

/* Whether the file would hold the packed bytes of the type. Looks into the type each time, some hundred nanoseconds a
 * constructor. */
bool pw_io_type_is_plain(MPI_Datatype type);

/* ---- io_view.c --------------------------------------------------------------------------------------------------- */

/*
 * The views of files, as far as they decide whether what a buffer holds may be written or read as bytes. Noted when
 * they are set, since MPI_File_get_view makes datatypes, which takes as long as a short write. Thread safe.
 */

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

/* ---- io_stage.c -------------------------------------------------------------------------------------------------- */

/*
 * What MPI gets in place of a buffer that is written to a file or read from one: a stage, as bytes; or, for GPU memory
 * and a file whose data representation is not "native", a mirror in host memory, with the program's type.
 */

typedef enum pw_io_use { PW_IO_WRITE, PW_IO_READ } pw_io_use;

/* A call, as the program has made it. */
typedef struct pw_io_call {
    pw_io_use use;
    pw_io_time time;
    MPI_File fh;
    const void *buf; /* not written to when use is PW_IO_WRITE */
    MPI_Count count;
    MPI_Datatype type;
} pw_io_call;

/* Plain data: may be moved. */
typedef struct pw_io_stage {
    pw_stage stage;
    pw_mirror mirror; /* of GPU memory, if MPI is to be told the type; else it gets the stage's bytes */
    void *data;
    MPI_Count count;
    MPI_Datatype type;
} pw_io_stage;

/* The stage of a call, filled. False: there is none, and the hook returns *verdict, with *rc. */
bool pw_io_stage_open(pw_io_stage *s, const pw_io_call *call, pw_verdict *verdict, int *rc);
/* The same for an operation that outlives the call. Returns `bytes` bytes of the pool for what must be kept about it;
 * they are taken before MPI is called, since an operation that has begun cannot be taken back. NULL: as false above. */
void *pw_io_stage_open_kept(pw_io_stage *s, int64_t bytes, const pw_io_call *call, pw_verdict *verdict, int *rc);
/* Out of memory after the stage was opened: closes it, and says what the hook returns. */
void pw_io_stage_give_up(pw_io_stage *s, const pw_io_call *call, pw_verdict *verdict, int *rc);
/* MPI has read into the stage: what came goes to the program's buffer. */
pw_status pw_io_stage_unpack(pw_io_stage *s, const MPI_Status *status);
void pw_io_stage_close(pw_io_stage *s);

/* Reports a failure of ours as one of the call on `fh`, as pw_mpi_fail does. */
int pw_io_fail(MPI_File fh, pw_status status);

/* ---- hooks_split.c ----------------------------------------------------------------------------------------------- */

/* Split collective calls: what lies between a `_begin` and its `_end`, one for each file at a time (MPI 4.0 14.4.5). */

/* The file is about to be closed. What has begun and was not ended, an error of the program, is ended: MPI lets go of
 * memory of ours, and what was read is where both MPIs had put it. */
void pw_io_split_abandon(MPI_File fh);

#endif
