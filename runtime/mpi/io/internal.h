/* What the files of this folder share, by the file that defines it. */
#ifndef PW_RUNTIME_IO_INTERNAL_H
#define PW_RUNTIME_IO_INTERNAL_H

#include "runtime/mpi/entry/gate.h"
#include "runtime/mpi/mpi_compat.h"
#include "runtime/mpi/strategy/operand.h"

#include <stdbool.h>
#include <stdint.h>

/* ---- hooks_io.c -------------------------------------------------------------------------------------------------- */

typedef struct pw_io_call pw_io_call;

/* A call that reads or writes, as the program has made it. */
struct pw_io_call {
    bool reads;                       /* MPI writes the buffer; otherwise it reads it */
    int (*next)(const pw_io_call *c); /* calls the next function with the arguments in `c` */
    MPI_File fh;
    bool has_offset; /* otherwise the call begins at the file pointer */
    MPI_Offset offset;
    void *buf;
    MPI_Count count;
    MPI_Datatype type;
    MPI_Status *status;   /* of calls that block */
    bool with_request;    /* MPI may do the work after the call */
    MPI_Request *request; /* if with_request */
    bool together;        /* all ranks of the file make the call */
    bool large;
    uintptr_t view; /* of the file, and the bytes of the message: found by hooks_io.c */
    int64_t bytes;
};

/* What the hooks of these calls do, which are generated (runtime/mpi/api). */
pw_verdict pw_io_carry_out(pw_io_call *call, int *rc);

/* ---- io_type.c --------------------------------------------------------------------------------------------------- */

/*
 * Types that ROMIO does not write as their typemaps say. Files outlive programs, and programs without Packwright read
 * and write them too. Such types are therefore left to MPI, so that files do not depend on whether Packwright was
 * there.
 */

/* Returns whether the file would hold the packed bytes of the type. Looks into the type each time, which takes some
 * hundred nanoseconds for each constructor. */
bool pw_io_type_is_plain(MPI_Datatype type);

/* Tells views apart that MPIs may treat differently, by the bounds of their file type. Ranks that divide an array alike
 * get the same odd number. 0: the view is plain, as its file type is predefined. */
enum { PW_IO_VIEW_KINDS = 1 << 12 };
unsigned pw_io_view_kind(MPI_Datatype filetype);

#endif
